// A scheduler written for the eye alone: plain loops over plain objects, every count made anew for every question.
// Guarantees: shares no code with the fast one but the reading of amounts, node selectors and tolerations, which have tables of their own.
import type {
  V1LabelSelector,
  V1Node,
  V1Pod,
  V1PodAffinityTerm,
  V1TopologySpreadConstraint,
} from '../../../src/api/gen/types.js';
import { matchesNode, matchesTerm } from '../../../src/api/nodeSelector.js';
import type { Stored } from '../../../src/api/object.js';
import { offered, presumedRequestsOf, requestsOf } from '../../../src/scheduler/resources.js';
import { tolerates } from '../../../src/scheduler/tolerations.js';
import { labelsMatch } from '../policy/reference.js';

type Pod = Stored<V1Pod>;
type Node = Stored<V1Node>;
type Labels = Readonly<Record<string, string>>;

interface ReferenceCluster {
  readonly nodes: readonly Node[];
  /** With spec.nodeName. */
  readonly pods: readonly Pod[];
  readonly namespaces: Readonly<Record<string, Labels>>;
}

interface Verdict {
  readonly feasible: readonly string[];
  /** Node name to weighted score. */
  readonly scores: ReadonlyMap<string, number>;
}

export function decide(cluster: ReferenceCluster, pod: Pod): Verdict {
  const nodes = cluster.nodes.filter((node) => FILTERS.every((passes) => passes(cluster, pod, node)));
  const scores = new Map(nodes.map(({ metadata }) => [metadata.name, 0]));
  for (const { weight, score } of SCORES)
    score(cluster, pod, nodes).forEach((value, at) => {
      const name = nodes[at]?.metadata.name ?? '';
      scores.set(name, (scores.get(name) ?? 0) + weight * value);
    });
  return { feasible: nodes.map(({ metadata }) => metadata.name), scores };
}

const on = ({ pods }: ReferenceCluster, node: Node) =>
  pods.filter(({ spec }) => spec.nodeName === node.metadata.name);
const labelsOf = (node: Node): Labels => node.metadata.labels ?? {};

type Filter = (cluster: ReferenceCluster, pod: Pod, node: Node) => boolean;

const taintsAllow = (pod: Pod, node: Node) =>
  (node.spec?.taints ?? []).every(
    (taint) => taint.effect === 'PreferNoSchedule' || tolerates(pod.spec.tolerations, taint),
  );

const FILTERS: readonly Filter[] = [
  (_, pod, node) =>
    node.spec?.unschedulable !== true ||
    tolerates(pod.spec.tolerations, { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }),
  (_, pod, node) => taintsAllow(pod, node),
  (_, pod, node) => matchesNode(pod.spec, node),
  portsFree,
  resourcesFree,
  spreadAllows,
  affinityAllows,
];

function portsFree(cluster: ReferenceCluster, pod: Pod, node: Node): boolean {
  const ports = (one: Pod) =>
    one.spec.containers.flatMap(({ ports = [] }) => ports.filter(({ hostPort }) => hostPort));
  for (const other of on(cluster, node))
    for (const held of ports(other))
      for (const wanted of ports(pod)) {
        const [a, b] = [held.hostIP ?? '0.0.0.0', wanted.hostIP ?? '0.0.0.0'];
        const sameAddress = a === b || a === '0.0.0.0' || b === '0.0.0.0';
        if (
          sameAddress &&
          held.hostPort === wanted.hostPort &&
          (held.protocol ?? 'TCP') === (wanted.protocol ?? 'TCP')
        )
          return false;
      }
  return true;
}

function resourcesFree(cluster: ReferenceCluster, pod: Pod, node: Node): boolean {
  const offer = offered(node.status?.allocatable);
  const there = on(cluster, node);
  if (there.length + 1 > (offer.get('pods') ?? 0)) return false;
  for (const [name, amount] of requestsOf(pod.spec)) {
    const taken = there.reduce((sum, { spec }) => sum + (requestsOf(spec).get(name) ?? 0), 0);
    if (amount > 0 && taken + amount > (offer.get(name) ?? 0)) return false;
  }
  return true;
}

