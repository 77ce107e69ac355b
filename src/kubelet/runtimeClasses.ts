// The RuntimeClasses of pods: which handler of the runtime each of them names.
// Guarantees: a node whose pods name none asks for none; without an apiserver the runtime's default serves all.
import { RUNTIME_CLASSES } from '../api/resources.js';
import type { Informers } from '../client/informer.js';
import type { Pod } from './ports.js';

export class RuntimeClasses {
  readonly #informers: Informers | undefined;

  constructor(informers: Informers | undefined) {
    this.#informers = informers;
  }

  /** Waits until the classes are known, if the pod names one. */
  async ready({ spec: { runtimeClassName: name = '' } }: Pod): Promise<void> {
    if (name !== '') await this.#informers?.of(RUNTIME_CLASSES).synced();
  }

  /** The handler's name; empty for the default, undefined when there is no such class. */
  handlerOf({ spec: { runtimeClassName: name = '' } }: Pod): string | undefined {
    if (name === '' || this.#informers === undefined) return '';
    return this.#informers.of(RUNTIME_CLASSES).get(name)?.handler;
  }
}
