// Whether one pod may reach another, and which policy says so, from the objects alone. Pure.
// Guarantees: both ends are judged, wherever they run; the answer is that of the enforcer's own planner.
import type { V1Namespace, V1NetworkPolicy, V1Pod } from '../../api/gen/types.js';
import { canonicalIp } from '../../api/ip.js';
import type { Stored } from '../../api/object.js';
import { type ClusterNetworkPolicy, clusterPolicyOf } from './clusterNetworkPolicy.js';
import { judge, type Verdict, verdictText } from './judge.js';
import { type PolicyProtocol, podKey } from './model.js';
import { policyOf, policyPodOf } from './networkPolicy.js';
import { PolicyPlanner } from './planner.js';

export interface ExplainedObjects {
  readonly pods: readonly Stored<V1Pod>[];
  readonly namespaces: readonly Stored<V1Namespace>[];
  readonly policies: readonly Stored<V1NetworkPolicy>[];
  readonly clusterPolicies: readonly ClusterNetworkPolicy[];
}

export interface Question {
  /** `namespace/name` of a pod, or an address. */
  readonly from: string;
  readonly to: string;
  readonly protocol: PolicyProtocol;
  /** None: traffic of any port, which only rules without ports allow. */
  readonly port?: number | undefined;
}

/** What the objects say of one pair of addresses. */
export interface JudgedPair {
  readonly source: string;
  readonly destination: string;
  readonly verdict: Verdict;
}

export const pairText = ({ source, destination, verdict }: JudgedPair) =>
  `${source} to ${destination}: ${verdictText(verdict)}`;

/** Of each family that both ends have. Throws an Error that says what is wrong with an end. */
export function judgedPairs(
  { pods, namespaces, policies, clusterPolicies }: ExplainedObjects,
  question: Question,
): readonly JudgedPair[] {
  const planner = new PolicyPlanner();
  for (const { metadata } of namespaces) planner.setNamespace(metadata.name, metadata.labels ?? {});
  // Each side is judged on its own node: here all are on one.
  for (const pod of pods) {
    const told = policyPodOf(pod, pod.spec?.nodeName ?? '');
    if (told !== undefined) planner.setPod(told);
  }
  for (const policy of policies) planner.setPolicy(policyOf(policy).policy);
  for (const object of clusterPolicies) {
    const { policy } = clusterPolicyOf(object);
    if (policy !== undefined) planner.setPolicy(policy);
  }
  const [sources, destinations] = [question.from, question.to].map((end) => addressesOf(pods, end));
  const pairs = (sources ?? []).flatMap((source) =>
    (destinations ?? [])
      .filter((destination) => destination.includes(':') === source.includes(':'))
      .map((destination) => ({ source, destination })),
  );
  if (pairs.length === 0) throw new Error(`${question.from} and ${question.to} have no family in common`);
  const { protocol, port } = question;
  return pairs.map((pair) => ({ ...pair, verdict: judge(planner, { ...pair, protocol, port }) }));
}

function addressesOf(pods: readonly Stored<V1Pod>[], end: string): readonly string[] {
  const ip = canonicalIp(end);
  if (ip !== undefined) return [ip];
  const pod = pods.find(
    ({ metadata }) => podKey({ namespace: metadata.namespace ?? '', name: metadata.name }) === end,
  );
  if (pod === undefined) throw new Error(`there is no pod ${end}`);
  if (pod.spec?.hostNetwork === true)
    throw new Error(`${end} is in the network of its node, which policies do not restrict`);
  const told = policyPodOf(pod, '');
  if (told === undefined)
    throw new Error(`${end} has no addresses${pod.status?.phase ? ` (${pod.status.phase})` : ''}`);
  return told.ips;
}
