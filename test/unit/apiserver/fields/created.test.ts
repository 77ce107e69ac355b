// Ownership of new objects, made in one walk, against the general way: a write that turned nothing into the object.
import { describe, expect, test } from 'vitest';
import { schemas } from '../../../../src/api/gen/schemas.js';
import { KINDS } from '../../../../src/api/kinds/index.js';
import type { KubeObject } from '../../../../src/api/object.js';
import { atOnce } from '../../../../src/api/steps.js';
import { managedFieldsText, trackNew } from '../../../../src/apiserver/fields/created.js';
import { trackWrite } from '../../../../src/apiserver/fields/track.js';

const writer = {
  id: { name: 'w', operation: 'Update', apiVersion: 'v1', subresource: '' },
  time: '2026-01-01T00:00:00Z',
} as const;

/** Any object of a model: each member there, empty, undefined or absent as the numbers fall. */
function objectsOf(seed: number) {
  let state = seed;
  let made = 0;
  const roll = (sides: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % sides;
  };
  const value = (code: string, depth: number): unknown => {
    const count = depth > 6 ? 0 : roll(3);
    if (code.startsWith('[]')) return Array.from({ length: count }, () => value(code.slice(2), depth + 1));
    if (code.startsWith('{}'))
      return Object.fromEntries(
        Array.from({ length: count }, () => [`key-${++made}`, value(code.slice(2), depth + 1)]),
      );
    const schema = schemas[code];
    if (schema === undefined) return code === 'i' ? ++made : code === 'b' ? true : `text-${++made}`;
    return depth > 6 ? {} : model(schema, depth);
  };
  const model = (schema: Readonly<Record<string, string>>, depth: number): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(schema)
        .filter(() => roll(depth < 2 ? 4 : 3) > 0)
        .map(([name, code]) => [name, roll(12) === 0 ? undefined : value(code.replace(/^!/, ''), depth + 1)]),
    );
  return (name: string) => model(schemas[name] ?? {}, 0) as KubeObject;
}

describe('ownership of a new object', () => {
  test('a pod, word by word', () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', uid: 'u', labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', image: 'i', resources: {}, ports: [{ containerPort: 80 }] }] },
      status: {},
    };
    const container = {
      '.': {},
      'f:image': {},
      'f:name': {},
      'f:ports': {
        '.': {},
        'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} },
      },
      'f:resources': {},
    };
    const fieldsV1 = {
      'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
      'f:spec': { 'f:containers': { 'k:{"name":"c"}': container } },
    };
    const [entry, ...others] = trackNew({ model: 'V1Pod' }, pod, writer);
    expect(others).toEqual([]);
    expect(JSON.stringify(entry?.fieldsV1)).toBe(JSON.stringify(fieldsV1));
    expect(entry).toMatchObject({
      manager: 'w',
      operation: 'Update',
      time: writer.time,
      fieldsType: 'FieldsV1',
    });
  });

  test('of an object that has nothing of its own, nobody is the owner', () => {
    const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: {}, status: {} };
    expect(trackNew({ model: 'V1Pod' }, object, writer)).toEqual([]);
  });

  test('objects with the same fields share them, whatever the values; names that read alike do not', () => {
    const fieldsOf = (labels: object) =>
      trackNew({ model: 'V1Pod' }, { metadata: { labels } } as KubeObject, writer)[0]?.fieldsV1;
    expect(fieldsOf({ a: '1', b: '2' })).toBe(fieldsOf({ a: '3', b: '4' }));
    expect(fieldsOf({ 'a1:b': '1' })).toEqual({ 'f:metadata': { 'f:labels': { '.': {}, 'f:a1:b': {} } } });
    expect(fieldsOf({ a: '1' })).toEqual({ 'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } } });
  });

  test('of maps with thousands of keys: as a write from nothing, and each has its own', () => {
    const dataOf = (prefix: string) =>
      Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`${prefix}${index}`, 'v']));
    const map = (last: string) =>
      ({
        metadata: { labels: dataOf('l') },
        data: { ...dataOf('k'), __proto__x: 'v', [last]: 'v' },
      }) as KubeObject;
    for (const last of ['a', 'b']) {
      const text = JSON.stringify(trackNew({ model: 'V1ConfigMap' }, map(last), writer));
      expect(text).toContain(`"f:${last}":{}`);
      expect(text).toBe(JSON.stringify(atOnce(trackWrite({ model: 'V1ConfigMap' }, {}, map(last), writer))));
    }
  });

  test.each(KINDS.map(({ model }) => model))('objects of %s: as a write from nothing', (model) => {
    const make = objectsOf(model.length * 7919);
    for (let round = 0; round < 20; round++) {
      const { metadata: { managedFields: _, ...metadata } = {}, ...rest } = make(model);
      const object = { ...rest, metadata };
      const text = JSON.stringify(trackNew({ model }, object, writer));
      expect(text).toBe(JSON.stringify(atOnce(trackWrite({ model }, {}, object, writer))));
      const again = trackNew({ model }, object, writer);
      expect(JSON.stringify(again)).toBe(text);
      expect(JSON.parse(managedFieldsText(again))).toEqual(JSON.parse(text));
    }
  });
});
