// The phase of a pod from the states of its containers, by Kubernetes' rules. Pure.
// Guarantees: Succeeded and Failed are answered only when no container will run again.
import type { V1ContainerStatus, V1PodSpec } from '../../api/gen/types.js';
import { isRestartable, restartsAfter } from '../names.js';
import { RESTARTING_ALL } from './containerStatuses.js';

export type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

interface PhaseFacts {
  readonly spec: V1PodSpec;
  readonly initStatuses: readonly V1ContainerStatus[];
  readonly statuses: readonly V1ContainerStatus[];
  /** Its containers end to begin anew: none of their ends is the pod's. */
  readonly isRestartingAll?: boolean;
  /** The pod is being ended, so that a stopped container stays stopped. */
  readonly isTerminating: boolean;
}

export function phaseOf(facts: PhaseFacts): Phase {
  const { spec, initStatuses, statuses, isTerminating, isRestartingAll = false } = facts;
  const init = initCounts(spec, initStatuses);
  const main = mainCounts(spec, statuses);
  if (isRestartingAll && !isTerminating) return main.running + main.stopped > 0 ? 'Running' : 'Pending';
  if (init.over > 0) return 'Failed';
  const begun = main.running + main.stopped > 0;
  if (init.pending > 0 && !begun) return isTerminating && init.running === 0 ? ended(main) : 'Pending';
  if (main.waiting > 0) return isTerminating && main.running === 0 ? 'Failed' : 'Pending';
  if (main.running > 0) return 'Running';
  if (main.stopped === 0) return 'Pending';
  if (isTerminating) return ended(main);
  if (main.again > 0) return 'Running';
  return ended(main);
}

function ended({ stopped, succeeded }: { stopped: number; succeeded: number }): Phase {
  return stopped > 0 && stopped === succeeded ? 'Succeeded' : 'Failed';
}

function initCounts(spec: V1PodSpec, statuses: readonly V1ContainerStatus[]) {
  let pending = 0;
  /** Failed, with no other run to come. */
  let over = 0;
  let running = 0;
  for (const container of spec.initContainers ?? []) {
    const status = statuses.find(({ name }) => name === container.name);
    if (status?.state?.running !== undefined) running++;
    if (isRestartable(container)) {
      if (status?.started !== true) pending++;
      continue;
    }
    const end = status?.state?.terminated ?? status?.lastState?.terminated;
    // How it ended before its pod began anew says nothing of this time.
    if (status?.state?.running !== undefined || end === undefined || end.reason === RESTARTING_ALL) pending++;
    else if (end.exitCode !== 0) {
      if (!restartsAfter(spec, container, end.exitCode)) over++;
      pending++;
    }
  }
  return { pending, over, running };
}

function mainCounts(spec: V1PodSpec, statuses: readonly V1ContainerStatus[]) {
  const counts = { running: 0, stopped: 0, succeeded: 0, again: 0, waiting: 0 };
  for (const container of spec.containers) {
    const status = statuses.find((one) => one.name === container.name);
    if (status?.state?.running !== undefined) counts.running++;
    else if (status?.state?.terminated !== undefined) {
      const { exitCode } = status.state.terminated;
      counts.stopped++;
      if (exitCode === 0) counts.succeeded++;
      if (restartsAfter(spec, container, exitCode)) counts.again++;
    } else if (status?.lastState?.terminated !== undefined) {
      counts.stopped++;
      counts.again++; // it waits for its next run
    } else counts.waiting++;
  }
  return counts;
}
