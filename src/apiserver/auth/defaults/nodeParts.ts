// The parts of a node beside its kubelet: the service account of each and what it may read. Pure.
// Guarantees: none reads Secrets, ConfigMaps or tokens; none writes anything but events.
import type { V1PolicyRule } from '../../../api/gen/types.js';
import { EVENTS, rule } from '../policyRule.js';

export type NodePart = 'proxy' | 'overlay' | 'nameServer' | 'networkPolicy';

interface NodePartRights {
  /** In kube-system. Its tokens are bound to the Node whose kubelet asks for them. */
  readonly account: string;
  readonly binding: string;
  readonly role: string;
  /** Of that role; without any it is one of Kubernetes' own. */
  readonly rules?: readonly V1PolicyRule[];
}

export const NODE_PARTS_NAMESPACE = 'kube-system';

export const NODE_PARTS: Readonly<Record<NodePart, NodePartRights>> = {
  proxy: { account: 'node-proxy', binding: 'trellis:node-proxier', role: 'system:node-proxier' },
  overlay: {
    account: 'node-overlay',
    binding: 'trellis:overlay',
    role: 'trellis:overlay',
    rules: [rule('', 'nodes', 'list watch'), EVENTS],
  },
  nameServer: {
    account: 'node-name-server',
    binding: 'trellis:name-server',
    role: 'trellis:name-server',
    rules: [
      rule('', 'namespaces nodes services', 'list watch'),
      rule('discovery.k8s.io', 'endpointslices', 'list watch'),
    ],
  },
  networkPolicy: {
    account: 'node-network-policy',
    binding: 'trellis:network-policy',
    role: 'trellis:network-policy',
    rules: [
      rule('', 'namespaces pods', 'list watch'),
      rule('networking.k8s.io', 'networkpolicies', 'list watch'),
      rule('apiextensions.k8s.io', 'customresourcedefinitions', 'list watch'),
      rule('policy.networking.k8s.io', 'clusternetworkpolicies', 'list watch'),
    ],
  },
};

export function ofEachPart<T>(make: (part: NodePart) => T): Readonly<Record<NodePart, T>> {
  const made = (Object.keys(NODE_PARTS) as NodePart[]).map((part) => [part, make(part)]);
  return Object.fromEntries(made) as Record<NodePart, T>;
}

export const NODE_PART_ACCOUNTS: readonly string[] = Object.values(NODE_PARTS).map(({ account }) => account);
