// The status of a pod as the API shows it: phase, conditions, containers, addresses. Pure.
// Guarantees: the same facts give the same status, so that an unchanged pod is never written.
import type {
  V1ContainerStatus,
  V1PodSpec,
  V1PodStatus,
  V1ResourceRequirements,
} from '../../api/gen/types.js';
import { qosClassOf } from '../../api/kinds/pod/qos.js';
import { podAmounts } from '../../api/quota/usage.js';
import { ephemeralContainers } from '../names.js';
import { restartsAll } from '../podActions.js';
import type { PodFailure } from '../podWorkers.js';
import type { PendingResize } from '../resize/allocations.js';
import { podLimit } from '../resources.js';
import { readySandbox, sandboxIps } from '../runtime/runtimePod.js';
import { knownConditions, podConditions } from './conditions.js';
import { type ContainerFacts, containerStatuses } from './containerStatuses.js';
import { phaseOf } from './phase.js';
import { apiTime } from './time.js';

export interface StatusFacts extends ContainerFacts {
  /** The last status known for this pod: of the API, or one that is on its way there. */
  readonly previous: V1PodStatus;
  readonly hostIps: readonly string[];
  readonly isTerminating: boolean;
  /** Why the pod as a whole ends: eviction, deadline, refusal. Makes it Failed, once nothing of it runs. */
  readonly failure?: PodFailure | undefined;
  /** Resources that the pod asks for and was not granted. */
  readonly pendingResize?: PendingResize | undefined;
  /** Its containers are getting other resources; `error` says what stands in the way. */
  readonly resizing?: { readonly error?: string } | undefined;
  readonly now: number;
}

export function podStatus(facts: StatusFacts): V1PodStatus {
  const { pod, runtime, previous, hostIps, failure, now } = facts;
  const initStatuses = containerStatuses(
    facts,
    pod.spec.initContainers ?? [],
    previous.initContainerStatuses,
  );
  const statuses = containerStatuses(facts, pod.spec.containers, previous.containerStatuses);
  const ephemeral = containerStatuses(facts, ephemeralContainers(pod), previous.ephemeralContainerStatuses);
  const wasEnded = previous.phase === 'Succeeded' || previous.phase === 'Failed';
  const isRestartingAll = restartsAll(pod, runtime);
  const computed = phaseOf({
    spec: pod.spec,
    initStatuses,
    statuses,
    isTerminating: facts.isTerminating,
    isRestartingAll,
  });
  // Whoever waits for the end must not find it running: a pod that has to end says so when its containers have.
  const isAlive = [...initStatuses, ...statuses, ...ephemeral].some(
    ({ state }) => state?.running !== undefined,
  );
  const end = isAlive ? undefined : failure;
  // An ended pod never comes back to life under the same uid.
  const phase = wasEnded ? (previous.phase as typeof computed) : end === undefined ? computed : 'Failed';
  const sandbox = readySandbox(runtime);
  const ips = podIps(facts);
  const generation = pod.metadata.generation;
  const conditions = podConditions({
    spec: pod.spec,
    phase,
    initStatuses,
    statuses,
    sandboxReady: sandbox !== undefined && (pod.spec.hostNetwork === true || sandboxIps(sandbox).length > 0),
    previous: knownConditions(previous.conditions, pod.status.conditions),
    disruption: end?.isDisruption === true ? (end.disruptionMessage ?? end.message) : undefined,
    restartingAll: couldRestartAll(pod) ? isRestartingAll : undefined,
    pendingResize: facts.pendingResize,
    resizing: facts.resizing,
    generation,
    now,
  });
  const reason = end ?? (wasEnded ? { reason: previous.reason, message: previous.message } : undefined);
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase,
    ...(reason?.reason === undefined ? {} : { reason: reason.reason }),
    ...(reason?.message === undefined ? {} : { message: reason.message }),
    conditions,
    ...wholeResources(facts),
    ...(hostIps[0] === undefined ? {} : { hostIP: hostIps[0], hostIPs: hostIps.map((ip) => ({ ip })) }),
    ...(ips[0] === undefined ? {} : { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) }),
    startTime: previous.startTime ?? apiTime(now),
    ...(initStatuses.length === 0 ? {} : { initContainerStatuses: initStatuses }),
    containerStatuses: statuses,
    ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral }),
    qosClass: previous.qosClass ?? qosClassOf(pod.spec),
  };
}

/** What the pod as a whole was granted, and what its control group has. */
function wholeResources({ pod: { spec }, previous }: StatusFacts): Partial<V1PodStatus> {
  const requests = spec.resources?.requests ?? podAmounts(spec, 'requests');
  return {
    resources:
      spec.resources === undefined ? summedResources(spec, requests) : (previous.resources ?? spec.resources),
    ...(Object.keys(requests).length === 0 ? {} : { allocatedResources: requests }),
  };
}

/** Of a pod that asks for nothing as a whole: what its containers make of its control group. */
function summedResources(spec: V1PodSpec, requests: Record<string, string>): V1ResourceRequirements {
  const sums = (key: 'requests' | 'limits', amounts: Record<string, string>) => {
    const named = (['cpu', 'memory'] as const).flatMap((name) => {
      const amount = amounts[name];
      return amount === undefined || (key === 'limits' && podLimit(spec, name) <= 0)
        ? []
        : [[name, amount] as const];
    });
    return named.length === 0 ? {} : { [key]: Object.fromEntries(named) };
  };
  return { ...sums('requests', requests), ...sums('limits', podAmounts(spec, 'limits')) };
}

const couldRestartAll = ({ spec }: ContainerFacts['pod']) =>
  [...(spec.initContainers ?? []), ...spec.containers].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === 'RestartAllContainers'),
  );

function podIps({ pod, runtime, hostIps, previous }: StatusFacts): readonly string[] {
  if (pod.spec.hostNetwork === true) return runtime.sandboxes.length > 0 ? hostIps : [];
  const own = sandboxIps(readySandbox(runtime));
  // A pod that ended keeps the address that it had, as `kubectl get pods -o wide` shows it.
  return own.length > 0 ? own : (previous.podIPs ?? []).map(({ ip }) => ip);
}

/** What probes look at: the statuses of everything that may be probed. */
export function probedStatuses(status: V1PodStatus): readonly V1ContainerStatus[] {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
}
