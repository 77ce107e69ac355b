// The kubelet's benchmarks, by name.
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import { inCluster } from './cluster.js';
import { pleg } from './pleg.js';

const ABOVE_BARE_MS = 150;

async function podStart(): Promise<Figure[]> {
  const { ours = Number.NaN, bare = Number.NaN } = await inCluster('podStart');
  const name = `pod start, create to Running, above the bare calls' ${Math.round(bare)} ms`;
  return [againstLimit({ name, value: ours - bare, unit: 'ms' }, ABOVE_BARE_MS)];
}

async function podsAtOnce(): Promise<Figure[]> {
  const { ours = Number.NaN, bare = Number.NaN } = await inCluster('podsAtOnce');
  const figure = { name: '50 pods at once, create to Running', value: ours, unit: 'ms' };
  return [againstPeer({ ...figure, peer: 'bare CRI calls, 50 at once', peerValue: bare }, 1.3)];
}

async function resident(): Promise<Figure[]> {
  const { idleMb = Number.NaN, fullMb = Number.NaN, cpuPercent = Number.NaN } = await inCluster('resident');
  return [
    againstLimit({ name: 'node agent, resident, idle', value: idleMb, unit: 'MB' }, 90),
    againstLimit({ name: 'node agent, resident, 110 pods', value: fullMb, unit: 'MB' }, 160),
    againstLimit({ name: 'node agent, cpu, 110 quiet pods', value: cpuPercent, unit: '% of a core' }, 2),
  ];
}

export const kubelet: Record<string, () => Promise<Figure[]>> = { pleg, podStart, podsAtOnce, resident };
