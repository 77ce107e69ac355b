// What one port of a service adds to the table: elements of the maps, and the chains they lead to. Pure.
import type { SetElement } from '../../../src/kernel/nftables/port.js';
import {
  type Endpoint,
  externalEndpoints,
  internalEndpoints,
  isExternal,
  outsideIps,
  type ServicePort,
  type TrafficOptions,
} from '../../mode.js';
import { allowedSources } from '../../sources.js';
import * as names from '../names.js';

/** Whose traffic a step is for: that of this node's pods, all other, that of the node itself. */
export type Origin = 'pods' | 'not-pods' | 'node';

/** One step of a service's chain, still without the kernel's words. */
export type ChainStep =
  /** The source becomes the node's address, so that the answer comes back here. */
  | { readonly step: 'masquerade'; readonly from?: Origin }
  | { readonly step: 'balance'; readonly from?: Origin; readonly endpoints: readonly Endpoint[] }
  /** Sends to the endpoint that the map of all endpoints has for the destination and a drawn number. */
  | { readonly step: 'pick'; readonly among: number }
  /** Clients go to the chain of the endpoint that remembers them, others to any. */
  | { readonly step: 'stick'; readonly from?: Origin; readonly chains: readonly EndpointChain[] }
  | { readonly step: 'remember'; readonly clients: string; readonly timeoutMs: number }
  | { readonly step: 'send'; readonly endpoint: Endpoint }
  /** Lets traffic of a network pass; and ends that of everybody else. */
  | { readonly step: 'allow'; readonly cidr: string }
  | { readonly step: 'drop' };

/** The chain of an endpoint, and the set of its clients. */
interface EndpointChain {
  readonly chain: string;
  readonly clients: string;
}

export interface ServicePlan {
  /** Elements by the name of their set. */
  readonly elements: Readonly<Record<string, readonly SetElement[]>>;
  /** Steps by the name of their chain, those that others lead to first. */
  readonly chains: ReadonlyMap<string, readonly ChainStep[]>;
  /** Sets that remember clients; they outlive changes of the chains. */
  readonly clientSets: readonly string[];
}

type Balance = (endpoints: readonly Endpoint[], from?: Origin) => ChainStep[];

export function planService(port: ServicePort, options: TrafficOptions): ServicePlan {
  const used = new Map<string, Endpoint>();
  const balance = balancer(port, used);
  const internal = internalEndpoints(port);
  const outside = externalSteps(port, options, balance);
  // Most services need no chain of their own: they share that of all services with as many endpoints.
  const isSticky = internal.length > 0 && port.affinitySeconds !== undefined;
  const inside = isSticky ? [...internalMasquerade(options), ...balance(internal)] : [];
  const isGuarded = port.sourceRanges.length > 0 && port.loadBalancerIps.length > 0;
  const chains = new Map<string, readonly ChainStep[]>();
  const { affinitySeconds = 0 } = port;
  for (const endpoint of used.values())
    chains.set(names.endpointChain(port, endpoint), [
      { step: 'remember', clients: names.clientSet(port, endpoint), timeoutMs: affinitySeconds * 1000 },
      { step: 'send', endpoint },
    ]);
  if (inside.length > 0) chains.set(names.serviceChain(port), inside);
  if (outside.length > 0) chains.set(names.externalChain(port), outside);
  if (isGuarded)
    chains.set(names.firewallChain(port), [
      ...allowedSources(port, options).map((cidr): ChainStep => ({ step: 'allow', cidr })),
      { step: 'drop' },
    ]);
  return {
    elements: elements(port, outside.length > 0, isGuarded),
    chains,
    clientSets: [...used.values()].map((endpoint) => names.clientSet(port, endpoint)),
  };
}

/** How endpoints are chosen; those that need a chain of their own are put into `used`. */
function balancer(port: ServicePort, used: Map<string, Endpoint>): Balance {
  return (endpoints, from) => {
    if (endpoints.length === 0) return [];
    const origin = from === undefined ? {} : { from };
    if (port.affinitySeconds === undefined) return [{ step: 'balance', endpoints, ...origin }];
    for (const endpoint of endpoints) used.set(`${endpoint.ip} ${endpoint.port}`, endpoint);
    const chains = endpoints.map((endpoint) => ({
      chain: names.endpointChain(port, endpoint),
      clients: names.clientSet(port, endpoint),
    }));
    return [{ step: 'stick', chains, ...origin }];
  };
}

