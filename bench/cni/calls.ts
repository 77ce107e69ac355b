// ADD and DEL of the bridge plugin with host-local, one by one and 100 at once, against the reference plugins.
// Guarantees: both meet equal, fresh hosts, in turn; the figure is the median of single calls with their process start.
import { inTurns } from '../lib/compare.js';
import { againstPeer, type Figure } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import { BenchNode, type NodeOptions } from './node.js';
import { PLUGINS, REFERENCE } from './plugins.js';
import type { Outcome } from './spawner.js';

/** Pods of a host; the first ADD also makes the bridge, as on any node. */
const PODS = 12;
const HOSTS = 8;
const AT_ONCE = 100;

interface Job {
  readonly name: string;
  /** How many times faster ours is to be. */
  readonly goal: number;
  readonly hosts: number;
  readonly options: Omit<NodeOptions, 'plugins'>;
  readonly run: (node: BenchNode) => Promise<Outcome[]>;
}

async function sample(plugins: string, { options, run }: Job): Promise<number[]> {
  const node = await BenchNode.make({ ...options, plugins });
  try {
    return (await run(node)).map(({ ms }) => ms);
  } finally {
    await node.remove();
  }
}

async function compareCalls(job: Job): Promise<Figure> {
  const [ours, peers] = await inTurns(
    runsOf(job.hosts),
    () => sample(PLUGINS, job),
    () => sample(REFERENCE, job),
  );
  const values = { unit: 'ms', samples: ours.flat(), peer: 'reference plugins', peerSamples: peers.flat() };
  return againstPeer({ name: job.name, ...values }, 1 / job.goal);
}

const adding = (ipMasq: boolean, goal: number): Job => ({
  name: ipMasq ? 'ADD with ipMasq' : 'ADD',
  goal,
  hosts: HOSTS,
  options: { pods: PODS, ipMasq },
  run: (node) => node.add('one'),
});

const deleting = (ipMasq: boolean, goal: number): Job => ({
  name: ipMasq ? 'DEL with ipMasq' : 'DEL',
  goal,
  hosts: HOSTS,
  options: { pods: PODS, ipMasq },
  run: async (node) => {
    await node.add('one');
    return node.del();
  },
});

export async function add(): Promise<Figure[]> {
  return [await compareCalls(adding(true, 6)), await compareCalls(adding(false, 5))];
}

export async function del(): Promise<Figure[]> {
  return [await compareCalls(deleting(true, 3)), await compareCalls(deleting(false, 1.3))];
}

export async function atOnce(): Promise<Figure[]> {
  const options = { pods: AT_ONCE, ipMasq: true };
  const run = (node: BenchNode) => node.add('all');
  return [
    await compareCalls({ name: `${AT_ONCE} ADDs with ipMasq at once`, goal: 4, hosts: 5, options, run }),
  ];
}
