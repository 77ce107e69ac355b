// Cluster-wide policies before and after NetworkPolicies, read from a file: the planner says of every pair of pods, protocol
// and port what a plain reading of the objects says.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { V1NetworkPolicy } from '../../../../src/api/gen/types.js';
import {
  type ClusterNetworkPolicy,
  clusterPolicyOf,
} from '../../../../src/network/policy/clusterNetworkPolicy.js';
import { judgedPairs, pairText } from '../../../../src/network/policy/explain.js';
import { judge, verdictText } from '../../../../src/network/policy/judge.js';
import { policyOf, policyPodOf } from '../../../../src/network/policy/networkPolicy.js';
import { PolicyPlanner } from '../../../../src/network/policy/planner.js';
import { randomClusterPolicy } from '../../../support/policy/randomTiers.js';
import { NAMESPACES, RandomWorld, seeded } from '../../../support/policy/randomWorld.js';
import type { World, WorldPod } from '../../../support/policy/reference.js';
import { isAllowedHere } from '../../../support/policy/tierReference.js';
import { podObject } from '../../../support/policy/worldPlanner.js';

type Labels = Record<string, string>;
type AnyPolicy = V1NetworkPolicy | ClusterNetworkPolicy;

const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;
const isOfCluster = (policy: AnyPolicy): policy is ClusterNetworkPolicy =>
  policy.kind === 'ClusterNetworkPolicy';

const FILE = path.join(import.meta.dirname, 'tiers.yaml');
const written = parseAllDocuments(readFileSync(FILE, 'utf8')).map((one): AnyPolicy => one.toJS());

const PORTS = [53, 80, 4999, 5000, 5432, 6000, 6001, 9100];

const pods: WorldPod[] = (
  [
    ['ops', 'prometheus', { app: 'prometheus' }],
    ['ops', 'dns', { app: 'dns' }],
    ['shop', 'web', { app: 'web' }],
    ['shop', 'db', { app: 'db' }],
    ['shop', 'sick', { app: 'web', quarantined: 'true' }],
    ['pay', 'web', { app: 'web' }],
    ['pay', 'db', { app: 'db' }],
    ['free', 'db', { app: 'db' }],
    ['free', 'tool', {}],
  ] satisfies [string, string, Labels][]
).map(([namespace, name, labels], i) => ({
  namespace,
  name,
  labels,
  ips: [`10.244.0.${i + 2}`, `fd00:244::${i + 2}`],
  ports: [{ name: 'metrics', protocol: 'TCP', port: 9100 }],
}));

const namespaces: Record<string, Labels> = Object.fromEntries(
  ['ops', 'shop', 'pay', 'free'].map((name) => [
    name,
    { 'kubernetes.io/metadata.name': name, ...(['shop', 'pay'].includes(name) ? { team: name } : {}) },
  ]),
);

const worldOf = (policies: readonly AnyPolicy[]): World => ({
  pods,
  namespaces,
  clusterPolicies: policies.filter(isOfCluster),
  policies: policies.filter((policy): policy is V1NetworkPolicy => !isOfCluster(policy)),
});

function plannerOf(world: World): PolicyPlanner {
  const planner = new PolicyPlanner();
  for (const [name, labels] of Object.entries(world.namespaces)) planner.setNamespace(name, labels);
  for (const pod of world.pods) {
    const told = policyPodOf(podObject(pod, true), 'here');
    if (told !== undefined) planner.setPod(told);
  }
  for (const policy of world.policies) planner.setPolicy(policyOf(policy as never).policy);
  for (const object of world.clusterPolicies) {
    const { policy } = clusterPolicyOf(object);
    if (policy !== undefined) planner.setPolicy(policy);
  }
  return planner;
}

/** What the planner says otherwise than the plain reading, and how often each tier decided. */
function compared(world: World, ports: readonly number[]) {
  const planner = plannerOf(world);
  const here = new Set(world.pods.flatMap(({ ips }) => ips));
  const tiers = new Map(world.clusterPolicies.map(({ metadata, spec }) => [metadata?.name, spec?.tier]));
  const wrong: string[] = [];
  const decided = new Map<string, number>();
  for (const source of here)
    for (const destination of here) {
      if (source.includes(':') !== destination.includes(':')) continue;
      for (const protocol of PROTOCOLS)
        for (const port of ports) {
          const attempt = { source, destination, protocol, port };
          const verdict = judge(planner, { ...attempt, protocol: protocol.toLowerCase() as 'tcp' });
          if (verdict.isAllowed !== isAllowedHere(world, attempt, here))
            wrong.push(`${source} > ${destination} ${protocol} ${port}: ${verdictText(verdict)}`);
          const tier = verdict.direction === undefined ? 'none' : (tiers.get(verdict.policy) ?? 'namespaced');
          const key = `${tier} ${verdict.isAllowed ? 'allows' : 'refuses'}`;
          decided.set(key, (decided.get(key) ?? 0) + 1);
        }
    }
  return { wrong, decided };
}

const KINDS = ['Admin', 'namespaced', 'Baseline']
  .flatMap((tier) => [`${tier} allows`, `${tier} refuses`])
  .concat('none allows');

