// What one port of a service adds to the table: elements of the maps, and the chains they lead to. Pure.
import type { SetElement } from '../../../src/kernel/nftables/port.js';
import type { Endpoint, ServicePort } from '../../../src/proxy/state.js';
import * as names from '../names.js';

/** One step of a service's chain, still without the kernel's words. */
export type ChainStep =
  /** Traffic from outside the pod range gets the node's address, so that the answer comes back here. */
  | { readonly step: 'masquerade'; readonly unlessFrom?: string }
  | { readonly step: 'balance'; readonly endpoints: readonly Endpoint[] };

export interface ServicePlan {
  /** Elements by the name of their set. */
  readonly elements: Readonly<Record<string, readonly SetElement[]>>;
  /** Steps by the name of their chain, those that others lead to first. */
  readonly chains: ReadonlyMap<string, readonly ChainStep[]>;
}

export interface PlanOptions {
  /** The pods' range: what comes from it needs no masquerading on the way to a cluster IP. */
  readonly clusterCidr?: string;
}

export function planService(port: ServicePort, options: PlanOptions): ServicePlan {
  const internal = port.internalLocal ? port.endpoints.filter(({ local }) => local) : port.endpoints;
  const external = port.externalLocal ? port.endpoints.filter(({ local }) => local) : port.endpoints;
  const clusterKey = `${port.clusterIp} . ${port.protocol} . ${port.port}`;
  const nodeKey = port.nodePort === undefined ? undefined : `${port.protocol} . ${port.nodePort}`;
  const service = names.serviceChain(port);
  const outside = names.externalChain(port);
  const fromOutside: ChainStep = {
    step: 'masquerade',
    ...(options.clusterCidr === undefined ? {} : { unlessFrom: options.clusterCidr }),
  };
  const chains = new Map<string, readonly ChainStep[]>();
  if (internal.length > 0) chains.set(service, [fromOutside, { step: 'balance', endpoints: internal }]);
  if (nodeKey !== undefined && external.length > 0) {
    chains.set(outside, [
      // With policy Local the client's address is kept: the answer goes back through this node anyway.
      ...(port.externalLocal ? [] : [{ step: 'masquerade' } as const]),
      { step: 'balance', endpoints: external },
    ]);
  }
  return {
    elements: {
      [internal.length > 0 ? names.SERVICE_IPS : names.REJECTED_IPS]: [
        { key: clusterKey, verdict: `goto ${internal.length > 0 ? service : names.REJECT}` },
      ],
      ...(nodeKey === undefined
        ? {}
        : {
            [external.length > 0 ? names.NODE_PORTS : names.REJECTED_NODE_PORTS]: [
              { key: nodeKey, verdict: `goto ${external.length > 0 ? outside : names.REJECT}` },
            ],
          }),
    },
    chains,
  };
}

/** Pairs under which a local endpoint may meet itself. One endpoint may serve several ports: they are counted by whoever asks. */
export function hairpins(port: ServicePort): string[] {
  return [...new Set(port.endpoints.filter(({ local }) => local).map(({ ip }) => `${ip} . ${ip}`))];
}
