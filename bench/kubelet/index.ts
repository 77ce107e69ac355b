// The kubelet's benchmarks, by name.
import { inCluster } from '../cluster/one.js';
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import { median, round } from '../lib/samples.js';
import type { Job, Measured } from './inside.js';
import { pleg } from './pleg.js';

const ABOVE_BARE_MS = 150;
/** Clusters whose memory is looked at. */
const CLUSTERS = 3;

/** Runs one job of inside.ts in a fresh cluster and answers what it measured. */
const measured = (job: Job) =>
  inCluster(async ({ inside }) =>
    JSON.parse(await inside(new URL('./inside.js', import.meta.url), job)),
  ) as Promise<Measured>;

async function podStart(): Promise<Figure[]> {
  const { ours = [], bare = [] } = await measured('podStart');
  const samples = ours.map((ms, i) => ms - (bare[i] ?? Number.NaN));
  const name = `pod start, create to Running, above the bare calls' ${round(median(bare))} ms`;
  return [againstLimit({ name, samples, unit: 'ms' }, ABOVE_BARE_MS)];
}

async function podsAtOnce(): Promise<Figure[]> {
  const { ours = [], bare = [] } = await measured('podsAtOnce');
  const figure = { name: '50 pods at once, create to Running', samples: ours, unit: 'ms' };
  return [againstPeer({ ...figure, peer: 'bare CRI calls, 50 at once', peerSamples: bare }, 1.3)];
}

async function resident(): Promise<Figure[]> {
  const runs: Measured[] = [];
  while (runs.length < runsOf(CLUSTERS)) runs.push(await measured('resident'));
  const of = (name: string) => runs.flatMap((run) => run[name] ?? []);
  return [
    againstLimit({ name: 'node agent, resident, idle', samples: of('idleMb'), unit: 'MB' }, 90),
    againstLimit({ name: 'node agent, resident, 110 pods', samples: of('fullMb'), unit: 'MB' }, 160),
    againstLimit(
      { name: 'node agent, cpu, 110 quiet pods', samples: of('cpuPercent'), unit: '% of a core' },
      2,
    ),
  ];
}

export const kubelet: Record<string, () => Promise<Figure[]>> = { pleg, podStart, podsAtOnce, resident };