function selects(selector: V1LabelSelector | undefined, labels: Labels = {}): boolean {
  return selector !== undefined && labelsMatch(selector, labels);
}

/** Whether the term of `owner` speaks of `other`. */
function speaksOf(
  { namespaces }: ReferenceCluster,
  owner: Pod,
  term: V1PodAffinityTerm,
  other: Pod,
): boolean {
  const space = other.metadata.namespace ?? '';
  const named = term.namespaces ?? [];
  const isOwn =
    named.length === 0 && term.namespaceSelector === undefined && space === owner.metadata.namespace;
  const isSelected =
    term.namespaceSelector !== undefined && selects(term.namespaceSelector, namespaces[space] ?? {});
  return (isOwn || isSelected || named.includes(space)) && selects(term.labelSelector, other.metadata.labels);
}

const required = (pod: Pod, side: 'podAffinity' | 'podAntiAffinity') =>
  pod.spec.affinity?.[side]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
const preferred = (pod: Pod, side: 'podAffinity' | 'podAntiAffinity') =>
  pod.spec.affinity?.[side]?.preferredDuringSchedulingIgnoredDuringExecution ?? [];

const nodeOf = ({ nodes }: ReferenceCluster, { spec }: Pod) =>
  nodes.find(({ metadata }) => metadata.name === spec.nodeName);

/** Whether a placed pod is in the same domain as a node. */
function shares(cluster: ReferenceCluster, other: Pod, node: Node, key: string): boolean {
  const there = nodeOf(cluster, other);
  return (
    there !== undefined && labelsOf(there)[key] !== undefined && labelsOf(there)[key] === labelsOf(node)[key]
  );
}

function affinityAllows(cluster: ReferenceCluster, pod: Pod, node: Node): boolean {
  const near = required(pod, 'podAffinity');
  const friends = cluster.pods.filter((other) => near.every((term) => speaksOf(cluster, pod, term, other)));
  const hasFriends = near.some(({ topologyKey }) =>
    friends.some((friend) => {
      const there = nodeOf(cluster, friend);
      return there !== undefined && labelsOf(there)[topologyKey] !== undefined;
    }),
  );
  const isFirst = !hasFriends && near.every((term) => speaksOf(cluster, pod, term, pod));
  for (const { topologyKey } of near) {
    if (labelsOf(node)[topologyKey] === undefined) return false;
    if (!isFirst && !friends.some((friend) => shares(cluster, friend, node, topologyKey))) return false;
  }
  for (const other of cluster.pods) {
    for (const term of required(pod, 'podAntiAffinity'))
      if (speaksOf(cluster, pod, term, other) && shares(cluster, other, node, term.topologyKey)) return false;
    for (const term of required(other, 'podAntiAffinity'))
      if (speaksOf(cluster, other, term, pod) && shares(cluster, other, node, term.topologyKey)) return false;
  }
  return true;
}

const constraintsOf = (pod: Pod, when: string) =>
  (pod.spec.topologySpreadConstraints ?? []).filter(({ whenUnsatisfiable }) => whenUnsatisfiable === when);

function isCounted(pod: Pod, constraint: V1TopologySpreadConstraint, node: Node): boolean {
  if (constraint.nodeAffinityPolicy !== 'Ignore' && !matchesNode(pod.spec, node)) return false;
  return constraint.nodeTaintsPolicy !== 'Honor' || taintsAllow(pod, node);
}

const matching = (
  cluster: ReferenceCluster,
  pod: Pod,
  { labelSelector }: V1TopologySpreadConstraint,
  node: Node,
) =>
  on(cluster, node).filter(
    ({ metadata }) =>
      metadata.namespace === pod.metadata.namespace &&
      metadata.deletionTimestamp === undefined &&
      selects(labelSelector, metadata.labels),
  ).length;

