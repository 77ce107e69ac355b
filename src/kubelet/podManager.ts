// The pods this node is to run, and the mirrors by which the API shows its static ones. No IO.
// Guarantees: a mirror is never run; a static pod and its mirror find each other by name.
import { keyOf } from '../api/object.js';
import { isMirror, isStatic } from './names.js';
import type { Pod } from './ports.js';

export class PodManager {
  readonly #pods = new Map<string, Pod>();
  readonly #mirrors = new Map<string, Pod>();

  set(pod: Pod): void {
    if (isMirror(pod)) this.#mirrors.set(keyOf(pod.metadata), pod);
    else this.#pods.set(pod.metadata.uid, pod);
  }

  remove(pod: Pod): void {
    const key = keyOf(pod.metadata);
    if (!isMirror(pod)) this.#pods.delete(pod.metadata.uid);
    else if (this.#mirrors.get(key)?.metadata.uid === pod.metadata.uid) this.#mirrors.delete(key);
  }

  get(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  all(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  allMirrors(): readonly Pod[] {
    return [...this.#mirrors.values()];
  }

  mirrorOf(pod: Pod): Pod | undefined {
    return this.#mirrors.get(keyOf(pod.metadata));
  }

  staticOf(mirror: Pod): Pod | undefined {
    const key = keyOf(mirror.metadata);
    return this.all().find((pod) => isStatic(pod) && keyOf(pod.metadata) === key);
  }

  byName(namespace: string, name: string): Pod | undefined {
    return this.all().find(
      ({ metadata }) => metadata.name === name && (metadata.namespace ?? 'default') === namespace,
    );
  }

  /** Where the API shows this pod. */
  apiPod(pod: Pod): Pod | undefined {
    return isStatic(pod) ? this.mirrorOf(pod) : (this.#pods.get(pod.metadata.uid) ?? pod);
  }
}
