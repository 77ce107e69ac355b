// Sets of field paths: their wire form and their arithmetic.
import { describe, expect, test } from 'vitest';
import { schemas } from '../../../../src/api/gen/schemas.js';
import { mergedLists } from '../../../../src/api/mergedLists.js';
import {
  decodeSet,
  difference,
  EMPTY,
  encodeSet,
  type FieldSet,
  intersection,
  pathsOf,
  pathText,
  union,
  without,
} from '../../../../src/apiserver/fields/fieldSet.js';
import { namedMaps, namedModels } from '../../../../src/apiserver/fields/listTypes.js';

const set = (fields: object): FieldSet => decodeSet(fields) ?? EMPTY;
const paths = (fields: FieldSet) => [...pathsOf(fields)].map(pathText);

const WEB = {
  'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} }, 'f:finalizers': { 'v:"x/y"': {} } },
  'f:spec': {
    'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {} } },
    'f:selector': {},
  },
};

describe('a field set', () => {
  test('is the same after it was written and read', () => {
    expect(encodeSet(set(WEB))).toEqual(WEB);
  });

  test('names its paths as conflicts do', () => {
    expect(paths(set(WEB))).toEqual([
      '.metadata.finalizers[="x/y"]',
      '.metadata.labels',
      '.metadata.labels.app',
      '.spec.ports[port=80,protocol="TCP"]',
      '.spec.ports[port=80,protocol="TCP"].port',
      '.spec.selector',
    ]);
  });

  const other = set({
    'f:metadata': { 'f:labels': { 'f:app': {}, 'f:b': {} } },
    'f:spec': { 'f:selector': {} },
  });
  test.each([
    ['union', paths(union(set(WEB), other)).length, 7],
    ['difference', paths(difference(set(WEB), other)).includes('.metadata.labels.app'), false],
    ['intersection', paths(intersection(set(WEB), other)), ['.metadata.labels.app', '.spec.selector']],
    ['without a branch', paths(without(set(WEB), set({ 'f:spec': {} }))).length, 3],
    ['without the rest', paths(difference(other, union(other, set(WEB)))), []],
  ])('%s', (_name, result, expected) => {
    expect(result).toEqual(expected);
  });

  test.each([[[]], ['f:a'], [{ a: {} }], [{ 'f:a': 1 }], [null]])('%j is none', (fields) => {
    expect(decodeSet(fields)).toBeUndefined();
  });
});

describe('the table of list types', () => {
  test('names lists and models that the schemas have', () => {
    for (const name of [...mergedLists, ...namedMaps]) {
      const [model = '', field = ''] = name.split('.');
      expect(schemas[model]?.[field], name).toMatch(/^!?(\[\]|\{\})/);
    }
    for (const model of namedModels) expect(schemas[model], model).toBeDefined();
  });
});
