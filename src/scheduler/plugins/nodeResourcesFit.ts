// What a pod requests must be free on the node; among nodes that have it, how full a node should be is a strategy. Pure.
import type { NodeFilter, Plugin } from '../plugin.js';
import { MAX_SCORE } from '../plugin.js';
import type { PodInfo } from '../podInfo.js';
import { COLUMNS } from '../resources.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { type ResourceWeight, shareOf } from './allocation.js';

interface ShapePoint {
  readonly utilization: number;
  readonly score: number;
}

export interface NodeResourcesFitArgs {
  readonly ignoredResources?: readonly string[];
  readonly ignoredResourceGroups?: readonly string[];
  readonly strategy?: 'LeastAllocated' | 'MostAllocated' | 'RequestedToCapacityRatio';
  readonly resources?: readonly ResourceWeight[];
  readonly shape?: readonly ShapePoint[];
}

const DEFAULT_RESOURCES: readonly ResourceWeight[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];

export const nodeResourcesFit = (args: NodeResourcesFitArgs = {}): Plugin => {
  const isIgnored = ignoring(args);
  const rate = rateOf(args);
  const resources = args.resources ?? DEFAULT_RESOURCES;
  return {
    name: 'NodeResourcesFit',
    wokenBy: ['node added', 'node allocatable', 'pod removed'],
    filter: (pod, snapshot) => fitFilter(pod, snapshot, isIgnored),
    score(pod, { table }) {
      const parts = resources.map(({ name, weight }) => ({
        ...shareOf(table, pod, name, 'presumed'),
        weight,
      }));
      return {
        score(slots, count, out) {
          for (let at = 0; at < count; at += 1) {
            const slot = slots[at] ?? 0;
            let sum = 0;
            let weights = 0;
            for (const { all, taken, weight, counts } of parts) {
              const capacity = all(slot);
              if (!counts || capacity === 0) continue;
              const score = rate(taken(slot), capacity);
              if (score === undefined) continue;
              sum += score * weight;
              weights += weight;
            }
            out[at] =
              weights === 0
                ? 0
                : args.strategy === 'RequestedToCapacityRatio'
                  ? Math.round(sum / weights)
                  : Math.floor(sum / weights);
          }
        },
      };
    },
    helps({ pod: gone, node }, pod, snapshot) {
      const slot = snapshot.table.slotOf(node?.metadata.name ?? gone?.spec.nodeName ?? '');
      return slot === undefined || fitFilter(pod, snapshot, isIgnored).test(slot) === 0;
    },
  };
};

function fitFilter(
  { requests }: PodInfo,
  { table }: Snapshot,
  isIgnored: (name: string) => boolean,
): NodeFilter {
  const wanted = [...requests].filter(([name, amount]) => amount > 0 && !isIgnored(name));
  const columns = wanted.map(([name, amount]) => {
    const at = COLUMNS.indexOf(name as never);
    return { name, amount, all: table.allocatable[at], taken: table.requested[at] };
  });
  const { podCount, maxPods } = table;
  const free = (slot: number, { name, all, taken }: (typeof columns)[number]) =>
    all === undefined || taken === undefined
      ? table.offerOf(slot, name) - table.requestedOf(slot, name)
      : (all[slot] ?? 0) - (taken[slot] ?? 0);
  return {
    // The first bit is the number of pods; then one for each resource, as many as fit into a number.
    test(slot) {
      let code = (podCount[slot] ?? 0) + 1 > (maxPods[slot] ?? 0) ? 1 : 0;
      for (let at = 0; at < columns.length; at += 1) {
        const column = columns[at];
        if (column !== undefined && column.amount > free(slot, column)) code |= 2 << Math.min(at, 28);
      }
      return code;
    },
    reasons: (code) => [
      ...((code & 1) === 1 ? ['Too many pods'] : []),
      ...columns.flatMap(({ name }, at) =>
        (code & (2 << Math.min(at, 28))) === 0 ? [] : [`Insufficient ${name}`],
      ),
    ],
    isFinal(_, slot) {
      for (const { name, amount, all } of columns)
        if (amount > (all === undefined ? table.offerOf(slot, name) : (all[slot] ?? 0))) return true;
      return false;
    },
  };
}

function ignoring({ ignoredResources = [], ignoredResourceGroups = [] }: NodeResourcesFitArgs) {
  const names = new Set(ignoredResources);
  const groups = new Set(ignoredResourceGroups);
  return (name: string) =>
    names.has(name) || (name.includes('/') && groups.has(name.slice(0, name.indexOf('/'))));
}

/** Score of one resource by what would be taken of it; undefined leaves it out of the mean. */
function rateOf({ strategy = 'LeastAllocated', shape = [] }: NodeResourcesFitArgs) {
  switch (strategy) {
    case 'MostAllocated':
      return (taken: number, all: number): number | undefined =>
        Math.floor((Math.min(taken, all) * MAX_SCORE) / all);
    case 'RequestedToCapacityRatio':
      return (taken: number, all: number): number | undefined => {
        const score = along(shape, taken > all ? 100 : Math.floor((taken * 100) / all));
        return score > 0 ? score : undefined;
      };
    default:
      return (taken: number, all: number): number | undefined =>
        taken > all ? 0 : Math.floor(((all - taken) * MAX_SCORE) / all);
  }
}

/** Straight lines between the points; flat before the first and after the last. Points score 0 to 10, nodes 0 to 100. */
function along(shape: readonly ShapePoint[], utilization: number): number {
  let before: ShapePoint | undefined;
  for (const point of shape) {
    if (utilization <= point.utilization) {
      if (before === undefined) return point.score * 10;
      const rise = (point.score - before.score) * 10 * (utilization - before.utilization);
      return before.score * 10 + Math.trunc(rise / (point.utilization - before.utilization));
    }
    before = point;
  }
  return (before?.score ?? 0) * 10;
}
