// Metadata that every object has.
import { expect, test } from 'vitest';
import type { V1ObjectMeta } from '../../../src/api/gen/types.js';
import { validateLabelSelector, validateMeta, validateMetaUpdate } from '../../../src/api/meta.js';

const rules = { nameRule: 'dnsSubdomain', namespaced: true } as const;
const good: V1ObjectMeta = { name: 'a', namespace: 'b' };
const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' };

test.each<[string, V1ObjectMeta, string | undefined]>([
  ['the least', {}, undefined],
  ['a generated name', { generateName: 'a-' }, undefined],
  [
    'a generated name with a bad start',
    { generateName: '-a-' },
    'metadata.generateName: Invalid value: "-a-": a lowercase',
  ],
  ['a long name', { name: 'a'.repeat(254) }, 'metadata.name: Invalid value: "a'],
  [
    'a bad namespace',
    { namespace: 'a.b' },
    'metadata.namespace: Invalid value: "a.b": a lowercase RFC 1123 label must',
  ],
  [
    'a bad label key',
    { labels: { 'a b': '' } },
    'metadata.labels: Invalid value: "a b": name part must consist of',
  ],
  [
    'a bad label prefix',
    { labels: { '/b': '' } },
    'metadata.labels: Invalid value: "/b": prefix part must be non-empty',
  ],
  ['a bad label value', { labels: { a: '-' } }, 'metadata.labels: Invalid value: "-": a valid label must be'],
  [
    'a label value too long',
    { labels: { a: 'x'.repeat(64) } },
    `metadata.labels: Invalid value: "${'x'.repeat(64)}": must be no more than 63 bytes`,
  ],
  ['an annotation with capitals', { annotations: { 'Example.com/A': 'any text\n' } }, undefined],
  [
    'annotations without end',
    { annotations: { a: 'x'.repeat(262_145) } },
    'metadata.annotations: Too long: may not be more than 262144 bytes',
  ],
  ['a bad finalizer', { finalizers: ['a b'] }, 'metadata.finalizers[0]: Invalid value: "a b": name part'],
  ['an owner', { ownerReferences: [owner] }, undefined],
  [
    'an owner without uid',
    { ownerReferences: [{ ...owner, uid: '' }] },
    'metadata.ownerReferences[0].uid: Invalid value: "": must not be empty',
  ],
  [
    'two controllers',
    {
      ownerReferences: [
        { ...owner, controller: true },
        { ...owner, name: 'q', controller: true },
      ],
    },
    'metadata.ownerReferences: Invalid value: [',
  ],
])('%s', (_, metadata, sentence) => {
  const faults = validateMeta({ ...good, ...metadata }, rules).map(
    ({ field, message }) => `${field}: ${message}`,
  );
  expect(faults).toHaveLength(sentence === undefined ? 0 : 1);
  if (sentence !== undefined) expect(faults[0]?.startsWith(sentence)).toBe(true);
});

test('keeps identity, and lets no finalizer join what is going', () => {
  expect(validateMetaUpdate({ ...good, name: 'c' }, good)).toEqual([
    {
      field: 'metadata.name',
      reason: 'FieldValueInvalid',
      message: 'Invalid value: "c": field is immutable',
    },
  ]);
  const going = { ...good, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'] };
  expect(validateMetaUpdate({ ...going, finalizers: [] }, going)).toEqual([]);
  expect(validateMetaUpdate({ ...going, finalizers: ['a/b', 'c/d'] }, going)[0]?.message).toBe(
    'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"c/d"}',
  );
});

test.each([
  [
    { key: 'a', operator: 'In', values: [] },
    "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
  ],
  [
    { key: 'a', operator: 'Exists', values: ['b'] },
    "s.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
  ],
  [
    { key: 'a', operator: 'Near' },
    's.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator',
  ],
])('refuses the expression %j', (expression, sentence) => {
  const causes = validateLabelSelector({ matchExpressions: [expression] }, 's');
  expect(causes.map(({ field, message }) => `${field}: ${message}`)).toEqual([sentence]);
});
