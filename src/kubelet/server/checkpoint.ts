// A container's state written to an archive below the kubelet's directory, by the runtime.
// Guarantees: archives are root's alone; what the runtime cannot do is answered in its own words.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../../base/errorMessage.js';
import type { RuntimeService } from '../../cri/runtime.js';
import { HttpError, hasContainer, type PodLookup, podOf, runningContainer } from './containers.js';

interface CheckpointRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** The last one counts. */
  readonly timeouts: readonly string[];
  readonly nowMs: number;
}

/** Answers the archives that were made. */
export async function checkpoint(
  { runtime, pods, directory }: { runtime: RuntimeService; pods: PodLookup; directory: string },
  { namespace, pod: podName, container, timeouts, nowMs }: CheckpointRequest,
): Promise<{ readonly items: readonly string[] }> {
  const pod = podOf(pods, { namespace, pod: podName, uid: undefined });
  if (!hasContainer(pod, container)) throw new HttpError(404, `container ${container} does not exist`);
  const timeout = timeouts.at(-1) ?? '0';
  if (!/^\d+$/.test(timeout)) throw new HttpError(404, 'cannot parse value of timeout parameter');
  const at = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
  const location = path.join(directory, `checkpoint-${podName}_${namespace}-${container}-${at}.tar`);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const id = await runningContainer(runtime, pod, container);
    await runtime.checkpointContainer(id, location, Number(timeout));
  } catch (cause) {
    const words = `checkpointing of ${namespace}/${podName}/${container} failed (${messageOf(cause)})`;
    throw new HttpError(500, words, { cause });
  }
  return { items: [location] };
}
