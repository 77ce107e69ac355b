// Who sets the range of pod addresses of a Node: anybody who may write Nodes but the nodes themselves.
import { expect, test } from 'vitest';
import { NODES } from '../../../../src/api/resources.js';
import { nodePodCidr } from '../../../../src/apiserver/admission/nodePodCidr.js';
import type { AdmissionRequest } from '../../../../src/apiserver/admission.js';

const node = (podCIDRs?: readonly string[]) => ({ metadata: { name: 'n1' }, spec: { podCIDRs } });
const judge = (object: object, old: object | undefined, groups: readonly string[]) =>
  nodePodCidr.validate?.({
    type: NODES,
    name: 'n1',
    namespace: '',
    subresource: '',
    object,
    old,
    operation: old === undefined ? 'create' : 'update',
    user: { name: 'system:node:n1', groups },
  } as unknown as AdmissionRequest);
const NODE = ['system:nodes', 'system:authenticated'];

test.each([
  ['makes itself with a range', node(['0.0.0.0/0']), undefined],
  ['takes a range', node(['10.244.9.0/24']), node()],
  ['gives one up', node(), node(['10.244.9.0/24'])],
  ['takes one by the older field', { metadata: { name: 'n1' }, spec: { podCIDR: '10.244.9.0/24' } }, node()],
])('a node that %s is refused', (_, object, old) => {
  expect(() => judge(object, old, NODE)).toThrow('cannot set its own podCIDRs');
});

test('a node keeps the range that it was given, and others may give one', () => {
  expect(() => judge(node(['10.244.1.0/24']), node(['10.244.1.0/24']), NODE)).not.toThrow();
  expect(() => judge(node(), undefined, NODE)).not.toThrow();
  expect(() => judge(node(['10.244.1.0/24']), node(), ['system:serviceaccounts'])).not.toThrow();
});
