// Runs one case of the scheduler's benchmark and makes a figure of it.
// Guarantees: the time is from the first creation of a measured pod to the last of them seen bound, creation included.
import { repeated } from '../lib/compare.js';
import { atLeast, type Figure } from '../lib/figure.js';
import { runsOf, scaled } from '../lib/options.js';
import type { Case } from './cases.js';
import { BenchCluster } from './cluster.js';

const RUNS = 3;
const NODES = 5_000;

export async function runCase(one: Case): Promise<Figure[]> {
  const samples = await repeated(runsOf(RUNS), () => podsPerSecond(one));
  const name = `${one.name}: ${scaled(one.measured)} pods on ${scaled(NODES)} nodes`;
  const note = one.threshold === undefined ? {} : { note: `Kubernetes' own threshold ${one.threshold}` };
  return [atLeast({ name, ...note, unit: 'pods/s', samples }, one.goal)];
}

async function podsPerSecond(one: Case): Promise<number> {
  const cluster = await BenchCluster.open();
  try {
    const names = Array.from({ length: one.namespaces ?? 1 }, (_, number) => `bench-${number}`);
    await cluster.namespaces(names, { team: 'devops' });
    await cluster.nodes(scaled(NODES), makeNode);
    const make = (phase: 'before' | 'measured') => (_: unknown, number: number) =>
      one.make(`${phase}-${number}`, number, phase);
    const [before, measured] = [scaled(one.before), scaled(one.measured)];
    await cluster.create(Array.from({ length: before }, make('before')));
    if (one.beforeStaysPending !== true) await cluster.bound('before-', before);
    const pods = Array.from({ length: measured }, make('measured'));
    const actsBefore = cluster.activity.counts();
    const [start, cpu] = [performance.now(), process.cpuUsage()];
    const done = cluster.bound('measured-', measured);
    await cluster.create(pods);
    const created = performance.now();
    await done;
    const seconds = (performance.now() - start) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    const acts = [...cluster.activity.counts()].map(
      ([what, count]) => `${((count - (actsBefore.get(what) ?? 0)) / measured).toFixed(2)} ${what}`,
    );
    const facts = [
      `created in ${((created - start) / 1000).toFixed(1)} s`,
      `all bound after ${seconds.toFixed(1)} s`,
      `${((user + system) / 1e6).toFixed(1)} s of CPU (${((user + system) / 1e3 / measured).toFixed(2)} ms per pod)`,
      `${Math.round(process.memoryUsage.rss() / 1e6)} MB`,
    ];
    process.stderr.write(`  ${facts.join(', ')}\n  of the scheduler, per pod: ${acts.join(', ')}\n`);
    return measured / seconds;
  } finally {
    await cluster.close();
  }
}

function makeNode(number: number) {
  const name = `node-${number}`;
  return {
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': `zone${(number % 3) + 1}` },
    },
    status: {
      allocatable: { cpu: '4', memory: '32Gi', pods: '110' },
      capacity: { cpu: '4', memory: '32Gi', pods: '110' },
    },
  };
}
