// Tells kubelets how long they may keep Secrets and ConfigMaps before asking again: the longer, the larger the cluster.
// Guarantees: between two sizes the value changes only when the cluster has clearly outgrown or undercut one.
import { NODES } from '../../api/resources.js';
import { ignoring } from '../claim.js';
import { type Controller, newQueue, runLoop } from '../controller.js';

const NAME = 'ttl-controller';
const ANNOTATION = 'node.alpha.kubernetes.io/ttl';

/** Above `most` nodes the next step holds, below `fewest` the one before. */
const STEPS = [
  { fewest: 0, most: 100, seconds: 0 },
  { fewest: 90, most: 500, seconds: 15 },
  { fewest: 450, most: 1000, seconds: 30 },
  { fewest: 900, most: 2000, seconds: 60 },
  { fewest: 1800, most: Infinity, seconds: 300 },
] as const;

export function nextStep(step: number, nodes: number): number {
  let next = step;
  while (nodes > (STEPS[next]?.most ?? Infinity)) next++;
  while (nodes < (STEPS[next]?.fewest ?? 0)) next--;
  return next;
}

export const nodeTtlController: Controller = {
  name: NAME,
  run(context) {
    const { informers, client } = context;
    const nodes = informers.of(NODES);
    const queue = newQueue(context);
    let step = 0;
    let count = 0;
    const recount = (by: 1 | -1) => {
      count += by;
      const next = nextStep(step, count);
      if (next === step) return;
      step = next;
      for (const { metadata } of nodes.list()) queue.add(metadata.name);
    };
    nodes.on({
      added: ({ metadata }) => {
        recount(1);
        queue.add(metadata.name);
      },
      updated: ({ metadata }, previous) => {
        if (metadata.annotations?.[ANNOTATION] !== previous.metadata.annotations?.[ANNOTATION])
          queue.add(metadata.name);
      },
      deleted: () => recount(-1),
    });
    const reconcile = async (name: string): Promise<undefined> => {
      const node = nodes.get(name);
      const wanted = String(STEPS[step]?.seconds ?? 0);
      if (node === undefined || node.metadata.annotations?.[ANNOTATION] === wanted) return undefined;
      const patch = { metadata: { uid: node.metadata.uid, annotations: { [ANNOTATION]: wanted } } };
      await ignoring(['NotFound'], client.of(NODES).patch({ name }, 'merge', patch));
      return undefined;
    };
    return runLoop(context, NAME, { queue, workers: 2, reconcile });
  },
};
