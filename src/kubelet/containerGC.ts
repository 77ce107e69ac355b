// Which dead containers and sandboxes may go. Pure.
// Guarantees: nothing that runs; the last dead run of each container of a living pod stays, for its logs and its status.
import type { ContainerStatus, PodSandboxStatus } from '../cri/runtime.js';
import type { RuntimePod } from './runtime/runtimePod.js';

export interface GarbageFacts {
  readonly pods: readonly RuntimePod[];
  /** No source names it any more and its worker has finished. */
  readonly isGone: (uid: string) => boolean;
  /** Dead runs kept for each container: one, as in Kubernetes. */
  readonly keepPerContainer: number;
}

export interface Garbage {
  readonly containers: readonly ContainerStatus[];
  readonly sandboxes: readonly PodSandboxStatus[];
}

export function findGarbage({ pods, isGone, keepPerContainer }: GarbageFacts): Garbage {
  const containers: ContainerStatus[] = [];
  const sandboxes: PodSandboxStatus[] = [];
  for (const pod of pods) {
    const gone = isGone(pod.uid);
    containers.push(...deadRuns(pod, gone ? 0 : keepPerContainer));
    // The newest sandbox of a living pod stays, dead or not: it tells the number of the next.
    const dead = pod.sandboxes.filter(({ state }) => state === 'SANDBOX_NOTREADY');
    sandboxes.push(...(gone ? dead : dead.filter((one) => one !== pod.sandboxes[0])));
  }
  return { containers, sandboxes };
}

/** Newest first, so that those beyond the number kept are the oldest. */
function deadRuns({ containers }: RuntimePod, keep: number): ContainerStatus[] {
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
