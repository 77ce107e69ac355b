// Who may talk to whom, said slowly and plainly from the objects of the API: no index, no sets, no compilation. It shares no
// code with what it is compared with, but for the reading of addresses.
import type {
  V1LabelSelector,
  V1NetworkPolicy,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
} from '../../../src/api/gen/types.js';
import { contains, parseCidr } from '../../../src/api/ip.js';

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
}

interface Attempt {
  readonly source: string;
  readonly destination: string;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly port: number;
}

function labelsMatch(selector: V1LabelSelector, labels: Readonly<Record<string, string>>): boolean {
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

const inNetwork = (network: string, ip: string) => {
  const cidr = parseCidr(network);
  return cidr !== undefined && contains(cidr, ip);
};

function isAllowed(world: World, attempt: Attempt): boolean {
  const { source, destination } = attempt;
  if (source === destination) return true;
  const [from, to] = [source, destination].map((ip) => world.pods.find(({ ips }) => ips.includes(ip)));
  return sideAllows(world, attempt, 'Egress', from, to) && sideAllows(world, attempt, 'Ingress', to, from);
}

function sideAllows(
  world: World,
  attempt: Attempt,
  type: 'Ingress' | 'Egress',
  own: WorldPod | undefined,
  other: WorldPod | undefined,
): boolean {
  if (own === undefined) return true;
  const policies = world.policies.filter(
    ({ metadata, spec }) =>
      metadata?.namespace === own.namespace &&
      labelsMatch(spec?.podSelector ?? {}, own.labels) &&
      (spec?.policyTypes ?? ['Ingress', ...(spec?.egress?.length ? ['Egress'] : [])]).includes(type),
  );
  if (policies.length === 0) return true;
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

/** On the node that has these pod addresses: what is elsewhere is judged there, and counts here as a peer alone. */
export function isAllowedHere(world: World, attempt: Attempt, here: ReadonlySet<string>): boolean {
  const sides = [
    here.has(attempt.source) ? 'Egress' : undefined,
    here.has(attempt.destination) ? 'Ingress' : undefined,
  ];
  const policies = world.policies.map((policy) => {
    const types = policy.spec?.policyTypes ?? ['Ingress', ...(policy.spec?.egress?.length ? ['Egress'] : [])];
    const policyTypes = types.filter((type) => sides.includes(type));
    return { ...policy, spec: { podSelector: {}, ...policy.spec, policyTypes } };
  });
  return isAllowed({ ...world, policies }, attempt);
}