function spreadAllows(cluster: ReferenceCluster, pod: Pod, node: Node): boolean {
  const constraints = constraintsOf(pod, 'DoNotSchedule');
  const complete = cluster.nodes.filter((one) =>
    constraints.every(({ topologyKey }) => labelsOf(one)[topologyKey] !== undefined),
  );
  for (const constraint of constraints) {
    const key = constraint.topologyKey;
    const own = labelsOf(node)[key];
    if (own === undefined) return false;
    const counts = new Map<string, number>();
    for (const one of complete.filter((candidate) => isCounted(pod, constraint, candidate))) {
      const value = labelsOf(one)[key] ?? '';
      counts.set(value, (counts.get(value) ?? 0) + matching(cluster, pod, constraint, one));
    }
    const least = counts.size < (constraint.minDomains ?? 1) ? 0 : Math.min(...counts.values());
    const self = selects(constraint.labelSelector, pod.metadata.labels) ? 1 : 0;
    if ((counts.get(own) ?? 0) + self - least > constraint.maxSkew) return false;
  }
  return true;
}

type Score = (cluster: ReferenceCluster, pod: Pod, nodes: readonly Node[]) => readonly number[];

function toHighest(raw: readonly number[], reverse: boolean): readonly number[] {
  const highest = Math.max(0, ...raw);
  return raw.map((value) => {
    const scaled = highest === 0 ? 0 : Math.floor((100 * value) / highest);
    return reverse ? 100 - scaled : scaled;
  });
}

const SCORES: readonly { readonly weight: number; readonly score: Score }[] = [
  { weight: 3, score: taintScore },
  { weight: 2, score: nodeAffinityScore },
  { weight: 1, score: leastAllocatedScore },
  { weight: 2, score: spreadScore },
  { weight: 2, score: podAffinityScore },
  { weight: 1, score: balancedScore },
  { weight: 1, score: imageScore },
];

function taintScore(_: ReferenceCluster, pod: Pod, nodes: readonly Node[]): readonly number[] {
  const unwanted = nodes.map(
    ({ spec }) =>
      (spec?.taints ?? []).filter(
        (taint) => taint.effect === 'PreferNoSchedule' && !tolerates(pod.spec.tolerations, taint),
      ).length,
  );
  return toHighest(unwanted, true);
}

function nodeAffinityScore(_: ReferenceCluster, pod: Pod, nodes: readonly Node[]): readonly number[] {
  const wishes = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const sums = nodes.map((node) =>
    wishes.reduce((sum, { weight, preference }) => sum + (matchesTerm(preference, node) ? weight : 0), 0),
  );
  return toHighest(sums, false);
}

function leastAllocatedScore(cluster: ReferenceCluster, pod: Pod, nodes: readonly Node[]): readonly number[] {
  const presumed = ({ spec }: Pod) => presumedRequestsOf(spec, requestsOf(spec));
  return nodes.map((node) => {
    const parts = (['cpu', 'memory'] as const).flatMap((name) => {
      const all = offered(node.status?.allocatable).get(name) ?? 0;
      const taken = [...on(cluster, node), pod].reduce((sum, one) => sum + presumed(one)[name], 0);
      return all === 0 ? [] : [taken > all ? 0 : Math.floor(((all - taken) * 100) / all)];
    });
    return parts.length === 0 ? 0 : Math.floor(parts.reduce((sum, part) => sum + part, 0) / parts.length);
  });
}

function balancedScore(cluster: ReferenceCluster, pod: Pod, nodes: readonly Node[]): readonly number[] {
  const own = requestsOf(pod.spec);
  if (!own.get('cpu') && !own.get('memory')) return nodes.map(() => 0);
  return nodes.map((node) => {
    const shares = (['cpu', 'memory'] as const).flatMap((name) => {
      const all = offered(node.status?.allocatable).get(name) ?? 0;
      const taken = [...on(cluster, node), pod].reduce(
        (sum, { spec }) => sum + (requestsOf(spec).get(name) ?? 0),
        0,
      );
      return all === 0 ? [] : [Math.min(taken / all, 1)];
    });
    const [first, second] = shares;
    if (first === undefined || second === undefined) return 100;
    return Math.floor((1 - Math.abs(first - second) / 2) * 100 + 1e-9);
  });
}

