// The cases of Kubernetes' own end-to-end tests for NetworkPolicy, by their names: namespaces x, y, z with pods a, b, c, each
// on ports 80 and 81 of every protocol; all pairs are judged.
import { describe, expect, test } from 'vitest';
import type { V1NetworkPolicySpec } from '../../../../src/api/gen/types.js';
import { judge } from '../../../../src/network/policy/judge.js';
import { podKey } from '../../../../src/network/policy/model.js';
import { policyOf, policyPodOf } from '../../../../src/network/policy/networkPolicy.js';
import { PolicyPlanner } from '../../../../src/network/policy/planner.js';
import { podObject } from '../../../support/policy/worldPlanner.js';

const [NAMESPACES, PODS] = [
  ['x', 'y', 'z'],
  ['a', 'b', 'c'],
];
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;
const ALL = NAMESPACES.flatMap((namespace) => PODS.map((name) => ({ namespace, name })));
const ipOf = (key: string) => `10.244.0.${ALL.findIndex((pod) => podKey(pod) === key) + 1}`;

class Model {
  readonly planner = new PolicyPlanner();

  constructor() {
    for (const name of NAMESPACES) this.label(name);
    for (const pod of ALL) this.pod(podKey(pod));
  }

  label(name: string, labels: Record<string, string> = {}): this {
    this.planner.setNamespace(name, { ns: name, 'kubernetes.io/metadata.name': name, ...labels });
    return this;
  }

  pod(key: string, labels: Record<string, string> = {}): this {
    const [namespace = '', name = ''] = key.split('/');
    const ports = PROTOCOLS.flatMap((protocol) =>
      [80, 81].map((port) => ({ name: `serve-${port}-${protocol.toLowerCase()}`, protocol, port })),
    );
    const pod = podObject(
      { namespace, name, labels: { pod: name, ...labels }, ips: [ipOf(key)], ports },
      true,
    );
    const told = policyPodOf(pod, 'here');
    if (told !== undefined) this.planner.setPod(told);
    return this;
  }

  policy(spec: V1NetworkPolicySpec, name = 'p', namespace = 'x'): this {
    this.planner.setPolicy(policyOf({ metadata: { namespace, name }, spec } as never).policy);
    return this;
  }

  remove(name = 'p', namespace = 'x'): this {
    this.planner.removePolicy(`${namespace}/${name}`);
    return this;
  }

  /** "from > to PROTOCOL port" of every attempt that is refused. */
  refused(): string[] {
    return attempts()
      .filter(
        ({ from, to, protocol, port }) =>
          !judge(this.planner, {
            source: ipOf(from),
            destination: ipOf(to),
            protocol: protocol.toLowerCase() as 'tcp',
            port,
          }).isAllowed,
      )
      .map(text);
  }
}

interface Attempt {
  readonly from: string;
  readonly to: string;
  readonly protocol: (typeof PROTOCOLS)[number];
  readonly port: number;
}
const text = ({ from, to, protocol, port }: Attempt) => `${from} > ${to} ${protocol} ${port}`;
const attempts = (): Attempt[] =>
  ALL.flatMap((from) =>
    ALL.flatMap((to) =>
      PROTOCOLS.flatMap((protocol) =>
        [80, 81].map((port) => ({ from: podKey(from), to: podKey(to), protocol, port })),
      ),
    ),
  );

const pod = (...names: string[]) => ({ matchExpressions: [{ key: 'pod', operator: 'In', values: names }] });
const ns = (...names: string[]) => ({ matchExpressions: [{ key: 'ns', operator: 'In', values: names }] });
const named = (name: string) => ({ matchLabels: { pod: name } });
const isIn = (end: string, ...namespaces: string[]) => namespaces.includes(end[0] ?? '');
const ingress = (podSelector: object, ...rules: object[]) =>
  ({ podSelector, policyTypes: ['Ingress'], ingress: rules }) as V1NetworkPolicySpec;
const egress = (podSelector: object, ...rules: object[]) =>
  ({ podSelector, policyTypes: ['Egress'], egress: rules }) as V1NetworkPolicySpec;
const only = (...froms: object[]) => ingress(named('a'), { from: froms });
/** Into x/a comes nobody but these. */
const into =
  (allows: (attempt: Attempt) => boolean) =>
  (attempt: Attempt): boolean =>
    attempt.to === 'x/a' && !allows(attempt);
const outOf =
  (allows: (attempt: Attempt) => boolean) =>
  (attempt: Attempt): boolean =>
    attempt.from === 'x/a' && !allows(attempt);
const nobody = () => false;
const B_OF_Y = ipOf('y/b');

