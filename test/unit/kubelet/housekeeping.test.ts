import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { Housekeeping, type HousekeepingOptions } from '../../../src/kubelet/housekeeping.js';
import type { RuntimePod } from '../../../src/kubelet/runtime/runtimePod.js';
import { podOf, run, runtimePod, sandbox } from './support.js';

let podLogsDir: string;
beforeEach(() => {
  podLogsDir = mkdtempSync(path.join(tmpdir(), 'trellis-logs-'));
});
afterEach(() => rmSync(podLogsDir, { recursive: true }));

const emptyPod = (uid: string): RuntimePod => ({ ...runtimePod([], []), uid });

/** A node that has these pods in its runtime, of which only those with a name in `wanted` are wanted. */
function scene(known: readonly RuntimePod[], wanted: readonly string[] = []) {
  const done: string[] = [];
  const complaints: string[] = [];
  const note = (what: string) => async (name: string) => {
    if (name.includes('stuck')) throw new Error(`${name} cannot go`);
    done.push(`${what} ${name}`);
  };
  const byUid = (uid: string) => known.find((pod) => pod.uid === uid) ?? emptyPod(uid);
  const options = {
    config: { podLogsDir, cgroupRoot: '/', cgroupsPerQOS: true },
    runtime: {
      removeContainer: note('container'),
      stopPodSandbox: async () => {},
      removePodSandbox: note('sandbox'),
    },
    cgroups: {
      children: async (parent: string) => (parent === '/kubepods' ? ['poda-stuck', 'podb'] : []),
      remove: note('group'),
    },
    volumes: { podsOnDisk: async () => ['a-stuck', 'b'], remove: note('volumes') },
    cache: { pods: () => known, get: byUid, refresh: async (uid: string) => byUid(uid), dropEmpty: () => {} },
    pods: { get: (uid: string) => (wanted.includes(uid) ? podOf() : undefined) },
    workers: { knows: () => false, isFinished: () => false, retain: () => {} },
    statuses: { uids: () => [] },
    log: { ...silentLog, warn: (message: string) => complaints.push(message) },
  } as unknown as HousekeepingOptions;
  return { housekeeping: new Housekeeping(options), done, complaints };
}

test('what cannot be removed is told, and keeps nothing else from going', async () => {
  const pod = podOf();
  const dead = { state: 'SANDBOX_NOTREADY' } as const;
  const { housekeeping, done, complaints } = scene([
    runtimePod(
      [run(pod, 'web', 'exited', { id: 'stuck' }), run(pod, 'web', 'exited', { attempt: 1 })],
      [sandbox({ ...dead, id: 'stuck-0' }), sandbox({ ...dead, id: 's1' })],
    ),
  ]);
  for (const name of ['default_web_a', 'default_web_b']) mkdirSync(path.join(podLogsDir, name));
  await housekeeping.round();
  expect(done).toEqual(['container web-1', 'sandbox s1', 'volumes b', 'group /kubepods/podb']);
  expect(readdirSync(podLogsDir)).toEqual([]);
  expect(complaints).toEqual([
    'cannot remove a container',
    'cannot remove a sandbox',
    'cannot remove volumes',
    'cannot remove a control group',
  ]);
});

test('the log of a run that is collected goes with all that rotation made of it', async () => {
  const pod = podOf();
  const directory = path.join(podLogsDir, 'default_web_u1', 'web');
  mkdirSync(directory, { recursive: true });
  const files = [
    '0.log',
    '0.log.20260101-000000.gz',
    '0.log.20260101-000001',
    '10.log',
    '10.log.20260101-000000',
  ];
  for (const name of files) writeFileSync(path.join(directory, name), 'x');
  const runs = [
    run(pod, 'web', 'exited', { attempt: 10, logPath: path.join(directory, '10.log') }),
    run(pod, 'web', 'exited', { attempt: 0, logPath: path.join(directory, '0.log') }),
  ];
  await scene([runtimePod(runs)], ['u1']).housekeeping.round();
  expect(readdirSync(directory)).toEqual(['10.log', '10.log.20260101-000000']);
});
