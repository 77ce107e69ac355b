// Reads ClusterNetworkPolicy objects (policy.networking.k8s.io/v1alpha2) into the planner's terms. Pure.
// Guarantees: what cannot be read, or is not enforced, opens nothing: a rule that accepts matches nobody, any other refuses
// its whole direction; each such part is told in a message.
import type { V1LabelSelector, V1ObjectMeta } from '../../api/gen/types.js';
import { parseCidr } from '../../api/ip.js';
import { getOwn } from '../../api/ownKeys.js';
import type { ResourceType } from '../../api/resources.js';
import { type ClusterNetworkProtocol, clusterPorts } from './clusterPorts.js';
import type { Action, Direction, IpBlock, PodSelection, Policy, PolicyRule, Tier } from './model.js';
import { selectorProblem } from './selectorProblem.js';

interface NamespacedPods {
  /** All namespaces when left out. */
  readonly namespaceSelector?: V1LabelSelector;
  readonly podSelector?: V1LabelSelector;
}

export interface ClusterNetworkPeer {
  readonly namespaces?: V1LabelSelector;
  readonly pods?: NamespacedPods;
  /** Of egress alone, as the two below, which only the experimental definition has. */
  readonly networks?: readonly string[];
  readonly nodes?: V1LabelSelector;
  readonly domainNames?: readonly string[];
}

export interface ClusterNetworkRule {
  readonly name?: string;
  readonly action: string;
  readonly from?: readonly ClusterNetworkPeer[];
  readonly to?: readonly ClusterNetworkPeer[];
  /** Every protocol and port when left out. */
  readonly protocols?: readonly ClusterNetworkProtocol[];
}

export interface ClusterNetworkPolicy {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: V1ObjectMeta;
  readonly spec?: {
    readonly tier: string;
    readonly priority: number;
    readonly subject: ClusterNetworkPeer;
    readonly ingress?: readonly ClusterNetworkRule[];
    readonly egress?: readonly ClusterNetworkRule[];
  };
}

export const CLUSTER_NETWORK_POLICIES: ResourceType<ClusterNetworkPolicy> = Object.freeze({
  group: 'policy.networking.k8s.io',
  version: 'v1alpha2',
  resource: 'clusternetworkpolicies',
  kind: 'ClusterNetworkPolicy',
  namespaced: false,
});

interface ReadPolicy {
  /** Undefined when it cannot be told whom it restricts, or when it is asked. */
  readonly policy: Policy | undefined;
  /** For people: what of it is not enforced as written, and what happens in its place. */
  readonly messages: readonly string[];
}

const TIERS: Readonly<Record<string, Tier>> = { Admin: 'admin', Baseline: 'baseline' };
const ACTIONS: Readonly<Record<string, Action>> = { Accept: 'accept', Deny: 'deny', Pass: 'pass' };
const LAST_PRIORITY = 1000;

export function clusterPolicyOf({ metadata, spec }: ClusterNetworkPolicy): ReadPolicy {
  const key = metadata?.name ?? '';
  const problems: string[] = [];
  const tier = getOwn(TIERS, spec?.tier ?? '');
  const priority = spec?.priority ?? -1;
  if (tier === undefined) problems.push(`tier ${spec?.tier} is not known`);
  if (!Number.isInteger(priority) || priority < 0 || priority > LAST_PRIORITY)
    problems.push(`priority ${spec?.priority} is not from 0 to ${LAST_PRIORITY}`);
  const subject = subjectOf(spec?.subject ?? {}, problems);
  if (tier === undefined || subject === undefined || problems.length > 0)
    return { policy: undefined, messages: problems.map((text) => `${key} restricts nobody: ${text}`) };
  const messages: string[] = [];
  const rules: Partial<Record<Direction, PolicyRule[]>> = {};
  const read = (direction: Direction, some: readonly ClusterNetworkRule[] = []) => {
    // Without rules of a direction it says nothing of it.
    if (some.length > 0)
      rules[direction] = some.map((rule, index) =>
        ruleOf(rule, direction, (text) =>
          messages.push(`${key}, ${direction} rule ${index}${rule.name ? ` (${rule.name})` : ''}: ${text}`),
        ),
      );
  };
  read('ingress', spec?.ingress);
  read('egress', spec?.egress);
  return { policy: { key, tier, priority, subject, rules }, messages };
}

function subjectOf(subject: ClusterNetworkPeer, problems: string[]): PodSelection | undefined {
  const own: string[] = [];
  const { selections } = peersOf(subject, 'ingress', own);
  problems.push(...own.map((text) => `subject: ${text}`));
  return selections[0];
}

function ruleOf(rule: ClusterNetworkRule, direction: Direction, tell: (text: string) => void): PolicyRule {
  const problems: string[] = [];
  const action = getOwn(ACTIONS, rule.action);
  if (action === undefined) problems.push(`action ${rule.action} is not known`);
  const listed = (direction === 'ingress' ? rule.from : rule.to) ?? [];
  if (listed.length === 0) problems.push('it has no peers');
  const peers = listed.map((peer) => peersOf(peer, direction, problems));
  const ports = rule.protocols?.flatMap((protocol) => clusterPorts(protocol, problems));
  if (ports?.length === 0 && problems.length === 0) problems.push('its list of protocols is empty');
  if (action !== undefined && problems.length === 0)
    return {
      action,
      peers: {
        selections: peers.flatMap(({ selections }) => selections),
        blocks: peers.flatMap(({ blocks }) => blocks),
      },
      ...(ports === undefined ? {} : { ports }),
    };
  const isClosed = action !== 'accept';
  for (const problem of problems)
    tell(`${problem}, so the rule ${isClosed ? `refuses all ${direction}` : 'accepts nothing'}`);
  return isClosed ? { action: 'deny' } : { action, peers: { selections: [], blocks: [] } };
}

interface Peers {
  readonly selections: readonly PodSelection[];
  readonly blocks: readonly IpBlock[];
}

const NOBODY: Peers = { selections: [], blocks: [] };

/** An object of a newer definition loses the fields that the installed one lacks: none left means one that is not known. */
function peersOf(peer: ClusterNetworkPeer, direction: Direction, problems: string[]): Peers {
  const fields = Object.keys(peer);
  const [field] = fields;
  const refused = (text: string) => {
    problems.push(text);
    return NOBODY;
  };
  if (field === undefined || fields.length > 1)
    return refused(`a peer must have one field that is known, not ${fields.join(' and ') || 'none'}`);
  const { namespaces, pods, networks } = peer;
  if (namespaces !== undefined || pods?.podSelector !== undefined) {
    const selection = {
      namespaces: namespaces ?? pods?.namespaceSelector ?? {},
      pods: pods?.podSelector ?? {},
    };
    const unreadable = selectorProblem(selection.namespaces) ?? selectorProblem(selection.pods);
    return unreadable === undefined ? { selections: [selection], blocks: [] } : refused(unreadable);
  }
  if (networks === undefined || direction === 'ingress') return refused(`${field} is not enforced here`);
  for (const cidr of networks)
    if (parseCidr(cidr) === undefined) problems.push(`${JSON.stringify(cidr)} is no network`);
  return { selections: [], blocks: networks.map((cidr) => ({ cidr, except: [] })) };
}
