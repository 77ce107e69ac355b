// Policies and pods of a large cluster, seen from one of its nodes; and the same as iptables rules and sets of ipset. Pure.
// Guarantees: both are made of the same list. The peer's chains do not tell a pod's two directions apart, as kube-router's, and
// leave out the policies that a label moves a pod between, which select nobody at first.
import type { Policy, PolicyPod } from '../../src/network/policy/model.js';

export interface Workload {
  readonly pods: readonly PolicyPod[];
  readonly policies: readonly Policy[];
}

/** As many pods as a kubelet may have at most. */
export const LOCAL_PODS = 250;
const NAMESPACES = 20;
const APPS = 50;
/** Policies between which a label moves a pod: half of them one way, half the other. */
export const MOVED = 100;
const FIRST_PORT = 80;

export const namespaceOf = (i: number) => `ns${i % NAMESPACES}`;
const appOf = (i: number) => Math.floor(i / NAMESPACES) % APPS;
const ipOf = (i: number) => `10.244.${i >> 8}.${i & 255}`;

export function podOf(i: number, labels: Readonly<Record<string, string>> = {}): PolicyPod {
  return {
    namespace: namespaceOf(i),
    name: `p${i}`,
    labels: { app: `app${appOf(i)}`, ...labels },
    ips: [ipOf(i)],
    ports: [],
    isLocal: i < LOCAL_PODS,
  };
}

/** Each policy lets in one application of its namespace on one port, and lets out to its namespace. */
export function workload(pods: number, policies: number): Workload {
  return {
    pods: Array.from({ length: pods }, (_, i) => podOf(i)),
    policies: [
      ...Array.from({ length: policies }, (_, i) => policyOf(i)),
      ...Array.from({ length: MOVED }, (_, i) => groupPolicy(i)),
    ],
  };
}

const named = (namespace: string, name: string) =>
  ({ key: `${namespace}/${name}`, tier: 'namespaced', priority: 0 }) as const;

function policyOf(i: number): Policy {
  const namespace = namespaceOf(i);
  const pods = (app: number) => ({ namespace, pods: { matchLabels: { app: `app${app % APPS}` } } });
  return {
    ...named(namespace, `policy${i}`),
    subject: pods(appOf(i)),
    rules: {
      ingress: [
        {
          action: 'accept',
          peers: { selections: [pods(appOf(i) + 1)], blocks: [] },
          ports: [{ protocol: 'tcp', port: FIRST_PORT + (i % 10) }],
        },
      ],
      egress: [{ action: 'accept', peers: { selections: [{ namespace, pods: {} }], blocks: [] } }],
    },
  };
}

function groupPolicy(i: number): Policy {
  const namespace = namespaceOf(0);
  return {
    ...named(namespace, `group${i}`),
    subject: { namespace, pods: { matchLabels: { group: `g${i % 2}` } } },
    rules: { ingress: [{ action: 'accept', ports: [{ protocol: 'tcp', port: 1000 + i }] }] },
  };
}

const MARK = '0x10000/0x10000';

/** In the manner of kube-router: a chain per policy whose rules set a mark, a chain per pod of the node that goes through them. */
export function iptablesOf({ pods, policies }: Workload): {
  readonly ipset: string;
  readonly filter: string;
} {
  const members = new Map<string, string[]>();
  for (const { namespace, labels, ips } of pods)
    for (const set of [namespace, `${namespace}-${labels['app']}`])
      members.set(set, [...(members.get(set) ?? []), ...ips]);
  const sets = [...members].flatMap(([set, ips]) => [
    `create ${set} hash:ip -exist`,
    ...ips.map((ip) => `add ${set} ${ip} -exist`),
  ]);
  const numbered = policies.slice(0, -MOVED).map((policy, i) => ({ i, namespace: namespaceOf(i), policy }));
  const pass = `-j MARK --set-xmark ${MARK}`;
  const chains = numbered.flatMap(({ i, namespace }) => {
    const [own, peer] = [0, 1].map((step) => `${namespace}-app${(appOf(i) + step) % APPS}`);
    return [
      `-A NWPLCY-${i} -p tcp --dport ${FIRST_PORT + (i % 10)} -m set --match-set ${peer} src -m set --match-set ${own} dst ${pass}`,
      `-A NWPLCY-${i} -m set --match-set ${own} src -m set --match-set ${namespace} dst ${pass}`,
    ];
  });
  const local = pods.filter(({ isLocal }) => isLocal);
  const firewalls = local.flatMap(({ namespace, name, labels, ips: [ip] }) => {
    const own = numbered.filter(
      (one) => one.namespace === namespace && `app${appOf(one.i)}` === labels['app'],
    );
    return [
      `-A FORWARD -d ${ip} -j POD-FW-${name}`,
      `-A FORWARD -s ${ip} -j POD-FW-${name}`,
      `-A POD-FW-${name} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
      ...own.map(({ i }) => `-A POD-FW-${name} -j NWPLCY-${i}`),
      `-A POD-FW-${name} -m mark ! --mark ${MARK} -j REJECT`,
      `-A POD-FW-${name} -j MARK --set-mark 0/0x10000`,
    ];
  });
  const heads = [
    ...numbered.map(({ i }) => `:NWPLCY-${i} - [0:0]`),
    ...local.map(({ name }) => `:POD-FW-${name} - [0:0]`),
  ];
  return {
    ipset: `${sets.join('\n')}\n`,
    filter: ['*filter', ...heads, ...chains, ...firewalls, 'COMMIT', ''].join('\n'),
  };
}
