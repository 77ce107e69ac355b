import { expect, test } from 'vitest';
import type { V1PodStatus } from '../../../../src/api/gen/types.js';
import { silentLog } from '../../../../src/api/log.js';
import type { Client } from '../../../../src/client/client.js';
import { StatusManager } from '../../../../src/kubelet/status/statusManager.js';
import { until } from '../../../support/until.js';
import { podOf } from '../support.js';

function make() {
  const written: (string | undefined)[] = [];
  const patch = async (_: object, __: string, { status }: { status: V1PodStatus }) => {
    written.push(status.containerStatuses?.[0]?.state?.waiting?.reason ?? status.phase);
    return { ...podOf({}, { resourceVersion: String(1 + written.length) }), status };
  };
  const manager = new StatusManager({
    client: { of: () => ({ patch }) } as unknown as Client,
    log: silentLog,
    apiPod: (pod) => pod,
    isFinished: () => false,
  });
  return { manager, written };
}

const waiting = (reason: string): V1PodStatus => ({
  phase: 'Pending',
  containerStatuses: [
    { name: 'web', image: '', imageID: '', ready: false, restartCount: 0, state: { waiting: { reason } } },
  ],
});

test('a pod that runs soon is told once', async () => {
  const { manager, written } = make();
  manager.set(podOf(), waiting('ContainerCreating'));
  manager.set(podOf(), { phase: 'Running' });
  await until(() => expect(written).toEqual(['Running']));
  manager.stop();
});

test('a pod that takes its time is told to be starting, and a failure at once', async () => {
  const { manager, written } = make();
  manager.set(podOf(), waiting('ContainerCreating'));
  expect(written).toEqual([]);
  await until(() => expect(written).toEqual(['ContainerCreating']));
  manager.set(podOf(), waiting('ErrImagePull'));
  await until(() => expect(written).toEqual(['ContainerCreating', 'ErrImagePull']));
  manager.stop();
});

test('a pod that ends while a status is on its way is deleted only after its last status', async () => {
  const calls: (string | undefined)[] = [];
  let isFinished = false;
  const answers: (() => void)[] = [];
  const manager = new StatusManager({
    client: {
      of: () => ({
        patch: async (_: object, __: string, { status }: { status: V1PodStatus }) => {
          calls.push(status.phase);
          await new Promise<void>((resolve) => answers.push(resolve));
          return { ...podOf({}, { resourceVersion: String(1 + calls.length) }), status };
        },
        delete: async () => void calls.push('deleted'),
      }),
    } as unknown as Client,
    log: silentLog,
    apiPod: (pod) => pod,
    isFinished: () => isFinished,
  });
  const going = podOf({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  manager.set(going, { phase: 'Running' });
  await until(() => expect(calls).toEqual(['Running']));
  manager.set(going, { phase: 'Failed' });
  isFinished = true;
  manager.flush(going.metadata.uid);
  answers.shift()?.();
  await until(() => expect(calls).toEqual(['Running', 'Failed']));
  answers.shift()?.();
  await until(() => expect(calls).toEqual(['Running', 'Failed', 'deleted']));
  manager.stop();
});
