// Who may talk to whom by NetworkPolicies, said slowly and plainly from the objects of the API: no index, no sets, no compilation. It shares no
// code with what it is compared with, but for the reading of addresses.
import type {
  V1LabelSelector,
  V1NetworkPolicy,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
} from '../../../src/api/gen/types.js';
import { contains, parseCidr } from '../../../src/api/ip.js';
import type { ClusterNetworkPolicy } from '../../../src/network/policy/clusterNetworkPolicy.js';

export interface WorldPod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ips: readonly string[];
  readonly ports: readonly { name: string; protocol: 'TCP' | 'UDP' | 'SCTP'; port: number }[];
}

export interface World {
  readonly pods: readonly WorldPod[];
  readonly namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly policies: readonly V1NetworkPolicy[];
  readonly clusterPolicies: readonly ClusterNetworkPolicy[];
}

export interface Attempt {
  readonly source: string;
  readonly destination: string;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly port: number;
}

export function labelsMatch(selector: V1LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  for (const [key, value] of Object.entries(selector.matchLabels ?? {}))
    if (labels[key] !== value) return false;
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const value = labels[key];
    if (operator === 'In' && (value === undefined || !values.includes(value))) return false;
    if (operator === 'NotIn' && value !== undefined && values.includes(value)) return false;
    if (operator === 'Exists' && value === undefined) return false;
    if (operator === 'DoesNotExist' && value !== undefined) return false;
  }
  return true;
}

export const inNetwork = (network: string, ip: string) => {
  const cidr = parseCidr(network);
  return cidr !== undefined && contains(cidr, ip);
};

/** What the NetworkPolicies say of one side; undefined where none of them restricts it. */
export function namespacedSays(
  world: World,
  attempt: Attempt,
  type: 'Ingress' | 'Egress',
  own: WorldPod,
  other: WorldPod | undefined,
): boolean | undefined {
  const policies = world.policies.filter(
    ({ metadata, spec }) =>
      metadata?.namespace === own.namespace &&
      labelsMatch(spec?.podSelector ?? {}, own.labels) &&
      (spec?.policyTypes ?? ['Ingress', ...(spec?.egress?.length ? ['Egress'] : [])]).includes(type),
  );
  if (policies.length === 0) return undefined;
  const otherIp = type === 'Ingress' ? attempt.source : attempt.destination;
  const target = type === 'Ingress' ? own : other;
  return policies.some(({ metadata, spec }) => {
    const rules =
      type === 'Ingress'
        ? (spec?.ingress ?? []).map((rule) => ({ peers: rule.from, ports: rule.ports }))
        : (spec?.egress ?? []).map((rule) => ({ peers: rule.to, ports: rule.ports }));
    return rules.some(({ peers = [], ports = [] }) => {
      const peerFits = (peer: V1NetworkPolicyPeer) =>
        isPeer(world, peer, metadata?.namespace ?? '', otherIp, other);
      if (peers.length > 0 && !peers.some(peerFits)) return false;
      // The name of a port means something only of a pod that the rule selects.
      const bySelector =
        peers.length === 0 || peers.some((peer) => peer.ipBlock === undefined && peerFits(peer));
      const named = type === 'Ingress' || bySelector ? target : undefined;
      return ports.length === 0 || ports.some((port) => isPort(port, attempt, named));
    });
  });
}

function isPeer(
  world: World,
  { ipBlock, namespaceSelector, podSelector }: V1NetworkPolicyPeer,
  namespace: string,
  ip: string,
  pod: WorldPod | undefined,
): boolean {
  if (ipBlock !== undefined)
    return inNetwork(ipBlock.cidr, ip) && !(ipBlock.except ?? []).some((network) => inNetwork(network, ip));
  if (pod === undefined) return false;
  const fits =
    namespaceSelector === undefined
      ? pod.namespace === namespace
      : labelsMatch(namespaceSelector, world.namespaces[pod.namespace] ?? {});
  return fits && labelsMatch(podSelector ?? {}, pod.labels);
}

function isPort(
  { protocol = 'TCP', port, endPort }: V1NetworkPolicyPort,
  attempt: Attempt,
  pod: WorldPod | undefined,
): boolean {
  if (protocol !== attempt.protocol) return false;
  if (port === undefined) return true;
  if (typeof port === 'string')
    return (pod?.ports ?? []).some(
      (own) => own.name === port && own.protocol === protocol && own.port === attempt.port,
    );
  return attempt.port >= port && attempt.port <= (endPort ?? port);
}
