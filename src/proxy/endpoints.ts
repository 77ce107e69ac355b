// Which endpoints of a port take traffic: readiness, ending ones, policies and topology. Pure.
// Guarantees: the rules of kube-proxy 1.36; an endpoint is there once; ordered by address and port.

import type { Endpoint } from '../../proxy-modes/mode.js';
import type { V1Endpoint } from '../api/gen/types.js';

/** Where this node is, as far as topology hints speak of it. */
export interface NodeTopology {
  readonly name: string;
  readonly zone?: string;
}

export interface Found {
  readonly endpoint: V1Endpoint;
  readonly ip: string;
  readonly port: number;
}

export interface Policies {
  readonly internalLocal: boolean;
  readonly externalLocal: boolean;
  /** The port can be reached from outside the cluster. */
  readonly outside: boolean;
}

interface Categorized {
  readonly endpoints: readonly Endpoint[];
  readonly localEndpoints: readonly Endpoint[];
  readonly served: boolean;
}

/** Those that serve without being among the ones that get new traffic. */
export function lingering(
  found: readonly Found[],
  node: NodeTopology,
  { endpoints, localEndpoints }: Categorized,
): Endpoint[] {
  const used = new Set([...endpoints, ...localEndpoints].map(placeOf));
  const serving = found.filter(({ endpoint }) => isServing(endpoint)).map((entry) => placed(entry, node));
  return unique(serving).filter((endpoint) => !used.has(placeOf(endpoint)));
}

export function categorize(found: readonly Found[], node: NodeTopology, policies: Policies): Categorized {
  const ready = found.filter(({ endpoint }) => isReady(endpoint));
  const ending = found.filter(({ endpoint }) => isServing(endpoint) && isTerminating(endpoint));
  // Even with policy Local pods of this node go to any endpoint when they use an address from outside.
  const usesAll = !policies.internalLocal || policies.outside;
  const usesLocal = policies.internalLocal || (policies.externalLocal && policies.outside);
  const isLocal = ({ endpoint }: Found) => endpoint.nodeName === node.name;
  const all = usesAll ? firstOf(nearest(ready, node), ending) : [];
  const local = usesLocal ? firstOf(ready.filter(isLocal), ending.filter(isLocal)) : [];
  const place = (entry: Found) => placed(entry, node);
  return {
    endpoints: unique(all.map(place)),
    localEndpoints: unique(local.map(place)),
    served: ready.length > 0 || ending.length > 0,
  };
}

/** Endpoints on this node that are ready: what health checks count. One with an address of each family is one. */
export function countLocalReady(found: readonly V1Endpoint[], nodeName: string): number {
  const addresses = found
    .filter((endpoint) => endpoint.nodeName === nodeName && isReady(endpoint))
    .flatMap(({ addresses }) => addresses?.slice(0, 1) ?? []);
  const six = new Set(addresses.filter((address) => address.includes(':')));
  return Math.max(six.size, new Set(addresses).size - six.size);
}

const placed = ({ ip, port, endpoint }: Found, node: NodeTopology): Endpoint => ({
  ip,
  port,
  local: endpoint.nodeName === node.name,
  ...(endpoint.nodeName === undefined ? { unplaced: true } : {}),
});

/** The ready ones that hints send this node to; all of them unless every one has hints that some of them meet. */
function nearest(ready: readonly Found[], { name, zone }: NodeTopology): readonly Found[] {
  const choose = (hints: (endpoint: V1Endpoint) => readonly string[], here: string | undefined) => {
    if (here === undefined || ready.some(({ endpoint }) => hints(endpoint).length === 0)) return undefined;
    const near = ready.filter(({ endpoint }) => hints(endpoint).includes(here));
    return near.length > 0 ? near : undefined;
  };
  return choose(nodeHints, name) ?? choose(zoneHints, zone) ?? ready;
}

const nodeHints = ({ hints }: V1Endpoint) => (hints?.forNodes ?? []).map(({ name }) => name);
const zoneHints = ({ hints }: V1Endpoint) => (hints?.forZones ?? []).map(({ name }) => name);

/** Absent means ready and serving, as the API says. */
const isReady = ({ conditions }: V1Endpoint) => conditions?.ready !== false;
const isServing = ({ conditions }: V1Endpoint) => conditions?.serving !== false;
const isTerminating = ({ conditions }: V1Endpoint) => conditions?.terminating === true;

const firstOf = <T>(preferred: readonly T[], others: readonly T[]) =>
  preferred.length > 0 ? preferred : others;

/** While an endpoint moves from one slice to another it may be in both. */
function unique(endpoints: readonly Endpoint[]): Endpoint[] {
  if (endpoints.length < 2) return [...endpoints];
  const byPlace = new Map(endpoints.map((endpoint) => [placeOf(endpoint), endpoint]));
  return [...byPlace.entries()]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, endpoint]) => endpoint);
}

const placeOf = ({ ip, port }: Endpoint) => `${ip} ${port}`;
