// Amounts of resources as numbers: CPU in thousandths, everything else in units. Pure.
// Guarantees: an amount that cannot be read never lets a pod fit: it counts as all of a request and none of an offer.
import type { V1Container, V1PodSpec } from '../api/gen/types.js';
import { integerValue, milliValue, QuantityError } from '../api/quantity.js';

/** Resource name to amount. Absent is zero. */
export type Amounts = ReadonlyMap<string, number>;

/** The resources that have a column a node; any other is found by name, so that invented names cost no memory a node. */
export const COLUMNS = ['cpu', 'memory', 'ephemeral-storage'] as const;

type Quantities = Readonly<Record<string, string>> | undefined;

export function offered(quantities: Quantities): Amounts {
  return read(quantities, 0);
}

function requested(quantities: Quantities): Amounts {
  return read(quantities, Number.POSITIVE_INFINITY);
}

/**
 * What a pod needs at its highest moment. Init containers run one after the other, each beside the sidecars started
 * before it; then all containers run beside all sidecars.
 */
export function requestsOf(spec: V1PodSpec): Amounts {
  let sidecars: Amounts = new Map();
  let starting: Amounts = new Map();
  for (const container of spec.initContainers ?? []) {
    const own = requestsOfContainer(container);
    if (container.restartPolicy === 'Always') {
      sidecars = sum(sidecars, own);
      starting = most(starting, sidecars);
    } else starting = most(starting, sum(sidecars, own));
  }
  const running = spec.containers.map(requestsOfContainer).reduce(sum, sidecars);
  const ofContainers = most(running, starting);
  // Requests of the pod as a whole stand in place of the sum over its containers.
  const ofPod = requested(spec.resources?.requests);
  return sum(new Map([...ofContainers, ...ofPod]), requested(spec.overhead));
}

/** The same for containers that ask for nothing: spreading treats them as if they asked for a little. */
export function presumedRequestsOf(spec: V1PodSpec, requests: Amounts): { cpu: number; memory: number } {
  const asks = (name: string) => (requests.get(name) ?? 0) > 0;
  const count = spec.containers.length;
  return {
    cpu: asks('cpu') ? (requests.get('cpu') ?? 0) : count * PRESUMED_MILLI_CPU,
    memory: asks('memory') ? (requests.get('memory') ?? 0) : count * PRESUMED_MEMORY,
  };
}

const PRESUMED_MILLI_CPU = 100;
const PRESUMED_MEMORY = 200 * 1024 * 1024;

function requestsOfContainer({ resources }: V1Container): Amounts {
  return requested(resources?.requests);
}

function sum(left: Amounts, right: Amounts): Amounts {
  return merged(left, right, (a, b) => a + b);
}

function most(left: Amounts, right: Amounts): Amounts {
  return merged(left, right, Math.max);
}

function merged(left: Amounts, right: Amounts, by: (a: number, b: number) => number): Amounts {
  if (right.size === 0) return left;
  const result = new Map(left);
  for (const [name, amount] of right) result.set(name, by(left.get(name) ?? 0, amount));
  return result;
}

function read(quantities: Quantities, unreadable: number): Amounts {
  const amounts = new Map<string, number>();
  for (const [name, quantity] of Object.entries(quantities ?? {})) {
    try {
      amounts.set(name, name === 'cpu' ? milliValue(quantity) : integerValue(quantity));
    } catch (error) {
      if (!(error instanceof QuantityError)) throw error;
      amounts.set(name, unreadable);
    }
  }
  return amounts;
}