type Case = [name: string, model: (model: Model) => Model, isRefused: (attempt: Attempt) => boolean];
const CASES: Case[] = [
  ["a 'default-deny-ingress' policy", (m) => m.policy(ingress({})), ({ to }) => isIn(to, 'x')],
  [
    "a 'default-deny-all' policy",
    (m) => m.policy({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] }),
    ({ from, to }) => isIn(from, 'x') || isIn(to, 'x'),
  ],
  [
    'traffic from pods within server namespace based on PodSelector',
    (m) => m.policy(only({ podSelector: named('b') })),
    into(({ from }) => from === 'x/b'),
  ],
  [
    'ingress traffic for a target',
    (m) => m.policy(ingress({})).policy(ingress(named('a'), {}), 'q'),
    ({ to }) => isIn(to, 'x') && to !== 'x/a',
  ],
  ['ingress traffic from pods in all namespaces', (m) => m.policy(only({ namespaceSelector: {} })), nobody],
  [
    'traffic only from a different namespace, based on NamespaceSelector',
    (m) => m.policy(only({ namespaceSelector: { matchLabels: { ns: 'y' } } })),
    into(({ from }) => isIn(from, 'y')),
  ],
  [
    'PodSelector with MatchExpressions',
    (m) => m.policy(only({ podSelector: pod('b') })),
    into(({ from }) => from === 'x/b'),
  ],
  [
    'NamespaceSelector with MatchExpressions',
    (m) => m.policy(only({ namespaceSelector: ns('y') })),
    into(({ from }) => isIn(from, 'y')),
  ],
  [
    'PodSelector or NamespaceSelector',
    (m) => m.policy(only({ podSelector: named('b') }, { namespaceSelector: ns('y') })),
    into(({ from }) => isIn(from, 'y') || from === 'x/b'),
  ],
  [
    'PodSelector and NamespaceSelector',
    (m) => m.policy(only({ podSelector: named('b'), namespaceSelector: ns('y') })),
    into(({ from }) => from === 'y/b'),
  ],
  [
    'Multiple PodSelectors and NamespaceSelectors',
    (m) => m.policy(only({ podSelector: pod('b', 'c'), namespaceSelector: ns('y', 'z') })),
    into(({ from }) => isIn(from, 'y', 'z') && !from.endsWith('a')),
  ],
  [
    'any PodSelectors',
    (m) => m.policy(only({ podSelector: named('b') }, { podSelector: named('c') })),
    into(({ from }) => from === 'x/b' || from === 'x/c'),
  ],
  [
    'Ports',
    (m) => m.policy(ingress(named('a'), { from: [{ namespaceSelector: ns('y') }], ports: [{ port: 81 }] })),
    into(({ from, protocol, port }) => isIn(from, 'y') && protocol === 'TCP' && port === 81),
  ],
  [
    'stacked policies with overlapping podSelectors',
    (m) =>
      m
        .policy(ingress(named('a'), { from: [{ namespaceSelector: ns('y') }], ports: [{ port: 81 }] }))
        .policy(ingress(named('a'), { from: [{ namespaceSelector: ns('y') }], ports: [{ port: 80 }] }), 'q'),
    into(({ from, protocol }) => isIn(from, 'y') && protocol === 'TCP'),
  ],
  ['allow-all policy', (m) => m.policy(ingress({}, {})), nobody],
  [
    'ingress access on one named port',
    (m) => m.policy(ingress(named('a'), { ports: [{ port: 'serve-81-tcp' }] })),
    into(({ protocol, port }) => protocol === 'TCP' && port === 81),
  ],
  [
    'ingress access from namespace on one named port',
    (m) =>
      m.policy(
        ingress(named('a'), { from: [{ namespaceSelector: ns('y') }], ports: [{ port: 'serve-80-tcp' }] }),
      ),
    into(({ from, protocol, port }) => isIn(from, 'y') && protocol === 'TCP' && port === 80),
  ],
  [
    'egress access on one named port',
    (m) => m.policy(egress(named('a'), { ports: [{ port: 'serve-80-tcp' }] })),
    outOf(({ protocol, port }) => protocol === 'TCP' && port === 80),
  ],
  ['updated policy', (m) => m.policy(ingress({}, {})).policy(ingress({})), ({ to }) => isIn(to, 'x')],
  [
    'ingress access from updated namespace',
    (m) =>
      m
        .policy(only({ namespaceSelector: { matchLabels: { ns2: 'updated' } } }))
        .label('y', { ns2: 'updated' }),
    into(({ from }) => isIn(from, 'y')),
  ],
  [
    'ingress access from updated pod',
    (m) =>
      m.policy(only({ podSelector: { matchLabels: { pod2: 'updated' } } })).pod('x/b', { pod2: 'updated' }),
    into(({ from }) => from === 'x/b'),
  ],
  [
    'ingress from pods on other namespaces',
    (m) => m.policy(ingress({}, { from: [{ podSelector: {} }] })),
    ({ from, to }) => isIn(to, 'x') && !isIn(from, 'x'),
  ],
  [
    'ingress access to updated pod',
    (m) => m.policy(ingress({ matchLabels: { target: 'isolated' } })).pod('x/a', { target: 'isolated' }),
    into(nobody),
  ],
  ['egress from pods based on PodSelector', (m) => m.policy(egress(named('a'))), outOf(nobody)],
  ['egress from all pods in a namespace', (m) => m.policy(egress({})), ({ from }) => isIn(from, 'x')],
  [
    'Ingress, Egress specified together',
    (m) =>
      m.policy({
        ...egress(named('a'), { ports: [{ port: 80 }] }),
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ from: [{ podSelector: named('b') }] }],
      }),
    (attempt) =>
      into(({ from }) => from === 'x/b')(attempt) ||
      outOf(({ protocol, port }) => protocol === 'TCP' && port === 80)(attempt),
  ],
  [
    'egress denied by the client, even if the server allows the traffic',
    (m) =>
      m
        .policy(egress(named('a'), { to: [{ namespaceSelector: ns('y'), podSelector: pod('a', 'b') }] }))
        .policy(
          ingress(pod('a', 'c'), { from: [{ namespaceSelector: ns('x'), podSelector: named('a') }] }),
          'q',
          'y',
        ),
    ({ from, to }) =>
      (from === 'x/a' && to !== 'y/a' && to !== 'y/b') || ((to === 'y/a' || to === 'y/c') && from !== 'x/a'),
  ],
  [
    'egress to a server in a different namespace',
    (m) => m.policy(egress(named('a'), { to: [{ podSelector: named('a'), namespaceSelector: ns('y') }] })),
    outOf(({ to }) => to === 'y/a'),
  ],
  [
    'any port on a specific protocol',
    (m) => m.policy(ingress(named('a'), { ports: [{ protocol: 'TCP' }] })),
    into(({ protocol }) => protocol === 'TCP'),
  ],
  [
    'ingress allow-all taking precedence',
    (m) => m.policy(only({ podSelector: named('b') })).policy(ingress({}, {}), 'q'),
    nobody,
  ],
  [
    'egress allow-all taking precedence',
    (m) => m.policy(egress(named('a'), { ports: [{ port: 80 }] })).policy(egress({}, {}), 'q'),
    nobody,
  ],
  ['deleted policies', (m) => m.policy(ingress({})).policy(egress({}), 'q').remove().remove('q'), nobody],
  [
    'egress to server in CIDR block',
    (m) => m.policy(egress(named('a'), { to: [{ ipBlock: { cidr: `${B_OF_Y}/32` } }] })),
    outOf(({ to }) => to === 'y/b'),
  ],
  [
    'except clause while egress access to server in CIDR block',
    (m) =>
      m.policy(
        egress(named('a'), { to: [{ ipBlock: { cidr: '10.244.0.0/24', except: [`${B_OF_Y}/32`] } }] }),
      ),
    outOf(({ to }) => to !== 'y/b'),
  ],
  [
    'an IP overlapping both IPBlock.CIDR and IPBlock.Except',
    (m) =>
      m
        .policy(
          egress(named('a'), { to: [{ ipBlock: { cidr: '10.244.0.0/24', except: [`${B_OF_Y}/32`] } }] }),
        )
        .policy(egress(named('a'), { to: [{ ipBlock: { cidr: `${B_OF_Y}/32` } }] }), 'q'),
    nobody,
  ],
  [
    'ingress and egress controlled independently based on PodSelector',
    (m) =>
      m
        .policy(ingress(named('a'), { from: [{ podSelector: named('b') }] }))
        .policy({ ...egress(named('a'), { to: [{ podSelector: named('b') }] }) }, 'q'),
    (attempt) => into(({ from }) => from === 'x/b')(attempt) || outOf(({ to }) => to === 'x/b')(attempt),
  ],
  [
    "'protocol: SCTP' is not 'protocol: TCP'",
    (m) => m.policy(ingress(named('a'), { ports: [{ protocol: 'SCTP', port: 81 }] })),
    into(({ protocol, port }) => protocol === 'SCTP' && port === 81),
  ],
  [
    'TCP when a policy specifies only UDP',
    (m) => m.policy(ingress(named('a'), { ports: [{ protocol: 'UDP', port: 81 }] })),
    into(({ protocol, port }) => protocol === 'UDP' && port === 81),
  ],
  [
    'NamespaceSelector with MatchLabels using default ns label',
    (m) => m.policy(only({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'y' } } })),
    into(({ from }) => isIn(from, 'y')),
  ],
  [
    'NamespaceSelector with MatchExpressions using default ns label',
    (m) =>
      m.policy(
        only({
          namespaceSelector: {
            matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['y'] }],
          },
        }),
      ),
    into(({ from }) => !isIn(from, 'y')),
  ],
  [
    'a range of ports',
    (m) => m.policy(ingress(named('a'), { ports: [{ port: 79, endPort: 80 }] })),
    into(({ protocol, port }) => protocol === 'TCP' && port === 80),
  ],
];

describe("Kubernetes' end-to-end cases", () => {
  test.each(CASES)('%s', (_, change, isRefused) => {
    // A pod always reaches itself.
    const wanted = attempts().filter((attempt) => attempt.from !== attempt.to && isRefused(attempt));
    expect(change(new Model()).refused()).toEqual(wanted.map(text));
  });
});
