import { expect, test } from 'vitest';
import type { V1PodStatus } from '../../../../src/api/gen/types.js';
import { statusPatch } from '../../../../src/kubelet/status/statusPatch.js';

const patch = (current: V1PodStatus, wanted: V1PodStatus) => statusPatch('u1', current, wanted);

test('nothing is written when nothing differs, null and absent being the same', () => {
  const ready = { type: 'Ready', status: 'True' };
  const stored = {
    phase: 'Running',
    conditions: [{ ...ready, lastProbeTime: null }],
  } as unknown as V1PodStatus;
  expect(patch(stored, { phase: 'Running', conditions: [ready] })).toBeUndefined();
});

test('only what differs is written, guarded by the uid', () => {
  expect(patch({ phase: 'Pending', hostIP: '192.0.2.1' }, { phase: 'Running', hostIP: '192.0.2.1' })).toEqual(
    {
      metadata: { uid: 'u1' },
      status: { phase: 'Running' },
    },
  );
});

test('a field that is gone is nulled', () => {
  expect(patch({ reason: 'Evicted' }, {})).toMatchObject({ status: { reason: null } });
});

test('of conditions only those that changed are sent, with fields that went away', () => {
  const current = {
    conditions: [
      { type: 'Ready', status: 'False', reason: 'ContainersNotReady' },
      { type: 'example.com/foreign', status: 'True' },
      { type: 'PodScheduled', status: 'True' },
    ],
  };
  const wanted = {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'PodScheduled', status: 'True' },
    ],
  };
  expect(patch(current, wanted)).toMatchObject({
    status: { conditions: [{ type: 'Ready', status: 'True', reason: null }] },
  });
});

test('a condition of others is not written back as it was when the status was made', () => {
  const gate = { type: 'example.com/gate', status: 'True' };
  const current = {
    conditions: [
      { ...gate, status: 'False' },
      { type: 'Ready', status: 'True' },
    ],
  };
  expect(patch(current, { conditions: [{ type: 'Ready', status: 'True' }, gate] })).toBeUndefined();
  expect(patch(current, { conditions: [{ type: 'Ready', status: 'False' }, gate] })).toMatchObject({
    status: { conditions: [{ type: 'Ready', status: 'False' }] },
  });
  expect(patch({ conditions: [] }, { conditions: [gate] })).toBeUndefined();
});

test('of DisruptionTarget only what a kubelet says is written', () => {
  const evicted = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' };
  const ended = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
  expect(patch({ conditions: [] }, { conditions: [evicted] })).toBeUndefined();
  expect(patch({ conditions: [evicted] }, { conditions: [ended] })).toMatchObject({
    status: { conditions: [ended] },
  });
});

test('a resize that is over takes its condition away', () => {
  const current = {
    conditions: [
      { type: 'PodResizeInProgress', status: 'True' },
      { type: 'example.com/foreign', status: 'True' },
    ],
  };
  expect(patch(current, { conditions: [] })).toMatchObject({
    status: { conditions: [{ $patch: 'delete', type: 'PodResizeInProgress' }] },
  });
});

test('what the scheduler wrote of claims stays', () => {
  const claims = {
    resourceClaimStatuses: [{ name: 'a', resourceClaimName: 'pod-a' }],
    extendedResourceClaimStatus: { resourceClaimName: 'pod-x', requestMappings: [] },
    nodeAllocatableResourceClaimStatuses: [],
  } as unknown as V1PodStatus;
  expect(patch({ phase: 'Running', ...claims }, { phase: 'Running' })).toBeUndefined();
});

test('an address that changed replaces the old one', () => {
  expect(patch({ podIPs: [{ ip: '10.0.0.1' }] }, { podIPs: [{ ip: '10.0.0.2' }] })).toMatchObject({
    status: { podIPs: [{ ip: '10.0.0.2' }, { $patch: 'delete', ip: '10.0.0.1' }] },
  });
});
