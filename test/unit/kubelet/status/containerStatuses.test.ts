// A pod whose containers begin anew: what is told of the runs that the runtime has forgotten, and what they mean for the pod.
import { expect, test } from 'vitest';
import type { V1PodStatus } from '../../../../src/api/gen/types.js';
import { withNextRun } from '../../../../src/kubelet/status/containerStatuses.js';
import { podStatus } from '../../../../src/kubelet/status/podStatus.js';
import { container, podOf, run, runtimePod } from '../support.js';

const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };
const pod = podOf({
  restartPolicy: 'Never',
  initContainers: [
    container('prepare'),
    container('sidecar', { restartPolicy: 'Always' }),
    container('trigger', { restartPolicyRules: [rule] }),
  ],
});

const status = (runs: ReturnType<typeof run>[], previous: V1PodStatus = {}) =>
  podStatus({
    pod,
    runtime: runtimePod(runs),
    previous,
    hostIps: ['192.0.2.1'],
    isTerminating: false,
    now: 0,
    failures: new Map(),
    isReady: () => true,
    isStarted: () => true,
  });

const ends = ({ initContainerStatuses = [], containerStatuses = [] }: V1PodStatus) =>
  [...initContainerStatuses, ...containerStatuses].map(({ name, restartCount, lastState }) => [
    name,
    restartCount,
    lastState?.terminated?.exitCode,
    lastState?.terminated?.reason,
  ]);

const reason = 'RestartingAllContainers';
const ended = withNextRun(
  status([
    run(pod, 'prepare', 'exited', { exitCode: 1 }),
    run(pod, 'sidecar', 'exited', { exitCode: 137 }),
    run(pod, 'trigger', 'exited', { exitCode: 42 }),
  ]),
);
const oneMore = [
  ['prepare', 1, 1, reason],
  ['sidecar', 1, 137, reason],
  ['trigger', 1, 42, reason],
  ['web', 0, undefined, undefined],
];

test('each container that had run counts one more and keeps its end, init containers too; one that had not stays as it was', () => {
  expect(ends(ended)).toEqual(oneMore);
  expect(ended.containerStatuses?.[0]).toMatchObject({
    lastState: {},
    state: { waiting: { reason: 'PodInitializing' } },
  });
});

test('these ends are told while nothing runs and after the next run has begun, and are not the end of the pod', () => {
  const forgotten = status([], ended);
  expect(ends(forgotten)).toEqual(oneMore);
  expect(forgotten.phase).toBe('Pending');
  const begun = status([run(pod, 'prepare', 'exited', { exitCode: 0, attempt: 1 })], forgotten);
  expect(ends(begun)).toEqual(oneMore);
  expect(begun.phase).toBe('Pending');
});
