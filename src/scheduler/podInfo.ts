// A pod as the scheduler sees it: the object, and what is computed from it once. Pure.
import type { V1Pod, V1PodAffinityTerm, V1TopologySpreadConstraint, V1Volume } from '../api/gen/types.js';
import { heldSpec } from '../api/kinds/pod/held.js';
import { keyOf, type Stored } from '../api/object.js';
import { type Amounts, COLUMNS, presumedRequestsOf, requestsOf } from './resources.js';
import { type AffinityTerm, affinityTermOf, type PodTerm, spreadTermOf } from './terms.js';

export interface HostPort {
  readonly ip: string;
  /** `protocol/port`. */
  readonly key: string;
}

export interface SpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly hard: boolean;
  readonly term: PodTerm;
  readonly honorsAffinity: boolean;
  readonly honorsTaints: boolean;
}

export interface PodInfo {
  readonly key: string;
  readonly pod: Stored<V1Pod>;
  readonly spec: Stored<V1Pod>['spec'];
  readonly namespace: string;
  /** The same for all pods of the namespace with the same labels. */
  readonly classKey: string;
  readonly priority: number;
  /** Being deleted: spreading no longer counts it. */
  readonly terminating: boolean;
  readonly requests: Amounts;
  /** The same, as nodes count them: those with a column in its order, and the others by name. Endless ones count nowhere. */
  readonly columns: readonly number[];
  readonly otherRequests: readonly (readonly [name: string, amount: number])[];
  /** Requests as spreading counts them: never zero. */
  readonly presumed: { readonly cpu: number; readonly memory: number };
  readonly hostPorts: readonly HostPort[];
  /** Whether it has volumes that other pods may keep from it. */
  readonly contestsVolumes: boolean;
  readonly affinity: readonly AffinityTerm[];
  readonly antiAffinity: readonly AffinityTerm[];
  /** Those that only wish; the weight of anti-affinity is negative. */
  readonly wishes: readonly AffinityTerm[];
  readonly spread: readonly SpreadConstraint[];
}

const NONE: readonly never[] = Object.freeze([]);

export function podInfoOf(pod: Stored<V1Pod>): PodInfo {
  const { spec } = pod;
  const requests = requestsOf(heldSpec(pod));
  return {
    key: keyOf(pod.metadata),
    pod,
    spec,
    namespace: pod.metadata.namespace ?? '',
    classKey: classKeyOf(pod.metadata.namespace ?? '', pod.metadata.labels),
    priority: spec.priority ?? 0,
    terminating: pod.metadata.deletionTimestamp !== undefined,
    requests,
    columns: COLUMNS.map((name) => finite(requests.get(name))),
    otherRequests: otherRequestsOf(requests),
    presumed: presumedRequestsOf(spec, requests),
    hostPorts: hostPortsOf(pod),
    contestsVolumes: (spec.volumes ?? NONE).some(isContested),
    ...affinityOf(pod),
    spread: (spec.topologySpreadConstraints ?? NONE).map((constraint) => spreadConstraintOf(pod, constraint)),
  };
}

function otherRequestsOf(requests: Amounts): PodInfo['otherRequests'] {
  const others = [...requests].filter(
    ([name, amount]) => !COLUMNS.includes(name as never) && Number.isFinite(amount),
  );
  return others.length === 0 ? NONE : others;
}

/** An endless request, taken back, would leave NaN behind. */
function finite(amount = 0): number {
  return Number.isFinite(amount) ? amount : 0;
}

/** Labels in their own order: the same labels in another order are another class, which costs a little and hurts nothing. */
function classKeyOf(namespace: string, labels: Readonly<Record<string, string>> | undefined): string {
  return labels === undefined ? namespace : `${namespace}\0${JSON.stringify(labels)}`;
}

/** A pod that has ended holds nothing of its node any more. */
export function hasEnded({ status }: Stored<V1Pod>): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

function affinityOf(pod: Stored<V1Pod>): Pick<PodInfo, 'affinity' | 'antiAffinity' | 'wishes'> {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  if (podAffinity === undefined && podAntiAffinity === undefined)
    return { affinity: NONE, antiAffinity: NONE, wishes: NONE };
  const required = (terms: readonly V1PodAffinityTerm[] = NONE) =>
    terms.map((term) => affinityTermOf(pod, term, 0));
  const preferred = (side: typeof podAffinity, sign: 1 | -1) =>
    (side?.preferredDuringSchedulingIgnoredDuringExecution ?? NONE).map(({ weight, podAffinityTerm }) =>
      affinityTermOf(pod, podAffinityTerm, sign * weight),
    );
  return {
    affinity: required(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    antiAffinity: required(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    wishes: [...preferred(podAffinity, 1), ...preferred(podAntiAffinity, -1)],
  };
}

export function spreadConstraintOf(
  pod: Stored<V1Pod>,
  constraint: V1TopologySpreadConstraint,
): SpreadConstraint {
  return {
    topologyKey: constraint.topologyKey,
    maxSkew: constraint.maxSkew,
    minDomains: constraint.minDomains ?? 1,
    hard: constraint.whenUnsatisfiable === 'DoNotSchedule',
    term: spreadTermOf(pod, constraint.labelSelector, constraint.matchLabelKeys),
    honorsAffinity: constraint.nodeAffinityPolicy !== 'Ignore',
    honorsTaints: constraint.nodeTaintsPolicy === 'Honor',
  };
}

/** Kinds of volume that a pod has to itself, or that any number of pods may share. */
const UNCONTESTED = [
  'configMap',
  'downwardAPI',
  'emptyDir',
  'hostPath',
  'image',
  'projected',
  'secret',
] as const;

export function isContested(volume: V1Volume): boolean {
  return !UNCONTESTED.some((kind) => volume[kind] !== undefined);
}

function hostPortsOf({ spec }: Stored<V1Pod>): readonly HostPort[] {
  const sidecars = (spec.initContainers ?? NONE).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...spec.containers, ...sidecars].flatMap(({ ports = NONE }) =>
    ports.flatMap(({ hostPort = 0, hostIP, protocol = 'TCP' }) =>
      hostPort > 0 ? [{ ip: hostIP || '0.0.0.0', key: `${protocol}/${hostPort}` }] : [],
    ),
  );
}

/** Higher priority first, then who has run for longer; the name only makes it certain. */
export function byImportance(left: PodInfo, right: PodInfo): number {
  if (left.priority !== right.priority) return right.priority - left.priority;
  const [a, b] = [startOf(left), startOf(right)];
  if (a !== b) return a < b ? -1 : 1;
  return left.key < right.key ? -1 : left.key > right.key ? 1 : 0;
}

/** A pod that has not started counts as starting now. */
export function startOf({ pod }: PodInfo): string {
  return pod.status?.startTime ?? '9999';
}
