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

test('an address that changed replaces the old one', () => {
  expect(patch({ podIPs: [{ ip: '10.0.0.1' }] }, { podIPs: [{ ip: '10.0.0.2' }] })).toMatchObject({
    status: { podIPs: [{ ip: '10.0.0.2' }, { $patch: 'delete', ip: '10.0.0.1' }] },
  });
});
