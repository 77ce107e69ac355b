// When probes run, and what their results make of a container.
// Guarantees: told by a clock that only the test moves.
import { expect, test } from 'vitest';
import type { V1Container, V1ContainerStatus } from '../../../../src/api/gen/types.js';
import { silentLog } from '../../../../src/api/log.js';
import { ContainerProbes } from '../../../../src/kubelet/probes/probes.js';
import type { Outcome } from '../../../../src/kubelet/probes/result.js';
import type { Clock } from '../../../../src/kubelet/probes/worker.js';
import { podWith } from '../../../support/kubelet/podparts.js';

class FakeClock implements Clock {
  ms = 1_000_000;
  readonly #timers = new Set<{ readonly at: number; readonly call: () => void }>();
  get waiting() {
    return this.#timers.size;
  }
  now = () => this.ms;
  after(delayMs: number, call: () => void) {
    const timer = { at: this.ms + delayMs, call };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }
  /** Goes on second by second and lets everything settle in between. */
  async pass(seconds: number) {
    for (let second = 0; second <= seconds; second++) {
      if (second > 0) this.ms += 1000;
      for (let round = 0; round < 5; round++) {
        const due = [...this.#timers].filter(({ at }) => at <= this.ms);
        for (const timer of due) this.#timers.delete(timer);
        for (const timer of due) timer.call();
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }
}

const probe = { exec: { command: ['true'] }, periodSeconds: 10, failureThreshold: 2, successThreshold: 1 };

function scene(container: Partial<V1Container>, status: Partial<V1ContainerStatus> = {}) {
  const clock = new FakeClock();
  const runs: string[] = [];
  const events: string[] = [];
  const results: string[] = [];
  const says: { outcome: Outcome; hang?: boolean } = { outcome: 'success' };
  const pod = podWith(
    { containers: [{ name: 'main', ...container }] },
    { status: { containerStatuses: [{ name: 'main', ...status } as V1ContainerStatus] } },
  );
  const { uid } = pod.metadata;
  const probes = new ContainerProbes({
    exec: () => Promise.reject(new Error('not asked here')),
    clock,
    onResult: (podUid) => results.push(podUid),
    onEvent: (_, { reason, message }) => events.push(`${reason} ${message}`),
    log: silentLog,
    random: () => 0,
    run: ({ containerId, probe: which }) => {
      runs.push(`${containerId} ${which.exec?.command?.[0] ?? ''}`);
      return says.hang
        ? new Promise(() => {})
        : Promise.resolve({ outcome: says.outcome, output: 'what it said' });
    },
  });
  const running = (id: string) => {
    const state = { running: { startedAt: new Date(clock.ms).toISOString() } };
    const now = { name: 'main', containerID: `containerd://${id}`, state } as V1ContainerStatus;
    probes.update(pod, [now], '10.0.0.5');
  };
  return { clock, runs, events, results, says, probes, pod, uid, running };
}

test('without probes a container is ready and started', () => {
  const { probes, uid, running } = scene({});
  running('a');
  expect([probes.isReady(uid, 'a'), probes.isStarted(uid, 'a'), probes.hasFailed(uid, 'a')]).toEqual([
    true,
    true,
    undefined,
  ]);
});

test('readiness: not ready until it passes, then again after as many failures as the threshold', async () => {
  const { clock, probes, uid, running, says, events, results } = scene({ readinessProbe: probe });
  running('a');
  expect(probes.isReady(uid, 'a')).toBe(false);
  await clock.pass(0);
  expect(probes.isReady(uid, 'containerd://a')).toBe(true);
  says.outcome = 'failure';
  await clock.pass(10);
  expect(probes.isReady(uid, 'a')).toBe(true);
  await clock.pass(10);
  expect(probes.isReady(uid, 'a')).toBe(false);
  expect(events[0]).toBe('Unhealthy Readiness probe failed: what it said');
  expect(probes.hasFailed(uid, 'a')).toBeUndefined();
  expect(results).toEqual([uid, uid]);
});

test('liveness: failed after the threshold, with its own grace period, then left alone until the next container', async () => {
  const livenessProbe = { ...probe, terminationGracePeriodSeconds: 3 };
  const { clock, probes, uid, running, says, runs } = scene({ livenessProbe });
  says.outcome = 'failure';
  running('a');
  await clock.pass(10);
  expect(probes.hasFailed(uid, 'a')).toEqual({
    kind: 'liveness',
    message: 'Container main failed liveness probe',
    terminationGracePeriodSeconds: 3,
  });
  const before = runs.length;
  await clock.pass(30);
  expect(runs).toHaveLength(before);
  says.outcome = 'success';
  running('b');
  expect(probes.hasFailed(uid, 'b')).toBeUndefined();
  await clock.pass(1);
  expect(runs.at(-1)).toBe('b true');
});

test('the first probe waits for its initial delay', async () => {
  const { clock, running, runs } = scene({ livenessProbe: { ...probe, initialDelaySeconds: 15 } });
  running('a');
  await clock.pass(19);
  expect(runs).toEqual([]);
  await clock.pass(1);
  expect(runs).toHaveLength(1);
});

test('startup holds the others back; once it passes they begin at once, and it is asked no more', async () => {
  const startupProbe = { ...probe, exec: { command: ['up'] }, failureThreshold: 30 };
  const { clock, probes, uid, running, says, runs } = scene({ startupProbe, readinessProbe: probe });
  says.outcome = 'failure';
  running('a');
  await clock.pass(20);
  expect(new Set(runs)).toEqual(new Set(['a up']));
  expect([probes.isStarted(uid, 'a'), probes.isReady(uid, 'a')]).toEqual([false, false]);
  says.outcome = 'success';
  await clock.pass(10);
  expect([probes.isStarted(uid, 'a'), probes.isReady(uid, 'a')]).toEqual([true, true]);
  const asked = runs.filter((run) => run === 'a up').length;
  await clock.pass(30);
  expect(runs.filter((run) => run === 'a up')).toHaveLength(asked);
});

test('a startup probe that never passes fails the container', async () => {
  const { clock, probes, uid, running, says } = scene({ startupProbe: probe });
  says.outcome = 'failure';
  running('a');
  await clock.pass(10);
  expect(probes.hasFailed(uid, 'a')?.kind).toBe('startup');
});

test('what could not be asked is tried three times and counts for nothing', async () => {
  const { clock, probes, uid, running, says, runs, events } = scene({ livenessProbe: probe });
  says.outcome = 'unknown';
  running('a');
  await clock.pass(0);
  expect(runs).toHaveLength(3);
  expect(events).toEqual(['Unhealthy Liveness probe errored and resulted in unknown state: what it said']);
  await clock.pass(40);
  expect(probes.hasFailed(uid, 'a')).toBeUndefined();
});

test('a probe that hangs is not started twice, and one that ends after the container counts for nothing', async () => {
  const { clock, running, says, runs } = scene({ livenessProbe: probe });
  says.hang = true;
  running('a');
  await clock.pass(60);
  expect(runs).toHaveLength(1);
});

test('what the API said of the same container holds until a probe says otherwise', () => {
  const told = { containerID: 'containerd://a', ready: true, started: true };
  const { probes, uid, running } = scene({ readinessProbe: probe, startupProbe: probe }, told);
  running('a');
  expect([probes.isReady(uid, 'a'), probes.isStarted(uid, 'a')]).toEqual([true, true]);
  running('b');
  expect([probes.isReady(uid, 'b'), probes.isStarted(uid, 'b')]).toEqual([false, false]);
});

test('removed, nothing is left waiting', async () => {
  const { clock, probes, uid, running, runs } = scene({ livenessProbe: probe, readinessProbe: probe });
  running('a');
  await clock.pass(0);
  probes.remove(uid);
  expect(clock.waiting).toBe(0);
  const before = runs.length;
  await clock.pass(30);
  expect(runs).toHaveLength(before);
});

test('a container that the probes have not heard of yet is not ready, if its pod has probes', () => {
  const { probes, uid, running } = scene({ readinessProbe: probe, startupProbe: probe });
  running('a');
  expect([probes.isReady(uid, 'b'), probes.isStarted(uid, 'b')]).toEqual([false, false]);
  const plain = scene({ livenessProbe: probe });
  plain.running('a');
  expect([plain.probes.isReady(plain.uid, 'b'), plain.probes.isStarted(plain.uid, 'b')]).toEqual([
    true,
    true,
  ]);
});

test('a pod that ends is asked whether it is ready, and no longer whether it lives', async () => {
  const { clock, runs, probes, pod } = scene({
    livenessProbe: { ...probe, exec: { command: ['lives'] } },
    readinessProbe: { ...probe, exec: { command: ['ready'] } },
  });
  const state = { running: { startedAt: new Date(clock.ms).toISOString() } };
  const now = { name: 'main', containerID: 'containerd://a', state } as V1ContainerStatus;
  probes.update(pod, [now], '10.0.0.5');
  await clock.pass(11);
  expect(new Set(runs)).toEqual(new Set(['a lives', 'a ready']));
  runs.length = 0;
  const ending = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  probes.update(ending, [now], '10.0.0.5');
  await clock.pass(21);
  expect(new Set(runs)).toEqual(new Set(['a ready']));
});
