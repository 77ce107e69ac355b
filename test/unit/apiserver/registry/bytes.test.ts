// Splicing, continue tokens and the transitions of a watch.
import { describe, expect, test } from 'vitest';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { CONFIG_MAPS } from '../../../../src/api/resources.js';
import { decodeContinue, encodeContinue } from '../../../../src/apiserver/registry/continueToken.js';
import { encodeForStore, withRevision } from '../../../../src/apiserver/registry/encode.js';
import { transition } from '../../../../src/apiserver/registry/transition.js';

const kind = { type: CONFIG_MAPS } as unknown as KindDefinition;

describe('the bytes of an object', () => {
  test('leave the revision out when stored and have it when sent', () => {
    const object = { data: { a: '"metadata":{' }, metadata: { resourceVersion: '3', name: 'ü' } };
    const stored = encodeForStore(kind, object);
    expect(stored.toString()).not.toContain('resourceVersion');
    expect(JSON.parse(withRevision(stored, 12).toString())).toEqual({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'ü', resourceVersion: '12' },
      data: { a: '"metadata":{' },
    });
  });

  test('have the managed fields whole, also where there is nothing beside them', () => {
    const managedFields = [
      { manager: 'a', fieldsV1: { 'f:data': { '.': {} } } },
      { manager: 'b' },
      { fieldsV1: {} },
      {},
    ];
    for (const metadata of [{ managedFields }, { name: 'n', managedFields, labels: { l: '1' } }])
      for (const rest of [{}, { data: { a: '1' } }])
        expect(JSON.parse(encodeForStore(kind, { ...rest, metadata }).toString())).toEqual({
          kind: 'ConfigMap',
          apiVersion: 'v1',
          metadata,
          ...rest,
        });
  });

  test('are valid JSON even with empty metadata', () => {
    const bytes = withRevision(encodeForStore(kind, {}), 1);
    expect(JSON.parse(bytes.toString())).toMatchObject({ metadata: { resourceVersion: '1' } });
  });
});

describe('a continue token', () => {
  test('comes back as it was', () => {
    const token = { revision: 42, after: 'default/web' };
    expect(decodeContinue(encodeContinue(token))).toEqual(token);
  });

  const forge = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  test.each([
    ['text', 'hello'],
    ['a number', forge(3)],
    ['null', forge(null)],
    ['another version', forge({ v: 'v0', rv: 1, start: 'a' })],
    ['a negative revision', forge({ v: 'meta.k8s.io/v1', rv: -2, start: 'a' })],
    ['a way out of the prefix', forge({ v: 'meta.k8s.io/v1', rv: 1, start: '../secrets/a' })],
    ['an absolute key', forge({ v: 'meta.k8s.io/v1', rv: 1, start: '/registry/secrets' })],
  ])('that is %s is refused', (_name, token) => {
    expect(() => decodeContinue(token)).toThrow('continue key is not valid');
  });
});

describe('a change that', () => {
  test.each([
    ['creates a match', { before: false, after: true, deleted: false }, 'ADDED'],
    ['starts to match', { before: false, after: true, deleted: false }, 'ADDED'],
    ['keeps matching', { before: true, after: true, deleted: false }, 'MODIFIED'],
    ['stops matching', { before: true, after: false, deleted: false }, 'DELETED'],
    ['removes a match', { before: true, after: true, deleted: true }, 'DELETED'],
    ['never matched', { before: false, after: false, deleted: false }, undefined],
    ['removes what never matched', { before: false, after: false, deleted: true }, undefined],
  ] as const)('%s', (_name, change, expected) => {
    expect(transition(change)).toBe(expected);
  });
});
