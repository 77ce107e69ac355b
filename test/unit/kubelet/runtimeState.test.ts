// What the kubelet thinks of a runtime that answers, hangs and comes back.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import type { ContainerRuntime } from '../../../src/cri/runtime.js';
import { runtimeProblem } from '../../../src/kubelet/node/nodeStatus.js';
import { RuntimeState } from '../../../src/kubelet/runtimeState.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const WELL = {
  conditions: [
    { type: 'RuntimeReady', status: true, reason: '', message: '' },
    { type: 'NetworkReady', status: true, reason: '', message: '' },
  ],
  handlers: [],
  features: undefined,
};

test('is down when it has been silent for half a minute, and up when it answers after all', async () => {
  let answer: (() => void) | undefined;
  let hangs = false;
  const status = () =>
    hangs ? new Promise((resolve) => (answer = () => resolve(WELL))) : Promise.resolve(WELL);
  const cri = {
    runtime: {
      version: async () => ({ name: 'r', version: '1' }),
      runtimeConfig: async () => ({ cgroupDriver: 'CGROUPFS' }),
      status,
    },
    images: { listImages: async () => [] },
  } as unknown as ContainerRuntime;
  let changes = 0;
  const state = new RuntimeState(cri, silentLog, () => void changes++);
  await state.start();
  expect(runtimeProblem(state.facts())).toBeUndefined();
  expect(changes).toBe(1);

  hangs = true;
  await vi.advanceTimersByTimeAsync(5_000 + 29_000);
  expect(runtimeProblem(state.facts())).toBeUndefined();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(runtimeProblem(state.facts())).toBe('container runtime is down: it has not answered for 30 s');
  expect(changes).toBe(2);

  hangs = false;
  answer?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(runtimeProblem(state.facts())).toBeUndefined();
  expect(changes).toBe(3);
  state.stop();
});
