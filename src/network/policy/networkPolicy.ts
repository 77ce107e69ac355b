// Reads the objects of the API into the planner's terms. Pure.
// Guarantees: a part that cannot be read allows nothing, a policy whose pods cannot be read is for all of its namespace, and
// each such part is told in a message; defaults that an older server left out are filled in.
import type {
  V1NetworkPolicy,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
  V1Pod,
} from '../../api/gen/types.js';
import { canonicalIp, parseCidr } from '../../api/ip.js';
import type { Stored } from '../../api/object.js';
import { getOwn } from '../../api/ownKeys.js';
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
import { selectorProblem } from './selectorProblem.js';

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
      const known = getOwn(PROTOCOLS, protocol);
      return name === undefined || known === undefined
        ? []
        : [{ name, protocol: known, port: containerPort }];
    }),
  );
}

interface ReadPolicy {
  readonly policy: Policy;
  /** For people: what of it is not enforced as written, and what happens in its place. */
  readonly messages: readonly string[];
}

export function policyOf({ metadata, spec }: Stored<V1NetworkPolicy>): ReadPolicy {
  const namespace = metadata.namespace ?? '';
  const { policyTypes: named = [], egress = [] } = spec ?? {};
  const types = named.length > 0 ? named : ['Ingress', ...(egress.length > 0 ? ['Egress'] : [])];
  const messages: string[] = [];
  const rules: Partial<Record<Direction, PolicyRule[]>> = {};
  const read = (direction: Direction, some: readonly Rule[] = []) => {
    rules[direction] = some.map((rule, index) =>
      ruleOf(namespace, rule, (text) => messages.push(`${direction} rule ${index}: ${text}`)),
    );
  };
  if (types.includes('Ingress'))
    read(
      'ingress',
      spec?.ingress?.map(({ from, ports }) => ({ peers: from, ports })),
    );
  if (types.includes('Egress'))
    read(
      'egress',
      spec?.egress?.map(({ to, ports }) => ({ peers: to, ports })),
    );
  const unreadable = selectorProblem(spec?.podSelector ?? {});
  if (unreadable !== undefined)
    messages.push(`podSelector: ${unreadable}, so the policy is for every pod of the namespace`);
  return {
    policy: {
      key: `${namespace}/${metadata.name}`,
      tier: 'namespaced',
      priority: 0,
      subject: { namespace, pods: unreadable === undefined ? (spec?.podSelector ?? {}) : {} },
      rules,
    },
    messages,
  };
}

interface Rule {
  readonly peers: readonly V1NetworkPolicyPeer[] | undefined;
  readonly ports: readonly V1NetworkPolicyPort[] | undefined;
}

type Tell = (text: string) => void;

function ruleOf(namespace: string, { peers = [], ports = [] }: Rule, tell: Tell): PolicyRule {
  const nobody = (text: string) => tell(`${text}, so the peer is nobody`);
  return {
    action: 'accept',
    ...(peers.length === 0
      ? {}
      : {
          peers: {
            selections: peers.flatMap((peer) => selectionOf(namespace, peer, nobody)),
            blocks: peers.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : blockOf(ipBlock, nobody))),
          },
        }),
    ...(ports.length === 0
      ? {}
      : { ports: ports.flatMap((port) => portOf(port, (text) => tell(`${text}, so the port is none`))) }),
  };
}

function selectionOf(
  namespace: string,
  { ipBlock, namespaceSelector, podSelector }: V1NetworkPolicyPeer,
  nobody: Tell,
): PodSelection[] {
  if (ipBlock !== undefined) return [];
  const unreadable = [namespaceSelector, podSelector].flatMap((one) => selectorProblem(one ?? {}) ?? []);
  if (namespaceSelector === undefined && podSelector === undefined)
    unreadable.push('a peer has no field that is known');
  if (unreadable[0] !== undefined) {
    nobody(unreadable[0]);
    return [];
  }
  const pods = podSelector ?? {};
  return [namespaceSelector === undefined ? { namespace, pods } : { namespaces: namespaceSelector, pods }];
}

/** Without what it excepts it would be larger than it was meant. */
function blockOf(
  { cidr, except = [] }: NonNullable<V1NetworkPolicyPeer['ipBlock']>,
  nobody: Tell,
): IpBlock[] {
  const unreadable = [cidr, ...except].find((text) => parseCidr(text) === undefined);
  if (unreadable === undefined) return [{ cidr, except }];
  nobody(`${JSON.stringify(unreadable)} is no network`);
  return [];
}

function portOf({ protocol = 'TCP', port, endPort }: V1NetworkPolicyPort, none: Tell): PortMatch[] {
  const known = getOwn(PROTOCOLS, protocol);
  if (known === undefined) {
    none(`protocol ${protocol} is not known`);
    return [];
  }
  if (port === undefined) return [{ protocol: known }];
  if (typeof port === 'string') return [{ protocol: known, name: port }];
  return [{ protocol: known, port, ...(endPort === undefined ? {} : { endPort }) }];
}
