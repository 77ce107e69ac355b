import { expect, test } from 'vitest';
import { ContainerStarter, type StartRequest } from '../../../../src/kubelet/container/starter.js';
import { KubeletError } from '../../../../src/kubelet/error.js';
import { noEvents } from '../../../../src/kubelet/events.js';
import { container, podOf, run } from '../support.js';

test('after each failed pull the next look comes soon, to tell of the back-off, and the one after that when it is over', async () => {
  const pod = podOf();
  const web = container('web');
  const answers = ['ErrImagePull', 'ImagePullBackOff', 'ErrImagePull', 'ImagePullBackOff'] as const;
  let asked = 0;
  const images = {
    ensureImage: async () => {
      throw new KubeletError(answers[asked++] ?? 'ErrImagePull', 'no such image');
    },
    retryAfterMs: () => 20_000,
    forget: () => {},
  };
  const starter = new ContainerStarter({
    images,
    events: noEvents,
    now: () => 0,
    maxBackOffMs: 300_000,
    seccompRoot: '',
  } as never);
  const request = {
    pod,
    container: web,
    podIps: [],
    volumes: new Map(),
    restartsShown: 0,
    pullSecrets: async () => [],
    signal: new AbortController().signal,
  } as unknown as StartRequest;
  const seen: unknown[] = [];
  for (const _ of answers)
    seen.push([await starter.start(request), starter.failuresOf('u1').get('web')?.reason]);
  expect(seen).toEqual([
    [3_000, 'ErrImagePull'],
    [20_000, 'ImagePullBackOff'],
    [3_000, 'ErrImagePull'],
    [20_000, 'ImagePullBackOff'],
  ]);
});

test('no back-off is longer than the longest that the node allows, the first included', async () => {
  const pod = podOf();
  const images = {
    ensureImage: () => Promise.reject(new KubeletError('ErrImageNeverPull', 'not here')),
    retryAfterMs: () => 0,
    forget: () => {},
  };
  const starter = new ContainerStarter({
    images,
    events: noEvents,
    now: () => 3_000,
    maxBackOffMs: 1_000,
    seccompRoot: '',
  } as never);
  const request = {
    pod,
    container: pod.spec.containers[0],
    podIps: [],
    volumes: new Map(),
    restartsShown: 0,
    lastExit: run(pod, 'web', 'exited'),
    pullSecrets: async () => [],
    signal: new AbortController().signal,
  } as unknown as StartRequest;
  await starter.start(request);
  expect(await starter.start(request)).toBe(1_000);
  expect(starter.failuresOf('u1').get('web')?.message).toMatch(/^back-off 1s restarting/);
});
