// Reads the objects of the API into the planner's terms. Pure.
// Guarantees: a part that cannot be read allows nothing; defaults that an older server left out are filled in.
import type {
  V1NetworkPolicy,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
  V1Pod,
} from '../../api/gen/types.js';
import { canonicalIp } from '../../api/ip.js';
import type { Stored } from '../../api/object.js';
import type {
  Direction,
  IpBlock,
  NamedPort,
  PodSelection,
  Policy,
  PolicyPod,
  PolicyProtocol,
  PolicyRule,
  PortMatch,
} from './model.js';

const PROTOCOLS: Readonly<Record<string, PolicyProtocol>> = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' };

/** Undefined for a pod that has no addresses of its own, or that has ended and given them back. */
export function policyPodOf(pod: Stored<V1Pod>, nodeName: string): PolicyPod | undefined {
  const { spec, status, metadata } = pod;
  if (spec?.hostNetwork === true || status?.phase === 'Succeeded' || status?.phase === 'Failed')
    return undefined;
  const listed = (status?.podIPs ?? []).map(({ ip }) => ip);
  const ips = (listed.length > 0 ? listed : [status?.podIP]).flatMap((ip) => canonicalIp(ip ?? '') ?? []);
  if (ips.length === 0) return undefined;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    labels: metadata.labels ?? {},
    ips,
    ports: namedPorts(pod),
    isLocal: spec?.nodeName === nodeName,
  };
}

function namedPorts({ spec }: Stored<V1Pod>): NamedPort[] {
  const restartable = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...restartable, ...(spec?.containers ?? [])].flatMap(({ ports = [] }) =>
    ports.flatMap(({ name, protocol = 'TCP', containerPort }) => {
      const known = PROTOCOLS[protocol];
      return name === undefined || known === undefined
        ? []
        : [{ name, protocol: known, port: containerPort }];
    }),
  );
}

export function policyOf({ metadata, spec }: Stored<V1NetworkPolicy>): Policy {
  const namespace = metadata.namespace ?? '';
  const types = spec?.policyTypes ?? ['Ingress', ...((spec?.egress ?? []).length > 0 ? ['Egress'] : [])];
  const rules: Partial<Record<Direction, PolicyRule[]>> = {};
  if (types.includes('Ingress'))
    rules.ingress = (spec?.ingress ?? []).map(({ from, ports }) => ruleOf(namespace, from, ports));
  if (types.includes('Egress'))
    rules.egress = (spec?.egress ?? []).map(({ to, ports }) => ruleOf(namespace, to, ports));
  return {
    key: `${namespace}/${metadata.name}`,
    tier: 'namespaced',
    priority: 0,
    subject: { namespace, pods: spec?.podSelector ?? {} },
    rules,
  };
}

function ruleOf(
  namespace: string,
  peers: readonly V1NetworkPolicyPeer[] = [],
  ports: readonly V1NetworkPolicyPort[] = [],
): PolicyRule {
  return {
    action: 'accept',
    ...(peers.length === 0
      ? {}
      : {
          peers: {
            selections: peers.flatMap((peer) => selectionOf(namespace, peer)),
            blocks: peers.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [blockOf(ipBlock)])),
          },
        }),
    ...(ports.length === 0 ? {} : { ports: ports.flatMap(portOf) }),
  };
}

function selectionOf(
  namespace: string,
  { ipBlock, namespaceSelector, podSelector }: V1NetworkPolicyPeer,
): PodSelection[] {
  if (ipBlock !== undefined) return [];
  if (namespaceSelector !== undefined) return [{ namespaces: namespaceSelector, pods: podSelector ?? {} }];
  return podSelector === undefined ? [] : [{ namespace, pods: podSelector }];
}

const blockOf = ({ cidr, except = [] }: NonNullable<V1NetworkPolicyPeer['ipBlock']>): IpBlock => ({
  cidr,
  except,
});

function portOf({ protocol = 'TCP', port, endPort }: V1NetworkPolicyPort): PortMatch[] {
  const known = PROTOCOLS[protocol];
  if (known === undefined) return [];
  if (port === undefined) return [{ protocol: known }];
  if (typeof port === 'string') return [{ protocol: known, name: port }];
  return [{ protocol: known, port, ...(endPort === undefined ? {} : { endPort }) }];
}
