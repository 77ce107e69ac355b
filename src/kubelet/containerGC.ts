// Which dead containers and sandboxes may go. Pure.
// Guarantees: nothing that runs; the last dead run of each container of a living pod stays, for its logs and its status.
import type { PodSandboxStatus } from '../cri/runtime.js';
import type { ContainerRun, RuntimePod } from './runtime/runtimePod.js';

interface GarbageFacts {
  readonly pods: readonly RuntimePod[];
  /** No source names it any more and its worker has finished. */
  readonly isGone: (uid: string) => boolean;
  /** Dead runs kept for each container: one, as in Kubernetes. */
  readonly keepPerContainer: number;
}

interface Garbage {
  readonly containers: readonly ContainerRun[];
  readonly sandboxes: readonly PodSandboxStatus[];
}

export function findGarbage({ pods, isGone, keepPerContainer }: GarbageFacts): Garbage {
  const containers: ContainerRun[] = [];
  const sandboxes: PodSandboxStatus[] = [];
  for (const pod of pods) {
    const gone = isGone(pod.uid);
    const runs = deadRuns(pod, gone ? 0 : keepPerContainer);
    containers.push(...runs);
    // The newest sandbox of a living pod stays, dead or not: it tells the number of the next. So does one with a run that
    // stays, since a runtime removes both together.
    const dead = pod.sandboxes.filter(({ state }) => state === 'SANDBOX_NOTREADY');
    const isEmpty = ({ id }: PodSandboxStatus) =>
      pod.containers.every((run) => run.sandboxId !== id || runs.includes(run));
    sandboxes.push(...(gone ? dead : dead.filter((one) => one !== pod.sandboxes[0] && isEmpty(one))));
  }
  return { containers, sandboxes };
}

/** Newest first, so that those beyond the number kept are the oldest. */
function deadRuns({ containers }: RuntimePod, keep: number): ContainerRun[] {
  const seen = new Set<string>();
  const dead = new Map<string, number>();
  return containers.filter(({ metadata: { name }, state }) => {
    const newest = !seen.has(name);
    seen.add(name);
    // The newest may be about to start; it takes no place of one that has run and has something to tell.
    if (state === 'CONTAINER_CREATED') return !newest || keep === 0;
    if (state !== 'CONTAINER_EXITED') return false;
    const count = (dead.get(name) ?? 0) + 1;
    dead.set(name, count);
    return count > keep;
  });
}