test('policies of a file are judged as they read, and every tier both allows and refuses', () => {
  expect(written.flatMap((policy) => (isOfCluster(policy) ? clusterPolicyOf(policy).messages : []))).toEqual(
    [],
  );
  const { wrong, decided } = compared(worldOf(written), PORTS);
  expect(wrong).toEqual([]);
  expect([...decided.keys()].sort()).toEqual([...KINDS].sort());
});

test('hundreds of random policies of all tiers are judged as they read', { timeout: 90_000 }, () => {
  const make = new RandomWorld(seeded(Number(process.env['TRELLIS_POLICY_SEED'] ?? 5)), [
    '10.244.0.0/30',
    '10.244.0.0/24',
    'fd00:244::4/126',
  ]);
  const sum = new Map<string, number>();
  for (let round = 0; round < 40; round++) {
    const world: World = {
      pods: pods.map((pod, i) => ({
        ...pod,
        name: `p${i}`,
        namespace: make.pick(NAMESPACES),
        labels: make.labels(),
        ports: make.podPorts(),
      })),
      namespaces: Object.fromEntries(NAMESPACES.map((name) => [name, make.namespaceLabels(name)])),
      policies: make.some(3, () => 0).map((_, i) => make.policy(`n${i}`)),
      clusterPolicies: Array.from({ length: 8 }, (_, i) => randomClusterPolicy(make, `c${i}`)),
    };
    const { wrong, decided } = compared(world, [80, 81, 443, 5000]);
    expect(wrong, `round ${round}`).toEqual([]);
    for (const [key, count] of decided) sum.set(key, (sum.get(key) ?? 0) + count);
  }
  for (const kind of KINDS) expect(sum.get(kind), kind).toBeGreaterThan(1000);
});

describe('of the policies of the file', () => {
  const [ip, ports] = [
    (key: string) => pods.find(({ namespace, name }) => `${namespace}/${name}` === key)?.ips[0] ?? '',
    { tcp: 'tcp', udp: 'udp', sctp: 'sctp' } as const,
  ];
  const planner = plannerOf(worldOf(written));
  test.each([
    ['ops/prometheus', 'pay/db', 'tcp', 9100, 'allowed by ingress rule 0 of monitoring'],
    ['ops/prometheus', 'pay/db', 'tcp', 9101, 'refused by ingress rule 0 of closed'],
    // The first priority refuses what the second would accept.
    ['ops/prometheus', 'shop/sick', 'tcp', 9100, 'refused by ingress rule 0 of quarantine'],
    // Passed by one of two policies of equal priority, and so decided by the namespace's own.
    ['shop/web', 'shop/db', 'tcp', 5432, 'allowed by ingress rule 0 of shop/db'],
    [
      'shop/web',
      'shop/db',
      'tcp',
      80,
      'refused: no ingress rule of the policies that select the pod matches',
    ],
    ['pay/db', 'shop/db', 'sctp', 5432, 'refused by ingress rule 0 of partners-b'],
    // Passed in Admin and selected by no NetworkPolicy: Baseline is next.
    ['shop/sick', 'ops/dns', 'udp', 53, 'allowed by ingress rule 1 of web'],
    ['pay/db', 'shop/web', 'tcp', 80, 'allowed: no policy restricts either side'],
    ['pay/db', 'shop/web', 'tcp', 5000, 'refused by ingress rule 0 of closed'],
    // A NetworkPolicy that selects the pod is the last that is asked.
    ['ops/dns', 'pay/web', 'tcp', 80, 'allowed by ingress rule 0 of pay/web'],
    ['free/tool', 'free/db', 'tcp', 80, 'refused by egress rule 0 of web'],
  ] as const)('from %s to %s, %s %i: %s', (from, to, protocol, port, text) => {
    const verdict = judge(planner, {
      source: ip(from),
      destination: ip(to),
      protocol: ports[protocol],
      port,
    });
    expect(verdictText(verdict)).toBe(text);
  });
});

test('an explanation from the objects names policies of every tier', () => {
  const world = worldOf(written);
  const objects = {
    pods: pods.map((pod) => podObject(pod, true)),
    namespaces: Object.entries(namespaces).map(([name, labels]) => ({ metadata: { name, labels } }) as never),
    policies: world.policies as never,
    clusterPolicies: world.clusterPolicies,
  };
  const explained = (from: string, to: string, port: number) =>
    judgedPairs(objects, { from, to, protocol: 'tcp', port }).map(pairText);
  expect(explained('ops/prometheus', 'pay/db', 9100)).toEqual([
    '10.244.0.2 to 10.244.0.8: allowed by ingress rule 0 of monitoring',
    'fd00:244::2 to fd00:244::8: allowed by ingress rule 0 of monitoring',
  ]);
  expect(explained('shop/web', 'shop/db', 5432)[0]).toContain('allowed by ingress rule 0 of shop/db');
  expect(explained('ops/prometheus', 'pay/db', 9101)[0]).toContain('refused by ingress rule 0 of closed');
});
