// Runs one case of the scheduler's benchmark and makes a figure of it.
// Guarantees: the time is from the first creation of a measured pod to the last of them seen bound, creation included.
import type { Figure } from '../lib/figure.js';
import type { Case } from './cases.js';
import { BenchCluster } from './cluster.js';

/** A share of the nodes and pods, for a quick look. */
const SCALE = Number(process.env['TRELLIS_BENCH_SCALE'] ?? '1');
const NODES = 5_000;
const scaled = (count: number) => Math.max(1, Math.round(count * SCALE));

export async function runCase(one: Case): Promise<Figure[]> {
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
      `${((user + system) / 1e6).toFixed(1)} s of CPU (${((user + system) / 1e3 / measured).toFixed(2)} ms a pod)`,
      `${Math.round(process.memoryUsage.rss() / 1e6)} MB`,
    ];
    process.stderr.write(`  ${facts.join(', ')}\n  of the scheduler, a pod: ${acts.join(', ')}\n`);
    return [atLeast(`${one.name}: ${measured} pods on ${scaled(NODES)} nodes`, measured / seconds, one)];
  } finally {
    await cluster.close();
  }
}

export function makeNode(number: number) {
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

function atLeast(name: string, value: number, { threshold, goal }: Case): Figure {
  return {
    name,
    value,
    unit: 'pods/s',
    peer: "Kubernetes' threshold",
    peerValue: threshold,
    ratio: value / threshold,
    goal: `at least ${goal} pods/s`,
    met: value >= goal,
  };
}