function podAffinityScore(cluster: ReferenceCluster, pod: Pod, nodes: readonly Node[]): readonly number[] {
  const raw = nodes.map((node) => {
    let sum = 0;
    for (const other of cluster.pods) {
      const counts = (owner: Pod, term: V1PodAffinityTerm, of: Pod) =>
        speaksOf(cluster, owner, term, of) && shares(cluster, other, node, term.topologyKey) ? 1 : 0;
      for (const { weight, podAffinityTerm } of preferred(pod, 'podAffinity'))
        sum += weight * counts(pod, podAffinityTerm, other);
      for (const { weight, podAffinityTerm } of preferred(pod, 'podAntiAffinity'))
        sum -= weight * counts(pod, podAffinityTerm, other);
      for (const { weight, podAffinityTerm } of preferred(other, 'podAffinity'))
        sum += weight * counts(other, podAffinityTerm, pod);
      for (const { weight, podAffinityTerm } of preferred(other, 'podAntiAffinity'))
        sum -= weight * counts(other, podAffinityTerm, pod);
      for (const term of required(other, 'podAffinity')) sum += counts(other, term, pod);
    }
    return sum;
  });
  const [least, most] = [Math.min(...raw), Math.max(...raw)];
  return raw.map((sum) => (most === least ? 0 : Math.floor((100 * (sum - least)) / (most - least))));
}

function spreadScore(cluster: ReferenceCluster, pod: Pod, nodes: readonly Node[]): readonly number[] {
  const constraints = constraintsOf(pod, 'ScheduleAnyway');
  if (constraints.length === 0) return nodes.map(() => 0);
  const isComplete = (node: Node) =>
    constraints.every(({ topologyKey }) => labelsOf(node)[topologyKey] !== undefined);
  const complete = nodes.filter(isComplete);
  const raw = nodes.map((node) => {
    if (!isComplete(node)) return undefined;
    let sum = 0;
    for (const constraint of constraints) {
      const key = constraint.topologyKey;
      const isHost = key === 'kubernetes.io/hostname';
      const domains = new Set(complete.map((one) => labelsOf(one)[key]));
      const counted = cluster.nodes.filter(
        (one) =>
          isComplete(one) && labelsOf(one)[key] === labelsOf(node)[key] && isCounted(pod, constraint, one),
      );
      const pods = (isHost ? [node] : counted).reduce(
        (total, one) => total + matching(cluster, pod, constraint, one),
        0,
      );
      sum += pods * Math.log((isHost ? complete.length : domains.size) + 2) + (constraint.maxSkew - 1);
    }
    return Math.round(sum);
  });
  const known = raw.filter((value) => value !== undefined);
  const [least, most] = [Math.min(...known), Math.max(0, ...known)];
  return raw.map((value) => {
    if (value === undefined) return 0;
    return most === 0 ? 100 : Math.floor((100 * (most + least - value)) / most);
  });
}

function imageScore(cluster: ReferenceCluster, pod: Pod, nodes: readonly Node[]): readonly number[] {
  const megabyte = 1024 * 1024;
  const sizeOn = (node: Node, image: string) =>
    (node.status?.images ?? []).find(({ names = [] }) => names.includes(image))?.sizeBytes;
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return nodes.map((node) => {
    let sum = 0;
    for (const { image = '' } of containers) {
      const size = sizeOn(node, image);
      const spread =
        cluster.nodes.filter((one) => sizeOn(one, image) !== undefined).length / cluster.nodes.length;
      if (size !== undefined) sum += Math.floor(size * spread);
    }
    const most = 1000 * megabyte * containers.length;
    const within = Math.min(Math.max(sum, 23 * megabyte), most);
    return Math.floor((100 * (within - 23 * megabyte)) / (most - 23 * megabyte));
  });
}
