import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { type PodSync, PodWorkers, type SyncOutcome } from '../../../src/kubelet/podWorkers.js';
import { podOf } from './support.js';

/** Records what a worker does; each step may be held open by a test. */
class FakeSync implements PodSync {
  readonly said: string[] = [];
  readonly retold: string[] = [];
  outcome: SyncOutcome = { terminal: false };
  failures = 0;
  readonly #held = new Map<string, () => void>();
  readonly #holding = new Set<string>();

  hold(step: string): void {
    this.#holding.add(step);
  }

  release(step: string): void {
    this.#holding.delete(step);
    this.#held.get(step)?.();
  }

  sync: PodSync['sync'] = async ({ metadata, spec }, signal) => {
    await this.#step(`sync ${metadata.uid} ${spec.containers[0]?.image}`, `sync ${metadata.uid}`, signal);
    if (this.failures-- > 0) throw new Error('not yet');
    return this.outcome;
  };
  terminating: PodSync['terminating'] = (uid, _, { graceSeconds, signal }) =>
    this.#step(`terminating ${uid} ${graceSeconds}`, `terminating ${uid}`, signal);
  retell: PodSync['retell'] = ({ metadata }) => this.retold.push(metadata.uid);
  terminated: PodSync['terminated'] = (uid) => this.#step(`terminated ${uid}`, `terminated ${uid}`);
  erase: PodSync['erase'] = (uid) => this.#step(`erase ${uid}`, `erase ${uid}`);

  async #step(said: string, key: string, signal?: AbortSignal): Promise<void> {
    this.said.push(said);
    if (!this.#holding.has(key)) return;
    await new Promise<void>((resolve, reject) => {
      this.#held.set(key, resolve);
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  }
}

let work: FakeSync;
let workers: PodWorkers;
const settle = () => vi.advanceTimersByTimeAsync(0);
const image = (name: string) => podOf({ containers: [{ name: 'web', image: name }] });
const deleted = (graceSeconds: number) =>
  podOf({}, { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: graceSeconds });

beforeEach(() => {
  vi.useFakeTimers();
  work = new FakeSync();
  workers = new PodWorkers(work, { log: silentLog, resyncMs: 60_000 });
});
afterEach(() => {
  workers.stop();
  vi.useRealTimers();
});

test('one sync at a time, and of many updates the last', async () => {
  work.hold('sync u1');
  for (const name of ['a', 'b', 'c']) workers.update(image(name));
  await settle();
  expect(work.said).toEqual(['sync u1 a']);
  work.release('sync u1');
  await settle();
  expect(work.said).toEqual(['sync u1 a', 'sync u1 c']);
});

test('a pod that hangs delays no other', async () => {
  work.hold('sync u1');
  workers.update(podOf());
  workers.update(podOf({}, { uid: 'u2', name: 'other' }));
  await settle();
  expect(work.said).toEqual(['sync u1 busybox:1', 'sync u2 busybox:1']);
});

test('deletion overtakes a sync that waits, and passes through every phase once', async () => {
  work.hold('sync u1');
  workers.update(podOf());
  await settle();
  workers.update(deleted(7));
  workers.update(deleted(7));
  await settle();
  expect(work.said).toEqual(['sync u1 busybox:1', 'terminating u1 7', 'terminated u1']);
  expect(workers.isFinished('u1')).toBe(true);
  workers.wake('u1');
  await settle();
  expect(work.said).toHaveLength(3);
});

test('one that its source takes away and gives back begins anew after its end', async () => {
  work.hold('terminating u1');
  workers.update(image('a'));
  await settle();
  workers.terminate('u1', { isRemoved: true });
  workers.update(image('b'));
  await settle();
  expect(work.said).toEqual(['sync u1 a', 'terminating u1 undefined']);
  work.release('terminating u1');
  await settle();
  expect(work.said.slice(2)).toEqual(['terminated u1', 'erase u1', 'sync u1 b']);
  expect(workers.phaseOf('u1')).toBe('sync');
});

test('so does one that comes back after it has finished, but none that is taken away again', async () => {
  workers.update(image('a'));
  await settle();
  workers.terminate('u1', { isRemoved: true });
  await settle();
  expect(workers.isFinished('u1')).toBe(true);
  work.hold('erase u1');
  workers.update(image('b'));
  await settle();
  workers.terminate('u1', { isRemoved: true });
  work.release('erase u1');
  await settle();
  expect(work.said.at(-1)).toBe('erase u1');
  expect(workers.isFinished('u1')).toBe(true);
});

test('a shorter grace period overtakes a longer one', async () => {
  work.hold('terminating u1');
  workers.update(deleted(30));
  await settle();
  workers.update(deleted(30));
  work.release('nothing');
  workers.update(deleted(0));
  await settle();
  expect(work.said.filter((step) => step.startsWith('terminating'))).toEqual([
    'terminating u1 30',
    'terminating u1 0',
  ]);
});

test('a failed sync is tried again, later each time', async () => {
  work.failures = 2;
  workers.update(podOf());
  await settle();
  expect(work.said).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(500);
  expect(work.said).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(999);
  expect(work.said).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(work.said).toHaveLength(3);
});

test('a pod whose containers have all ended is taken down', async () => {
  work.outcome = { terminal: true };
  workers.update(podOf());
  await settle();
  expect(work.said).toEqual(['sync u1 busybox:1', 'terminating u1 undefined', 'terminated u1']);
});

test('a pod is looked at again when its back-off ends', async () => {
  work.outcome = { terminal: false, resyncAfterMs: 10_000 };
  workers.update(podOf());
  await settle();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(work.said).toHaveLength(2);
});

test('what the runtime has and nobody wants is taken down without a pod', async () => {
  workers.terminate('orphan');
  await settle();
  expect(work.said).toEqual(['terminating orphan undefined', 'terminated orphan']);
  workers.retain(() => false);
  expect(workers.knows('orphan')).toBe(false);
});

test('a changed static pod waits for its predecessor', async () => {
  const annotations = { 'kubernetes.io/config.source': 'file' };
  work.hold('terminating u1');
  workers.update(podOf({}, { annotations }));
  await settle();
  workers.terminate('u1');
  workers.update(podOf({}, { uid: 'u2', annotations }));
  await settle();
  expect(work.said).toEqual(['sync u1 busybox:1', 'terminating u1 undefined']);
  work.release('terminating u1');
  await settle();
  expect(work.said.slice(2)).toEqual(['terminated u1', 'sync u2 busybox:1']);
});

test('after stop nothing begins', async () => {
  workers.stop();
  workers.update(podOf());
  await settle();
  expect(work.said).toEqual([]);
});

test('what changes while the containers of a pod end is told before they have', async () => {
  work.hold('terminating u1');
  workers.update(deleted(7));
  await settle();
  const before = work.retold.length;
  workers.wake('u1');
  expect(work.retold.slice(before)).toEqual(['u1']);
  work.release('terminating u1');
  await settle();
  workers.wake('u1');
  expect(work.said).toEqual(['terminating u1 7', 'terminated u1']);
  expect(work.retold).toHaveLength(before + 1);
});

test('a pod that is to be looked at after more than 24.8 days is not looked at again and again', async () => {
  const patient = new PodWorkers(work, { log: silentLog, resyncMs: 2 ** 40 });
  patient.update(image('one'));
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(work.said).toHaveLength(1);
  patient.stop();
});
