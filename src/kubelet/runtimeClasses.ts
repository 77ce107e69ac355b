// The RuntimeClasses of pods: which handler of the runtime each of them names.
// Guarantees: a node whose pods name none asks for none; without an apiserver the runtime's default serves all.
import { RUNTIME_CLASSES } from '../api/resources.js';
import type { Informers } from '../client/informer.js';
import { abortable } from './abort.js';
import { KubeletError } from './error.js';
import type { Pod } from './ports.js';

export class RuntimeClasses {
  constructor(private readonly informers: Informers | undefined) {}

  /** The handler's name; empty for the default. Waits until the classes are known, and throws when the pod's is none. */
  async handlerOf(pod: Pod, signal: AbortSignal): Promise<string> {
    const name = pod.spec.runtimeClassName ?? '';
    if (name === '' || this.informers === undefined) return '';
    await abortable(this.informers.of(RUNTIME_CLASSES).synced(), signal);
    const handler = this.knownHandler(pod);
    if (handler !== undefined) return handler;
    throw new KubeletError('CreatePodSandboxError', `runtimeclass.node.k8s.io "${name}" not found`);
  }

  /** What is known of it by now. */
  knownHandler({ spec: { runtimeClassName: name = '' } }: Pod): string | undefined {
    if (name === '' || this.informers === undefined) return '';
    return this.informers.of(RUNTIME_CLASSES).get(name)?.handler;
  }
}
