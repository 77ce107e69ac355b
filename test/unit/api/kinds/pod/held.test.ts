// What a pod holds while its resources are being changed.
import { expect, test } from 'vitest';
import { heldSpec } from '../../../../../src/api/kinds/pod/held.js';

const pod = (requests: object, given: object | undefined, more: object = {}) => ({
  spec: { containers: [{ name: 'c', resources: { requests } }] },
  status: { containerStatuses: given === undefined ? [] : [{ name: 'c', ...given }], ...more },
});
const requestsOf = (asked: ReturnType<typeof pod>) =>
  heldSpec(asked as unknown as Parameters<typeof heldSpec>[0]).containers[0]?.resources?.requests;
const refused = { conditions: [{ type: 'PodResizePending', reason: 'Infeasible', status: 'True' }] };
const deferred = { conditions: [{ type: 'PodResizePending', reason: 'Deferred', status: 'True' }] };
const has = (cpu: string, allocated = cpu) => ({
  resources: { requests: { cpu } },
  allocatedResources: { cpu: allocated },
});

test.each([
  ['nothing is known yet', pod({ cpu: '1' }, undefined), { cpu: '1' }],
  ['it has what it asks for', pod({ cpu: '1' }, has('1000m')), { cpu: '1' }],
  ['it is to have more', pod({ cpu: '2' }, has('1')), { cpu: '2' }],
  ['it was granted less and has not let go', pod({ cpu: '1' }, has('3', '1')), { cpu: '3' }],
  ['it was granted more and has it not yet', pod({ cpu: '1' }, has('1', '2')), { cpu: '2' }],
  ['it waits for more', pod({ cpu: '2' }, has('1'), deferred), { cpu: '2' }],
  ['it will never have more', pod({ cpu: '9' }, has('1'), refused), { cpu: '1' }],
])('%s', (_, asked, requests) => {
  expect(requestsOf(asked)).toEqual(requests);
});

test('sidecars and the pod as a whole are counted the same way, and nothing else is touched', () => {
  const asked = {
    spec: {
      nodeName: 'n',
      resources: { requests: { cpu: '2' } },
      containers: [{ name: 'c' }],
      initContainers: [{ name: 's', restartPolicy: 'Always', resources: { limits: { memory: '1Gi' } } }],
    },
    status: {
      resources: { requests: { cpu: '5' } },
      allocatedResources: { cpu: '2' },
      containerStatuses: [{ name: 'c' }],
      initContainerStatuses: [{ name: 's', resources: { limits: { memory: '2Gi' } } }],
    },
  };
  expect(heldSpec(asked as unknown as Parameters<typeof heldSpec>[0])).toEqual({
    ...asked.spec,
    resources: { requests: { cpu: '5' } },
    initContainers: [{ ...asked.spec.initContainers[0], resources: { limits: { memory: '2Gi' } } }],
  });
});

test('a pod that is not being resized is answered as it is', () => {
  const asked = pod({ cpu: '1' }, has('1'));
  expect(heldSpec(asked as unknown as Parameters<typeof heldSpec>[0])).toBe(asked.spec);
});
