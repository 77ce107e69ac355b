// Everything the runtime knows of one pod, asked for by its uid.
// Guarantees: what vanishes between listing and asking is left out; ended containers come with their termination message.
import { CriError } from '../../cri/error.js';
import type { Container, PodSandboxStatus, RuntimeService } from '../../cri/runtime.js';
import { POD_UID } from '../names.js';
import type { ContainerRun, RuntimePod } from './runtimePod.js';
import { terminationMessage } from './terminationMessage.js';

export async function fetchPod(
  runtime: RuntimeService,
  uid: string,
  podLogsDir: string,
): Promise<RuntimePod> {
  const labels = { [POD_UID]: uid };
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandbox({ labels }),
    runtime.listContainers({ labels }),
  ]);
  const [sandboxStatuses, statuses] = await Promise.all([
    Promise.all(sandboxes.map(({ id }) => unlessGone(runtime.podSandboxStatus(id)))),
    Promise.all(containers.map((one) => runOf(runtime, one))),
  ]);
  const known = newestFirst(sandboxStatuses.filter((one): one is PodSandboxStatus => one !== undefined));
  const runs = newestFirst(statuses.filter((one): one is ContainerRun => one !== undefined));
  const metadata = known[0]?.metadata;
  return {
    uid,
    name: metadata?.name ?? '',
    namespace: metadata?.namespace ?? '',
    sandboxes: known,
    containers: await Promise.all(
      runs.map(async (run) =>
        run.state === 'CONTAINER_EXITED'
          ? { ...run, message: await terminationMessage(run, podLogsDir) }
          : run,
      ),
    ),
  };
}

/** A run's own status does not say which sandbox it is in; the list does. */
async function runOf(runtime: RuntimeService, listed: Container): Promise<ContainerRun | undefined> {
  const status = await unlessGone(runtime.containerStatus(listed.id));
  return status && { ...status, sandboxId: listed.podSandboxId };
}

async function unlessGone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof CriError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

function newestFirst<
  T extends { readonly createdAt: bigint; readonly metadata: { readonly attempt: number } },
>(items: readonly T[]): T[] {
  return [...items].sort((a, b) =>
    a.createdAt === b.createdAt
      ? b.metadata.attempt - a.metadata.attempt
      : a.createdAt < b.createdAt
        ? 1
        : -1,
  );
}
