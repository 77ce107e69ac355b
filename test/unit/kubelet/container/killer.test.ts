import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silentLog } from '../../../../src/api/log.js';
import type { RuntimeService } from '../../../../src/cri/runtime.js';
import { Killer } from '../../../../src/kubelet/container/killer.js';
import { noEvents } from '../../../../src/kubelet/events.js';
import { timingOf } from '../../../../src/kubelet/probes/result.js';
import { container, podOf, run, runtimePod } from '../support.js';

const hook = { lifecycle: { preStop: { exec: { command: ['bye'] } } } };
const pod = podOf({
  terminationGracePeriodSeconds: 20,
  initContainers: ['first', 'second'].map((name) => container(name, { restartPolicy: 'Always', ...hook })),
});
const all = runtimePod(['web', 'first', 'second'].map((name) => run(pod, name, 'running')));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A runtime in which each container takes so many seconds to end. */
function scene(seconds: Readonly<Record<string, number>>) {
  const said: string[] = [];
  const begun = Date.now();
  const at = () => (Date.now() - begun) / 1000;
  const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const runtime = {
    execSync: async (id: string) => {
      said.push(`${at()} hook ${id}`);
      await sleep(1_000);
      return { exitCode: 0 };
    },
    stopContainer: async (id: string, grace: number) => {
      said.push(`${at()} TERM ${id} ${grace}`);
      await sleep((seconds[id] ?? 0) * 1000);
      if (seconds[id] === -1) throw new Error('it does not end');
      said.push(`${at()} end ${id}`);
    },
    stopPodSandbox: async () => void said.push(`${at()} sandbox`),
  } as unknown as RuntimeService;
  return { said, killer: new Killer({ runtime, events: noEvents, log: silentLog, now: Date.now }) };
}

test("sidecars' hooks run at once, and their TERM waits for the containers they serve", async () => {
  const { said, killer } = scene({ 'web-0': 5, 'second-0': 2 });
  const killed = killer.killPod(pod, all);
  await vi.runAllTimersAsync();
  await killed;
  expect(said).toEqual([
    '0 TERM web-0 20',
    '0 hook second-0',
    '0 hook first-0',
    '5 end web-0',
    '5 TERM second-0 15',
    '7 end second-0',
    '7 TERM first-0 13',
    '7 end first-0',
    '7 sandbox',
  ]);
});

test('they wait no longer than the grace period', async () => {
  const { said, killer } = scene({ 'web-0': 1_000, 'second-0': 1, 'first-0': 1 });
  const killed = killer.killPod(pod, all);
  await vi.runAllTimersAsync();
  await killed;
  expect(said.slice(3, 5)).toEqual(['20 TERM second-0 2', '20 TERM first-0 2']);
});

test('without grace nothing waits and no hook runs', async () => {
  const { said, killer } = scene({ 'web-0': 5 });
  const killed = killer.killPod(pod, all, { graceSeconds: 0 });
  await vi.runAllTimersAsync();
  await killed;
  expect(said.filter((one) => one.includes('TERM'))).toEqual([
    '0 TERM web-0 0',
    '0 TERM second-0 0',
    '0 TERM first-0 0',
  ]);
});

test('what cannot be stopped is told, and the sandbox stays', async () => {
  const { said, killer } = scene({ 'web-0': -1 });
  const killed = killer.killPod(pod, all);
  const told = expect(killed).rejects.toThrow('it does not end');
  await vi.runAllTimersAsync();
  await told;
  expect(said.filter((one) => /TERM|sandbox/.test(one))).toEqual(['0 TERM web-0 20']);
});

test('a grace period of months is waited for, by hooks too', async () => {
  const patient = { ...pod, spec: { ...pod.spec, terminationGracePeriodSeconds: 10_000_000 } };
  const { said, killer } = scene({ 'web-0': 9 });
  const killed = killer.killPod(patient, all);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(said).toEqual(['0 TERM web-0 10000000', '0 hook second-0', '0 hook first-0']);
  await vi.advanceTimersByTimeAsync(10_000);
  await killed;
});

test('probes of months have timers that Node can wait for', () => {
  const { periodMs, timeoutMs } = timingOf({ periodSeconds: 2 ** 31 - 1, timeoutSeconds: 2 ** 31 - 1 });
  expect([periodMs, timeoutMs]).toEqual([2 ** 31 - 1, 2 ** 31 - 1]);
});
