// What the planner of network policies works on: pods, namespaces, and policies in ordered tiers. Pure.
// Guarantees: nothing here is of one API version; a NetworkPolicy and a cluster-wide policy become the same rules.
import type { V1LabelSelector } from '../../api/gen/types.js';
import type { Labels } from '../../api/selectors.js';

export type Direction = 'ingress' | 'egress';
export const DIRECTIONS: readonly Direction[] = ['ingress', 'egress'];

export type PolicyProtocol = 'tcp' | 'udp' | 'sctp';

/** A port that a container gives a name. */
export interface NamedPort {
  readonly name: string;
  readonly protocol: PolicyProtocol;
  readonly port: number;
}

/** A pod with addresses of its own: pods in the host's network are no subjects and no peers. */
export interface PolicyPod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
  /** Canonical, of either family. */
  readonly ips: readonly string[];
  readonly ports: readonly NamedPort[];
  /** Whether it runs on this node, so that its packets are judged here. */
  readonly isLocal: boolean;
}

/** Which pods: those of one namespace, or of the namespaces that a selector takes. */
export type PodSelection =
  | { readonly namespace: string; readonly pods: V1LabelSelector }
  | { readonly namespaces: V1LabelSelector; readonly pods: V1LabelSelector };

/** A network without those inside it that are excepted. */
export interface IpBlock {
  readonly cidr: string;
  readonly except: readonly string[];
}

/** Numbers from `port` to `endPort`, or all of the protocol; or the port of that name, which differs by pod. */
export type PortMatch =
  | { readonly protocol: PolicyProtocol; readonly port?: number; readonly endPort?: number }
  | { readonly protocol: PolicyProtocol; readonly name: string };

export type Action = 'accept' | 'deny' | 'pass';

export interface PolicyRule {
  readonly action: Action;
  /** Everybody when left out; nobody when both lists are empty. */
  readonly peers?: { readonly selections: readonly PodSelection[]; readonly blocks: readonly IpBlock[] };
  /** Every protocol and port when left out. */
  readonly ports?: readonly PortMatch[];
}

/**
 * Tiers are asked in this order. In `admin` and `baseline` the first rule that matches decides, by priority; `namespaced`
 * adds up, and a pod that one of its policies selects is open to nothing else. `pass` goes on to the next tier.
 */
export type Tier = 'admin' | 'namespaced' | 'baseline';

export interface Policy {
  /** Unique: `namespace/name`, or the name of a cluster-wide one. */
  readonly key: string;
  readonly tier: Tier;
  /** Lower is asked first; only in `admin` and `baseline`. */
  readonly priority: number;
  readonly subject: PodSelection;
  /** A direction that is left out is not restricted by this policy. */
  readonly rules: Readonly<Partial<Record<Direction, readonly PolicyRule[]>>>;
}

export const podKey = ({ namespace, name }: Pick<PolicyPod, 'namespace' | 'name'>): string =>
  `${namespace}/${name}`;
