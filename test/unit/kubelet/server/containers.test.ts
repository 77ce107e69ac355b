import { expect, test } from 'vitest';
import type { V1ContainerStatus } from '../../../../src/api/gen/types.js';
import type { Container, RuntimeService } from '../../../../src/cri/runtime.js';
import { runForLogs } from '../../../../src/kubelet/server/containers.js';
import { podOf } from '../support.js';

const ended = (id: string) => ({ terminated: { exitCode: 1, containerID: `containerd://${id}` } });
const waiting = { waiting: { reason: 'CrashLoopBackOff' } };
const running = { running: {} };

/** Runs are named by their age, the newest last; `+` marks the one that runs. */
const scene = (runs: readonly string[], status: Pick<V1ContainerStatus, 'state' | 'lastState'>) => {
  const list = runs.map((name, at) => ({
    id: name.replace('+', ''),
    createdAt: BigInt(at),
    state: name.endsWith('+') ? 'CONTAINER_RUNNING' : 'CONTAINER_EXITED',
  }));
  const runtime = { listContainers: async () => list as unknown as Container[] } as unknown as RuntimeService;
  const containerStatuses = [{ name: 'web', ...status } as V1ContainerStatus];
  return { runtime, pod: { ...podOf(), status: { containerStatuses } } };
};

test.each([
  ['one that runs again', ['c1', 'c2+'], { state: running, lastState: ended('c1') }, 'c2', 'c1'],
  [
    'one in back-off, the run before already collected',
    ['c2'],
    { state: waiting, lastState: ended('c2') },
    'c2',
    'c2',
  ],
  [
    'one in back-off, the run before still there',
    ['c1', 'c2'],
    { state: waiting, lastState: ended('c2') },
    'c2',
    'c2',
  ],
  ['one that has just ended again', ['c1', 'c2'], { state: ended('c2'), lastState: ended('c1') }, 'c2', 'c1'],
  ['one whose status is not told yet', ['c1', 'c2+'], { state: running }, 'c2', 'c1'],
] as const)('logs of %s, and those before', async (_, runs, status, now, before) => {
  const { runtime, pod } = scene(runs, status);
  expect((await runForLogs(runtime, pod, { name: 'web', previous: false })).id).toBe(now);
  expect((await runForLogs(runtime, pod, { name: 'web', previous: true })).id).toBe(before);
});

test('one that ended for good has no logs before', async () => {
  const { runtime, pod } = scene(['c1'], { state: ended('c1') });
  await expect(runForLogs(runtime, pod, { name: 'web', previous: true })).rejects.toThrow(
    'previous terminated container "web" in pod "web" not found',
  );
});