/** The steps of the chain that services with that many endpoints share. */
export const sharedSteps = (among: number, options: TrafficOptions): ChainStep[] => [
  ...internalMasquerade(options),
  { step: 'pick', among },
];

function internalMasquerade({ masqueradeAll, local }: TrafficOptions): ChainStep[] {
  if (masqueradeAll === true) return [{ step: 'masquerade' }];
  return local === undefined ? [] : [{ step: 'masquerade', from: 'not-pods' }];
}

/** Empty where there is nothing to be reached from outside. */
function externalSteps(port: ServicePort, { local }: TrafficOptions, balance: Balance): ChainStep[] {
  if (!isExternal(port)) return [];
  if (!port.externalLocal)
    return port.endpoints.length === 0 ? [] : [{ step: 'masquerade' }, ...balance(port.endpoints)];
  // Pods and the node itself are treated as if they had gone out to the load balancer and come back by any node.
  const near: ChainStep[] =
    port.endpoints.length === 0
      ? []
      : [
          ...(local === undefined ? [] : balance(port.endpoints, 'pods')),
          { step: 'masquerade', from: 'node' },
          ...balance(port.endpoints, 'node'),
        ];
  // From elsewhere the client's address is kept: the answer goes back through this node anyway.
  return [...near, ...balance(port.localEndpoints)];
}

function elements(port: ServicePort, hasOutside: boolean, isGuarded: boolean) {
  const found: Record<string, SetElement[]> = {};
  const add = (set: string, key: string, verdict: SetElement['verdict']) => {
    if (verdict === undefined) return;
    found[set] ??= [];
    found[set].push({ key, verdict });
  };
  const at = (ip: string) => `${ip} . ${port.protocol} . ${port.port}`;
  const refusal = port.served ? 'drop' : (`goto ${names.REJECT}` as const);
  const internal = internalEndpoints(port);
  if (internal.length === 0) add(names.REJECTED_IPS, at(port.clusterIp), refusal);
  else if (port.affinitySeconds !== undefined)
    add(names.SERVICE_IPS, at(port.clusterIp), `goto ${names.serviceChain(port)}`);
  else {
    add(names.SERVICE_IPS, at(port.clusterIp), `goto ${names.balanceChain(internal.length)}`);
    found[names.ENDPOINTS] = internal.map(({ ip, port: number }, index) => ({
      key: `${at(port.clusterIp)} . 0x${index.toString(16).padStart(8, '0')}`,
      data: `${ip} . ${number}`,
    }));
  }
  if (!isExternal(port)) return found;
  const isRefused = externalEndpoints(port).length === 0;
  const outside = `goto ${names.externalChain(port)}` as const;
  for (const ip of new Set(outsideIps(port))) {
    if (ip === port.clusterIp) continue;
    if (hasOutside) add(names.SERVICE_IPS, at(ip), outside);
    if (isRefused) add(names.REJECTED_IPS, at(ip), refusal);
  }
  if (port.nodePort !== undefined) {
    const key = `${port.protocol} . ${port.nodePort}`;
    if (hasOutside) add(names.NODE_PORTS, key, outside);
    if (isRefused) add(names.REJECTED_NODE_PORTS, key, refusal);
  }
  if (isGuarded)
    for (const ip of port.loadBalancerIps)
      add(names.FIREWALL_IPS, at(ip), `goto ${names.firewallChain(port)}`);
  return found;
}

/** In the place of a set's name: the rest is the number of endpoints that a shared chain is for. */
export const SHARED_CHAIN = 'chain';

/** What several ports may ask for, each as `set key`: counted by whoever asks. */
export function sharedElements(port: ServicePort): string[] {
  // A pod that reaches itself through its service.
  const local = [...port.endpoints, ...port.localEndpoints].filter(
    ({ local, unplaced }) => local || unplaced,
  );
  const { length } = internalEndpoints(port);
  return [
    ...(length > 0 && port.affinitySeconds === undefined ? [`${SHARED_CHAIN} ${length}`] : []),
    `${names.CLUSTER_IPS} ${port.clusterIp}`,
    ...new Set(local.map(({ ip }) => `${names.HAIRPIN} ${ip} . ${ip}`)),
  ];
}
