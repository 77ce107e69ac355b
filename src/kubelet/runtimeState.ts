// What the runtime says of itself, asked often until it is ready and now and then after.
// Guarantees: listeners hear of a change only; asking never throws.
import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import { CriError } from '../cri/error.js';
import type { ContainerRuntime, Image } from '../cri/runtime.js';
import { networkProblem, type RuntimeFacts, runtimeProblem } from './node/nodeStatus.js';

const READY_PERIOD_MS = 5_000;
const UNREADY_PERIOD_MS = 200;
/** As Kubernetes' kubelet waits. */
const SILENT_MS = 30_000;

export class RuntimeState {
  readonly #cri: ContainerRuntime;
  readonly #log: Log;
  readonly #changed: () => void;

  #state: RuntimeFacts = {
    version: undefined,
    conditions: [],
    handlers: [],
    features: undefined,
    problem: 'not asked yet',
    images: [],
    cgroupDriver: undefined,
  };
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(cri: ContainerRuntime, log: Log, changed: () => void) {
    this.#cri = cri;
    this.#log = log;
    this.#changed = changed;
  }

  async start(): Promise<void> {
    await this.#look();
    if (this.#stopped) return;
    const period = this.#problem() === undefined ? READY_PERIOD_MS : UNREADY_PERIOD_MS;
    this.#timer = setTimeout(() => void this.start(), period);
  }

  facts(): RuntimeFacts {
    return this.#state;
  }

  networkProblem(): string | undefined {
    return networkProblem(this.#state);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #problem(): string | undefined {
    return runtimeProblem(this.#state) ?? networkProblem(this.#state);
  }

  async #look(): Promise<void> {
    const before = this.#state;
    // One that hangs fails a question only after minutes; pods are made elsewhere sooner.
    const problem = `it has not answered for ${SILENT_MS / 1000} s`;
    const silence = setTimeout(() => this.#become({ ...this.#state, conditions: [], problem }), SILENT_MS);
    try {
      const [version, cgroupDriver, status, images] = await Promise.all([
        before.version ?? this.#cri.runtime.version(),
        before.version === undefined ? this.#cgroupDriver() : before.cgroupDriver,
        this.#cri.runtime.status(),
        this.#images(),
      ]);
      this.#become({ version, cgroupDriver, ...status, problem: undefined, images });
    } catch (error) {
      // Version and driver are asked again: it may be another runtime that comes back.
      this.#become({ ...before, version: undefined, conditions: [], problem: messageOf(error) });
    } finally {
      clearTimeout(silence);
    }
  }

  #become(next: RuntimeFacts): void {
    if (this.#stopped) return;
    const before = this.#state;
    this.#state = next;
    const now = this.#problem();
    if (now !== (runtimeProblem(before) ?? networkProblem(before)))
      this.#log.info(now === undefined ? 'the container runtime is ready' : now);
    if (!isDeepStrictEqual(before, next)) this.#changed();
  }

  async #cgroupDriver(): Promise<RuntimeFacts['cgroupDriver']> {
    try {
      return (await this.#cri.runtime.runtimeConfig()).cgroupDriver;
    } catch (error) {
      if (error instanceof CriError && error.code === 'UNIMPLEMENTED') return undefined; // before containerd 2.0
      throw error;
    }
  }

  /** A runtime that cannot list its images can still run pods. */
  async #images(): Promise<readonly Image[]> {
    try {
      return await this.#cri.images.listImages();
    } catch (error) {
      this.#log.debug('cannot list images', { error: messageOf(error) });
      return this.#state.images;
    }
  }
}
