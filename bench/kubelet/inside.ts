// What is measured inside a cluster: starts of pods against the bare calls, and what the node's agent needs.
// usage: node inside.js JOB DATA-DIR      prints one JSON object
import { realpathSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { PODS } from '../../src/api/resources.js';
import { transportOf } from '../../src/client/kubeconfig.js';
import { openInformers } from '../../src/client/sharedInformers.js';
import { openClient } from '../../src/client/typedClient.js';
import { BUSYBOX_IMAGE } from '../../src/cluster/images/builtin.js';
import { type Layout, layoutOf } from '../../src/cluster/layout.js';
import { readState } from '../../src/cluster/state.js';
import { openRuntime } from '../../src/cri/client.js';
import { runsOf } from '../lib/options.js';
import { cpuSeconds, residentMb } from '../lib/process.js';
import { describeBarePod, removeBarePod, startBarePod } from './bare.js';

export type Job = 'podStart' | 'podsAtOnce' | 'resident';
/** Milliseconds, megabytes and shares by name, one of each run. */
export type Measured = Readonly<Record<string, readonly number[]>>;

const STARTS = 15;
const AT_ONCE = 50;
const ROUNDS = 3;
const FULL = 110;
const SETTLE_MS = 10_000;
/** A node that has just started its pods is not quiet: what that left is still being collected, and code compiled anew. */
const QUIETEN_MS = 60_000;
/** A pod is synced once a minute and disks are looked at as often: a shorter look would see all of it or none. */
const QUIET_MS = 60_000;

async function main(job: string, dataDir: string): Promise<Measured> {
  const layout = layoutOf(realpathSync(dataDir));
  const client = openClient(await transportOf(layout.adminKubeconfig));
  const informers = openInformers(client);
  const cri = openRuntime(`unix://${layout.containerdSocket}`);
  const pods = await watchPods(client.of(PODS), informers);
  const bench = { layout, cri, pods };
  try {
    if (job === 'podStart') return await podStart(bench);
    if (job === 'podsAtOnce') return await podsAtOnce(bench);
    if (job === 'resident') return await resident(bench);
    throw new Error(`there is no job ${job}`);
  } finally {
    informers.stop();
    client.close();
    cri.close();
  }
}

interface Bench {
  readonly layout: Layout;
  readonly cri: ReturnType<typeof openRuntime>;
  readonly pods: Awaited<ReturnType<typeof watchPods>>;
}

async function podStart({ layout, cri, pods }: Bench): Promise<Measured> {
  const ours: number[] = [];
  const bare: number[] = [];
  // The first round pulls the image and warms files and compilers; it does not count.
  for (let i = 0; i <= runsOf(STARTS); i++) {
    const mine = await timed(() => pods.start(`one-${i}`));
    await pods.remove([`one-${i}`]);
    await untilEmpty(cri);
    const pod = describeBarePod(layout);
    const theirs = await timed(() => startBarePod(cri, pod));
    await removeBarePod(cri, pod);
    if (i === 0) continue;
    ours.push(mine);
    bare.push(theirs);
  }
  return { ours, bare };
}

async function podsAtOnce({ layout, cri, pods }: Bench): Promise<Measured> {
  await pods.start('warm');
  await pods.remove(['warm']);
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < runsOf(ROUNDS); round++) {
    const names = Array.from({ length: AT_ONCE }, (_, i) => `many-${round}-${i}`);
    ours.push(await timed(() => Promise.all(names.map((name) => pods.start(name)))));
    await pods.remove(names);
    await untilEmpty(cri);
    const peers = names.map(() => describeBarePod(layout));
    bare.push(await timed(() => Promise.all(peers.map((pod) => startBarePod(cri, pod)))));
    await Promise.all(peers.map((pod) => removeBarePod(cri, pod)));
  }
  return { ours, bare };
}

async function resident({ layout, pods }: Bench): Promise<Measured> {
  const agent = (await readState(layout)).components['agent']?.pid;
  if (agent === undefined) throw new Error('the cluster has no agent');
  await sleep(SETTLE_MS);
  const idleMb = residentMb(agent);
  const names = Array.from({ length: FULL }, (_, i) => `full-${i}`);
  await Promise.all(names.map((name) => pods.start(name)));
  await sleep(SETTLE_MS);
  const fullMb = residentMb(agent);
  await sleep(QUIETEN_MS);
  const before = cpuSeconds(agent);
  const wallMs = await timed(() => sleep(QUIET_MS));
  const cpuPercent = ((cpuSeconds(agent) - before) / (wallMs / 1000)) * 100;
  await pods.remove(names);
  return { idleMb: [idleMb], fullMb: [fullMb], cpuPercent: [cpuPercent] };
}

type PodClient = ReturnType<ReturnType<typeof openClient>['of']>;

/** Starts and removes pods, and hears from a watch when they have. */
async function watchPods(client: PodClient, informers: ReturnType<typeof openInformers>) {
  const informer = informers.of(PODS, { namespace: 'default' });
  const waiting = new Map<string, (gone: boolean) => void>();
  informer.on({
    updated: ({ metadata, status }) => {
      if (status.phase === 'Running') waiting.get(`${metadata.name} running`)?.(false);
    },
    deleted: ({ metadata }) => waiting.get(`${metadata.name} gone`)?.(true),
  });
  await informer.synced();
  const heard = (what: string) => new Promise<unknown>((resolve) => waiting.set(what, resolve));
  return {
    /** Resolves when the API shows the pod as Running. */
    async start(name: string): Promise<void> {
      const running = heard(`${name} running`);
      await client.create({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: 'default' },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [
            {
              name: 'main',
              image: BUSYBOX_IMAGE,
              imagePullPolicy: 'IfNotPresent',
              command: ['sleep', '100000'],
            },
          ],
        },
      } as never);
      await running;
    },
    async remove(names: readonly string[]): Promise<void> {
      const gone = names.map((name) => heard(`${name} gone`));
      await Promise.all(names.map((name) => client.delete({ namespace: 'default', name })));
      await Promise.all(gone);
      waiting.clear();
    },
  };
}

/** The API forgets a pod before the runtime has removed the last of it: neither side is measured while that goes on. */
async function untilEmpty({ runtime }: Bench['cri']): Promise<void> {
  while ((await runtime.listPodSandbox()).length > 0) await sleep(50);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const [job = '', dataDir = ''] = process.argv.slice(2);
console.log(JSON.stringify(await main(job, dataDir)));
process.exit(0);
