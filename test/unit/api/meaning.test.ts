// When two values of a schema mean the same to Kubernetes' own types.
import { expect, test } from 'vitest';
import { schemas } from '../../../src/api/gen/schemas.js';
import { sameField, sameMeaning } from '../../../src/api/meaning.js';
import { namedFields } from '../../../src/api/zeroValues.js';

test.each([
  ['V1PodSpec', { hostNetwork: false, nodeSelector: {}, volumes: [] }, {}, true],
  ['V1PodSpec', { automountServiceAccountToken: false }, {}, false],
  ['V1PodSpec', { nodeSelector: { disk: '' } }, {}, false],
  ['V1PodSpec', { securityContext: {} }, {}, false],
  ['V1Container', { resources: { limits: {} }, stdin: false }, {}, true],
  ['V1Container', { resources: { limits: { cpu: '0' } } }, {}, false],
  ['V1SecurityContext', { allowPrivilegeEscalation: false }, {}, false],
  ['V1PersistentVolumeClaimSpec', { storageClassName: '' }, {}, false],
  ['V1PersistentVolumeClaimSpec', { volumeName: '' }, {}, true],
  ['V1LabelSelector', { matchLabels: { a: '' } }, { matchLabels: {} }, false],
  ['V1LabelSelector', { matchExpressions: [] }, {}, true],
  ['{}s', { a: '', b: 'x' }, { b: 'x' }, false],
  ['[]s', ['a', 'b'], ['b', 'a'], false],
  ['[]s', [''], [], false],
  ['any', { a: false }, { a: false }, true],
  ['any', { a: false }, {}, false],
  ['V1Container', { name: 'c', image: 'i' }, { image: 'i', name: 'c' }, true],
])('%s: %j and %j mean the same: %s', (code, left, right, same) => {
  expect(sameMeaning(code, left, right)).toBe(same);
  expect(sameMeaning(code, right, left)).toBe(same);
});

test('tells an absent pointer from an empty one, and takes null for absent', () => {
  expect(sameField('V1PodSpec', 'securityContext', undefined, {})).toBe(false);
  expect(sameField('V1PodSpec', 'securityContext', undefined, null)).toBe(true);
  expect(sameField('V1PodSpec', 'hostname', undefined, '')).toBe(true);
});

test('knows only fields that the schemas have', () => {
  const has = (name: string) => {
    const [model = '', field = ''] = name.split('.');
    return schemas[model]?.[field] !== undefined;
  };
  expect(namedFields.filter((name) => !has(name))).toEqual([]);
});
