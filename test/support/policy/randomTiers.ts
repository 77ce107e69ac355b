// Random cluster-wide policies over the labels, networks and ports of a random world.
// Guarantees: the same seed gives the same policies; few priorities, so that equal ones meet.
import type {
  ClusterNetworkPeer,
  ClusterNetworkPolicy,
  ClusterNetworkRule,
} from '../../../src/network/policy/clusterNetworkPolicy.js';
import type { ClusterNetworkProtocol } from '../../../src/network/policy/clusterPorts.js';
import { PORTS, type RandomWorld } from './randomWorld.js';

export function randomClusterPolicy(make: RandomWorld, name: string): ClusterNetworkPolicy {
  const rule = (): Omit<ClusterNetworkRule, 'from' | 'to'> => {
    const protocols = make.some(2, () => protocol(make));
    return {
      name: make.pick(['first', 'second']),
      action: make.pick(['Accept', 'Deny', 'Pass']),
      ...(protocols.length === 0 ? {} : { protocols }),
    };
  };
  const list = <T>(one: () => T): T[] => [one(), ...make.some(1, one)];
  return {
    apiVersion: 'policy.networking.k8s.io/v1alpha2',
    kind: 'ClusterNetworkPolicy',
    metadata: { name },
    spec: {
      tier: make.pick(['Admin', 'Baseline']),
      priority: make.pick([0, 1, 1000]),
      subject: selected(make),
      ingress: make.some(2, () => ({ ...rule(), from: list(() => selected(make)) })),
      egress: make.some(2, () => ({ ...rule(), to: list(() => destination(make)) })),
    },
  };
}

function selected(make: RandomWorld): ClusterNetworkPeer {
  return make.pick<() => ClusterNetworkPeer>([
    () => ({ namespaces: make.selector(['team']) }),
    () => ({ pods: { podSelector: make.selector(['app', 'tier']) } }),
    () => ({
      pods: { namespaceSelector: make.selector(['team']), podSelector: make.selector(['app', 'tier']) },
    }),
  ])();
}

function destination(make: RandomWorld): ClusterNetworkPeer {
  if (make.chance(0.05)) return make.pick([{ nodes: {} }, { domainNames: ['*.example.com'] }]);
  if (make.chance(0.6)) return selected(make);
  const networks = new Set([make.network(), ...make.some(2, () => make.network())]);
  return { networks: [...networks] };
}

function protocol(make: RandomWorld): ClusterNetworkProtocol {
  if (make.chance(0.3)) return { destinationNamedPort: make.pick(['http', 'dns']) };
  const destinationPort = make.chance(0.5)
    ? { number: make.pick(PORTS) }
    : { range: { start: 80, end: make.pick([81, 443, 5000]) } };
  return { [make.pick(['tcp', 'udp', 'sctp'])]: { destinationPort } };
}
