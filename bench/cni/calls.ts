// ADD and DEL of the bridge plugin with host-local, one by one and 100 at once, against the reference plugins.
// Guarantees: both meet equal, fresh hosts, in turn; the figure is the time of one call with its process start.
import { type Contestant, compare } from '../lib/compare.js';
import type { Figure } from '../lib/figure.js';
import { BenchNode, type NodeOptions } from './node.js';
import { PLUGINS, REFERENCE } from './plugins.js';

/** Calls in a sample; the first also makes the bridge, as on any node. */
const CALLS = 20;
const SAMPLES = 9;
const AT_ONCE = 100;

type Job = (plugins: string, name: string) => Contestant<BenchNode>;

const against = (name: string, job: Job, goal: number, { calls = CALLS, samples = SAMPLES } = {}) =>
  compare({
    name,
    samples,
    ours: job(PLUGINS, 'ours'),
    peer: job(REFERENCE, 'reference plugins'),
    atMost: 1 / goal,
    calls,
  });

const adding =
  (options: Omit<NodeOptions, 'plugins'>, how: 'one by one' | 'at once'): Job =>
  (plugins, name) => ({
    name,
    prepare: () => BenchNode.make({ ...options, plugins }),
    run: (node) => node.add(how),
    clean: (node) => node.remove(),
  });

const deleting =
  (options: Omit<NodeOptions, 'plugins'>): Job =>
  (plugins, name) => ({
    name,
    async prepare() {
      const node = await BenchNode.make({ ...options, plugins });
      await node.add('one by one');
      node.prepareDel();
      return node;
    },
    run: (node) => node.del(),
    clean: (node) => node.remove(),
  });

export async function add(): Promise<Figure[]> {
  return [
    await against('ADD with ipMasq', adding({ pods: CALLS, ipMasq: true }, 'one by one'), 6),
    await against('ADD', adding({ pods: CALLS, ipMasq: false }, 'one by one'), 5),
  ];
}

export async function del(): Promise<Figure[]> {
  return [
    await against('DEL with ipMasq', deleting({ pods: CALLS, ipMasq: true }), 3),
    await against('DEL', deleting({ pods: CALLS, ipMasq: false }), 1.3),
  ];
}

export async function atOnce(): Promise<Figure[]> {
  const job = adding({ pods: AT_ONCE, ipMasq: true }, 'at once');
  return [await against(`${AT_ONCE} ADDs with ipMasq at once`, job, 4, { calls: 1, samples: 3 })];
}
