// Probes one container for one purpose, again and again.
// Guarantees: one probe at a time; a new container is probed afresh; after `stop` nothing is called any more.
import type { V1Container, V1ContainerStatus, V1Probe } from '../../api/gen/types.js';
import type { ProbeKind } from '../ports.js';
import { initialRecord, type ProbeAnswer, type ProbeRecord, recordAfter, timingOf } from './result.js';
import type { ProbeTarget } from './run.js';

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls once, after at least this long; returns what takes it back. */
  after(delayMs: number, call: () => void): () => void;
}

interface WorkerOptions {
  readonly kind: ProbeKind;
  readonly container: V1Container;
  readonly probe: V1Probe;
  readonly clock: Clock;
  /** Before the first probe only: after a restart not all begin at once. */
  readonly firstDelayMs: number;
  readonly run: (target: ProbeTarget) => Promise<ProbeAnswer>;
  /** Whether the container has passed its startup probe, or has none. */
  readonly isStarted: (containerId: string) => boolean;
  readonly onAnswer: (containerId: string, answer: ProbeAnswer) => void;
  readonly onChange: () => void;
}

/** What the worker knows of the container at this moment. */
interface Observed {
  readonly status: V1ContainerStatus | undefined;
  readonly podIp: string | undefined;
  /** What the API still says of this container: after a restart of the kubelet, the last word there was. */
  readonly told: V1ContainerStatus | undefined;
  /** A pod that is ending is no longer tried for life. */
  readonly ending: boolean;
}

const TRIES = 3;

export class ProbeWorker {
  readonly #options: WorkerOptions;
  #observed: Observed = { status: undefined, podIp: undefined, told: undefined, ending: false };
  #containerId = '';
  #record: ProbeRecord;
  /** Liveness or startup has failed: this container will be restarted and needs no more probes. */
  #onHold = false;
  #busy = false;
  /** Not before the first delay is over: it is there to spread the probes of a node that starts. */
  #mayHurry: boolean;
  #stopped = false;
  #cancel: () => void;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#record = initialRecord(options.kind);
    this.#mayHurry = options.firstDelayMs === 0;
    this.#cancel = options.clock.after(options.firstDelayMs, () => this.#tick());
  }

  get kind(): ProbeKind {
    return this.#options.kind;
  }

  observe(observed: Observed): void {
    const wasRunning = this.#observed.status?.state?.running !== undefined;
    this.#observed = observed;
    const { status, told } = observed;
    const id = bareId(status?.containerID);
    const isNew = id !== '' && id !== this.#containerId;
    if (isNew) {
      this.#containerId = id;
      this.#record = bareId(told?.containerID) === id ? resumed(this.kind, told) : initialRecord(this.kind);
      this.#onHold = false;
    }
    const isRunning = status?.state?.running !== undefined;
    if (isRunning && (isNew || !wasRunning) && this.#mayHurry) this.hurry();
  }

  /** Undefined for a container that this worker does not know. */
  resultFor(containerId: string): ProbeRecord['result'] | undefined {
    return containerId === this.#containerId ? this.#record.result : undefined;
  }

  /** Probes now instead of at the next period: something it waited for has happened. */
  hurry(): void {
    if (this.#busy || this.#stopped) return;
    this.#cancel();
    this.#cancel = this.#options.clock.after(0, () => this.#tick());
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  #tick(): void {
    const { clock, probe } = this.#options;
    const startedMs = clock.now();
    this.#busy = true;
    this.#mayHurry = true;
    void this.#probeOnce().finally(() => {
      this.#busy = false;
      if (this.#stopped) return;
      // From the beginning of this one, so that slow probes do not stretch the period.
      const nextMs = startedMs + timingOf(probe).periodMs - clock.now();
      this.#cancel = clock.after(Math.max(0, nextMs), () => this.#tick());
    });
  }

  async #probeOnce(): Promise<void> {
    const id = this.#containerId;
    if (!this.#isDue()) return;
    const { probe, container, run, onAnswer } = this.#options;
    const timing = timingOf(probe);
    const target = {
      probe,
      container,
      containerId: id,
      podIp: this.#observed.podIp,
      timeoutMs: timing.timeoutMs,
    };
    let answer = await run(target);
    for (let tries = 1; answer.outcome === 'unknown' && tries < TRIES && !this.#stopped; tries++)
      answer = await run(target);
    // Meanwhile the pod may be gone or its container another one.
    if (this.#stopped || this.#containerId !== id) return;
    onAnswer(id, answer);
    this.#take(recordAfter(this.#record, answer, timing));
  }

  #isDue(): boolean {
    const { kind, probe, clock, isStarted } = this.#options;
    const { status, ending } = this.#observed;
    const running = status?.state?.running;
    if (this.#containerId === '' || this.#onHold || bareId(status?.containerID) !== this.#containerId)
      return false;
    if (running === undefined) {
      if (kind === 'readiness') this.#take({ ...initialRecord(kind), result: 'failure' });
      return false;
    }
    if (ending && kind !== 'readiness') return false;
    const startedMs = running.startedAt === undefined ? 0 : Date.parse(running.startedAt);
    if (clock.now() - startedMs < timingOf(probe).initialDelayMs) return false;
    return kind === 'startup' ? this.#record.result !== 'success' : isStarted(this.#containerId);
  }

  #take(record: ProbeRecord): void {
    const changed = record.result !== this.#record.result;
    this.#record = record;
    if (this.kind !== 'readiness' && record.result === 'failure') this.#onHold = true;
    if (changed) this.#options.onChange();
  }
}

/** A container that was ready or started before this kubelet began is so until a probe says otherwise. */
function resumed(kind: ProbeKind, told: V1ContainerStatus | undefined): ProbeRecord {
  const passed = kind === 'startup' ? told?.started === true : kind === 'readiness' && told?.ready === true;
  return passed ? { ...initialRecord(kind), result: 'success' } : initialRecord(kind);
}

/** `containerd://abc` as `abc`. */
export function bareId(containerId: string | undefined): string {
  return (containerId ?? '').replace(/^[^:/]+:\/\//, '');
}
