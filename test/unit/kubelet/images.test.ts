// When an image that could not be pulled is asked for again.
import { expect, test } from 'vitest';
import type { ImageService } from '../../../src/cri/runtime.js';
import { ImagePuller } from '../../../src/kubelet/images.js';
import type { PullRecords } from '../../../src/kubelet/pullRecords.js';
import { container, podOf } from './support.js';

function scene() {
  const state = { time: 0, pulls: 0, isThere: false };
  const images = {
    imageStatus: async () => undefined,
    pullImage: async () => {
      state.pulls += 1;
      if (!state.isThere) throw new Error('not found');
      return 'sha256:1';
    },
  } as unknown as ImageService;
  const records = {
    intend: async () => {},
    failed: async () => {},
    pulled: async () => {},
  } as unknown as PullRecords;
  const puller = new ImagePuller({
    images,
    records,
    events: { event: () => {} },
    now: () => state.time,
    maxParallel: 1,
  });
  const pod = podOf({}, { uid: 'a' });
  const web = container('web', { image: 'registry.example.com/web:1', imagePullPolicy: 'Always' });
  /** The reason of its failure, and when to ask again. */
  const ask = async () => {
    const reason = await puller.ensureImage(pod, web).then(
      () => 'here',
      (error: { reason: string }) => error.reason,
    );
    return [reason, puller.retryAfterMs(pod, web)];
  };
  return { state, ask };
}

test('each failed pull is followed by a back-off that is told, twice as long each time, and ends with a success', async () => {
  const { state, ask } = scene();
  for (const delayMs of [10_000, 20_000, 40_000]) {
    expect(await ask()).toEqual(['ErrImagePull', delayMs]);
    state.time += 3_000;
    expect(await ask()).toEqual(['ImagePullBackOff', delayMs - 3_000]);
    state.time += delayMs - 3_000;
  }
  expect(state.pulls).toBe(3);
  state.isThere = true;
  expect(await ask()).toEqual(['here', 0]);
  state.isThere = false;
  expect(await ask()).toEqual(['ErrImagePull', 10_000]);
});
