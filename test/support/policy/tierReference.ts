// Who may talk to whom when cluster-wide policies come before and after NetworkPolicies, said slowly and plainly from the
// objects. It shares no code with what it is compared with, but for the reading of addresses.
import type {
  ClusterNetworkPeer,
  ClusterNetworkRule,
} from '../../../src/network/policy/clusterNetworkPolicy.js';
import type { ClusterNetworkProtocol } from '../../../src/network/policy/clusterPorts.js';
import {
  type Attempt,
  inNetwork,
  labelsMatch,
  namespacedSays,
  type World,
  type WorldPod,
} from './reference.js';

type Side = 'Ingress' | 'Egress';

/** On the node that has these pod addresses: what is elsewhere is judged there, and counts here as a peer alone. */
export function isAllowedHere(world: World, attempt: Attempt, here: ReadonlySet<string>): boolean {
  const { source, destination } = attempt;
  if (source === destination) return true;
  const [from, to] = [source, destination].map((ip) => world.pods.find(({ ips }) => ips.includes(ip)));
  if (here.has(source) && from !== undefined && !sideAllows(world, attempt, 'Egress', from, to)) return false;
  return !here.has(destination) || to === undefined || sideAllows(world, attempt, 'Ingress', to, from);
}

function sideAllows(
  world: World,
  attempt: Attempt,
  side: Side,
  own: WorldPod,
  other: WorldPod | undefined,
): boolean {
  const admin = tierSays(world, 'Admin', attempt, side, own, other);
  if (admin === 'Accept') return true;
  if (admin === 'Deny') return false;
  const namespaced = namespacedSays(world, attempt, side, own, other);
  if (namespaced !== undefined) return namespaced;
  return tierSays(world, 'Baseline', attempt, side, own, other) !== 'Deny';
}

/** The action of the first rule that matches, of the policy of the lowest priority and then of the first name. */
function tierSays(
  world: World,
  tier: string,
  attempt: Attempt,
  side: Side,
  own: WorldPod,
  other: WorldPod | undefined,
): string | undefined {
  const policies = world.clusterPolicies
    .filter(({ spec }) => spec?.tier === tier && isSelected(world, spec.subject, own))
    .sort((a, b) => {
      const byPriority = (a.spec?.priority ?? 0) - (b.spec?.priority ?? 0);
      return byPriority !== 0 ? byPriority : (a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1;
    });
  for (const { spec } of policies)
    for (const rule of (side === 'Ingress' ? spec?.ingress : spec?.egress) ?? []) {
      const action = ruleSays(world, rule, attempt, side, own, other);
      if (action !== undefined) return action;
    }
  return undefined;
}

function ruleSays(
  world: World,
  { action, from, to, protocols }: ClusterNetworkRule,
  attempt: Attempt,
  side: Side,
  own: WorldPod,
  other: WorldPod | undefined,
): string | undefined {
  const peers = (side === 'Ingress' ? from : to) ?? [];
  // What is not enforced closes the rule.
  if (peers.some(({ nodes, domainNames }) => nodes !== undefined || domainNames !== undefined))
    return action === 'Accept' ? undefined : 'Deny';
  const bySelector = other !== undefined && peers.some((peer) => isSelected(world, peer, other));
  const far = side === 'Ingress' ? attempt.source : attempt.destination;
  const byNetwork = peers.some(({ networks = [] }) => networks.some((network) => inNetwork(network, far)));
  if (!bySelector && !byNetwork) return undefined;
  if (protocols === undefined) return action;
  // The name of a port means something only of a pod that the rule selects.
  const target = side === 'Ingress' ? own : bySelector ? other : undefined;
  return protocols.some((protocol) => isProtocol(protocol, attempt, target)) ? action : undefined;
}

function isSelected(world: World, { namespaces, pods }: ClusterNetworkPeer, pod: WorldPod): boolean {
  const labels = world.namespaces[pod.namespace] ?? {};
  if (namespaces !== undefined) return labelsMatch(namespaces, labels);
  if (pods === undefined) return false;
  return labelsMatch(pods.namespaceSelector ?? {}, labels) && labelsMatch(pods.podSelector ?? {}, pod.labels);
}

function isProtocol(
  { tcp, udp, sctp, destinationNamedPort }: ClusterNetworkProtocol,
  { protocol, port }: Attempt,
  target: WorldPod | undefined,
): boolean {
  if (destinationNamedPort !== undefined)
    return (target?.ports ?? []).some(
      (own) => own.name === destinationNamedPort && own.protocol === protocol && own.port === port,
    );
  const wanted = { TCP: tcp, UDP: udp, SCTP: sctp }[protocol]?.destinationPort;
  if (wanted?.number !== undefined) return wanted.number === port;
  return wanted?.range !== undefined && wanted.range.start <= port && port <= wanted.range.end;
}
