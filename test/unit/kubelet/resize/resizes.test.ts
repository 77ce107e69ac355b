import { expect, test } from 'vitest';
import type { V1PodStatus, V1ResourceRequirements } from '../../../../src/api/gen/types.js';
import type { EventSink } from '../../../../src/kubelet/events.js';
import type { Pod } from '../../../../src/kubelet/ports.js';
import type { ResizeActuator } from '../../../../src/kubelet/resize/actuate.js';
import { Resizes } from '../../../../src/kubelet/resize/resizes.js';
import type { StatusManager } from '../../../../src/kubelet/status/statusManager.js';
import { podOf } from '../support.js';

const AMOUNTS = { requests: { cpu: '5m' } };

/** What is given to a pod that asks for `resources` as a whole and whose status tells that it has `given`. */
async function perform(resources: V1ResourceRequirements | undefined, given: V1ResourceRequirements) {
  const pod = podOf(resources === undefined ? {} : { resources });
  let status: V1PodStatus = { resources: given };
  const resized: unknown[] = [];
  const resizes = new Resizes({
    actuator: {
      resize: async (order: { pod: Pod }) => void resized.push(order.pod.spec.resources),
    } as unknown as ResizeActuator,
    statuses: {
      get: () => status,
      set: (_: Pod, told: V1PodStatus) => {
        status = told;
      },
    } as unknown as StatusManager,
    events: { event: () => {} } as unknown as EventSink,
    pending: () => undefined,
  });
  resizes.notice(pod);
  const begun = resizes.of(pod.metadata.uid) !== undefined;
  await resizes.perform(pod, status, { containersToResize: [], sandboxId: undefined });
  return { begun, resized, resources: status.resources, ended: resizes.end(pod, status) };
}

test('a pod that asks for resources as a whole for the first time is given them', async () => {
  expect(await perform(AMOUNTS, {})).toEqual({
    begun: true,
    resized: [AMOUNTS],
    resources: AMOUNTS,
    ended: true,
  });
});

test.each<[string, V1ResourceRequirements | undefined, V1ResourceRequirements]>([
  ['nothing as a whole, whatever its containers sum up to', undefined, AMOUNTS],
  ['what it has', { requests: { cpu: '0.005' } }, AMOUNTS],
])('nothing is done for a pod that asks for %s', async (_, resources, given) => {
  expect(await perform(resources, given)).toEqual({
    begun: false,
    resized: [],
    resources: given,
    ended: false,
  });
});
