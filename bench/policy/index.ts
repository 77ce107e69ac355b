// Network policies: what the kernel is given and when, and what a packet pays, beside iptables with sets as kube-router writes them.
// Guarantees: both are given the same pods and policies (workload.ts says where they differ); every run is in fresh namespaces.
import { fileURLToPath } from 'node:url';
import { inTurns, repeated } from '../lib/compare.js';
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import { runsOf, scaled } from '../lib/options.js';
import { median, round } from '../lib/samples.js';
import { benchNetNs, removeNetNs, runTool } from '../lib/tool.js';
import type { Synced } from './plannerProcess.js';
import { measureTraffic, none, ours, peers, type Traffic } from './traffic.js';
import { iptablesOf, LOCAL_PODS, MOVED, workload } from './workload.js';

const RUNS = 5;
const [PODS, POLICIES] = [scaled(10_000), scaled(1_000)];
const PEER = 'iptables and ipset';
const percent = (ratio: number) => `${round((ratio - 1) * 100)} %`;
const count = (number: number) => number.toLocaleString('en');
const SIZE = `${count(POLICIES)} policies, ${count(PODS)} pods, ${LOCAL_PODS} of them here`;
const PLANNER_PROCESS = fileURLToPath(new URL('./plannerProcess.js', import.meta.url));
/** Bytes over time: 0.97 of the throughput. */
const MOST_TIME = 1 / 0.97;

async function inNamespace<T>(work: (netns: string) => Promise<T>): Promise<T> {
  const netns = await benchNetNs();
  try {
    return await work(netns);
  } finally {
    await removeNetNs(netns);
  }
}

const synced = (pods: number): Promise<Synced> =>
  inNamespace(async (netns) => {
    const text = await runTool([process.execPath, PLANNER_PROCESS, String(pods), String(POLICIES)], {
      netns,
    });
    return JSON.parse(text) as Synced;
  });

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** It writes the whole filter table for every pod, and the sets that the pod is in. */
const peerSynced = () =>
  inNamespace(async (netns) => {
    const write = async ({ ipset, filter }: ReturnType<typeof iptablesOf>) => {
      await runTool(['ipset', 'restore'], { netns, input: ipset });
      await runTool(['iptables-legacy-restore'], { netns, input: filter });
    };
    const before = iptablesOf(workload(PODS, POLICIES));
    const syncMs = await timed(() => write(before));
    const addMs = await timed(() =>
      write({ ...before, ipset: 'add ns0 10.250.0.1\nadd ns0-app0 10.250.0.1\n' }),
    );
    return { syncMs, addMs };
  });

async function sync(): Promise<Figure[]> {
  const [mine, theirs] = await inTurns(runsOf(RUNS), () => synced(PODS), peerSynced);
  const few = await repeated(runsOf(RUNS), () => synced(Math.max(LOCAL_PODS + 50, PODS / 10)));
  const of = (name: string, unit: string, samples: readonly number[]) => ({ name, unit, samples });
  const syncMs = mine.map((run) => run.syncMs);
  const addMs = mine.map((run) => median(run.addMs));
  const cpuMs = Math.round(median(mine.map((run) => run.syncCpuMs)));
  return [
    { ...againstLimit(of('full sync', 'ms', syncMs), 1000), note: `${SIZE}; ${cpuMs} ms of processor time` },
    againstPeer(
      { ...of('full sync', 'ms', syncMs), peer: PEER, peerSamples: theirs.map((run) => run.syncMs) },
      1,
    ),
    againstLimit(
      of(
        'memory after it, of the process',
        'MB',
        mine.map((run) => run.residentMb),
      ),
      150,
    ),
    againstLimit(of('one pod added', 'ms', addMs), 2),
    againstPeer(
      { ...of('one pod added', 'ms', addMs), peer: PEER, peerSamples: theirs.map((run) => run.addMs) },
      1,
    ),
    againstPeer(
      {
        ...of('one pod added among ten times as many', 'ms', addMs),
        peer: `${count(PODS / 10)} pods`,
        peerSamples: few.map((run) => median(run.addMs)),
      },
      1.5,
    ),
    againstLimit(
      of(
        `one label that moves a pod between ${MOVED} policies`,
        'ms',
        mine.map((run) => median(run.moveMs)),
      ),
      10,
    ),
  ];
}

async function packets(): Promise<Figure[]> {
  const work = workload(PODS, POLICIES);
  const [mine = [], without = [], theirs = []] = await measureTraffic(
    [ours(work), none, peers(work)],
    runsOf(RUNS),
  );
  type Asked = Record<'key' | 'cpu', keyof Traffic> & { of: readonly Traffic[]; atMost: number };
  const part = (name: string, unit: string, { of, key, cpu, atMost }: Asked) => {
    const all = (rounds: readonly Traffic[], what: keyof Traffic) => rounds.map((one) => one[what]);
    const [own, others] = [median(all(of, cpu)), median(all(without, cpu))];
    const twins =
      key === 'gigabyteMs' ? `; two equal nodes differ by ${percent(median(all(without, 'twins')))}` : '';
    const note = `processor time of the sender: ${round(own)} ${unit} beside ${round(others)}${twins}`;
    const measured = { name, unit, note, samples: all(of, key) };
    return againstPeer({ ...measured, peer: 'no policy', peerSamples: all(without, key) }, atMost);
  };
  const untold = (figure: Figure): Figure => ({ ...figure, goal: '', met: true });
  const [connect, gigabyte] = [
    { key: 'connectUs', cpu: 'connectCpuUs', atMost: 1.15 },
    { key: 'gigabyteMs', cpu: 'gigabyteCpuMs', atMost: MOST_TIME },
  ] as const;
  return [
    part(`a new connection with ${count(POLICIES)} policies`, 'µs', { of: mine, ...connect }),
    untold(part(`the same with ${PEER}`, 'µs', { of: theirs, ...connect })),
    part(`a gigabyte with ${count(POLICIES)} policies`, 'ms', { of: mine, ...gigabyte }),
    untold(part(`the same with ${PEER}`, 'ms', { of: theirs, ...gigabyte })),
  ];
}

export const policy: Record<string, () => Promise<Figure[]>> = { sync, packets };
