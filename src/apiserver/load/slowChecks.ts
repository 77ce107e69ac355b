// Checks that would hold the thread which serves everybody: done one after the other on a thread of their own.
// Guarantees: users take turns; a check ends after its processor time, and with it what it holds; the thread ends when nobody needs it.
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Causes } from '../../api/causes.js';
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { statusError } from '../../api/status.js';

interface SlowCheck {
  readonly kind: KindDefinition;
  readonly object: unknown;
  /** Undefined when it is new. */
  readonly old?: unknown;
}

/** What the thread is told. All of it is JSON: that is quicker to make than a copy of the values. */
export interface CheckJob {
  /** Left out when it is the one that was told last. */
  readonly definition?: string;
  /** Of the definition; undefined when the object is a definition itself. */
  readonly version?: string;
  readonly object: string;
  readonly old?: string;
}

export type CheckAnswer =
  | { readonly causes: Causes }
  | { readonly error: string }
  /** Said first: its number among the threads of the machine. */
  | { readonly thread: number };

interface Waiting {
  readonly check: SlowCheck;
  resolve(causes: Causes): void;
  reject(error: Error): void;
}

interface SlowCheckOptions {
  /** Of processor time: on a busy machine a check takes longer. */
  readonly mostMs: number;
  readonly idleMs: number;
  readonly memoryMb: number;
  readonly script: string | URL;
}

/** Node 20 reads no TypeScript on a thread: where this file does, as in tests, what was built is run. */
const THREAD = new URL(
  './checkThread.js',
  import.meta.url.endsWith('.ts')
    ? import.meta.url.replace(/\/src\/(?!.*\/src\/)/, '/dist/src/')
    : import.meta.url,
);

export class SlowChecks {
  readonly #options: SlowCheckOptions;
  /** By user, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  #thread: Worker | undefined;
  #current: Waiting | undefined;
  /** What the thread knows. */
  #told: KubeObject | undefined;
  #timer: NodeJS.Timeout | undefined;
  #number: number | undefined;
  /** What the thread had used when the check began. */
  #usedBefore = 0;

  constructor(options: Partial<SlowCheckOptions> = {}) {
    this.#options = { mostMs: 10_000, idleMs: 20_000, memoryMb: 160, script: THREAD, ...options };
  }

  /** True while the thread is there. */
  get isRunning(): boolean {
    return this.#thread !== undefined;
  }

  /** The faults of the object. Throws RequestEntityTooLarge when they were not found in time. */
  run(user: string, check: SlowCheck): Promise<Causes> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { check, resolve, reject };
      const own = this.#waiting.get(user);
      if (own === undefined) this.#waiting.set(user, [waiting]);
      else own.push(waiting);
      this.#next();
    });
  }

  close(): void {
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    const ending = statusError('ServiceUnavailable', 'the server is ending');
    for (const { reject } of waiting) reject(ending);
    this.#fail(ending);
  }

  #next(): void {
    if (this.#current !== undefined) return;
    clearTimeout(this.#timer);
    const [turn] = this.#waiting;
    if (turn === undefined) {
      this.#timer = setTimeout(() => this.#end(), this.#options.idleMs).unref();
      return;
    }
    const [user, own] = turn;
    this.#waiting.delete(user);
    this.#current = own.shift();
    if (own.length > 0) this.#waiting.set(user, own);
    if (this.#current !== undefined) this.#begin(this.#current);
  }

  #begin({ check }: Waiting): void {
    const thread = this.#started();
    const { kind, object, old } = check;
    const { source, version } = kind.definition ?? {};
    const isTold = source === undefined || source === this.#told;
    if (!isTold) this.#told = source;
    const job: CheckJob = {
      ...(version === undefined ? {} : { version }),
      ...(isTold ? {} : { definition: JSON.stringify(source) }),
      object: JSON.stringify(object),
      ...(old === undefined ? {} : { old: JSON.stringify(old) }),
    };
    thread.postMessage(job);
    this.#usedBefore = this.#used;
    this.#timer = setTimeout(() => this.#look(), this.#options.mostMs);
  }

  /** Milliseconds. */
  get #used(): number {
    return this.#number === undefined ? 0 : threadMs(this.#number);
  }

  #look(): void {
    const { mostMs } = this.#options;
    const left = mostMs - (this.#used - this.#usedBefore);
    if (left < 1) this.#fail(tooLong(mostMs));
    else this.#timer = setTimeout(() => this.#look(), left);
  }

  #started(): Worker {
    if (this.#thread !== undefined) return this.#thread;
    const { script, memoryMb } = this.#options;
    const resourceLimits = { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16 };
    const thread = new Worker(script, { resourceLimits });
    thread.on('message', (answer: CheckAnswer) => {
      if (thread === this.#thread) this.#answer(answer);
    });
    // Such as that it needs more memory than it may have.
    thread.on('error', (cause) => {
      if (thread === this.#thread) this.#fail(tooLarge(cause));
    });
    thread.unref();
    this.#thread = thread;
    return thread;
  }

  #answer(answer: CheckAnswer): void {
    if ('thread' in answer) {
      this.#number = answer.thread;
      return;
    }
    const current = this.#current;
    this.#current = undefined;
    clearTimeout(this.#timer);
    if ('causes' in answer) current?.resolve(answer.causes);
    else current?.reject(new Error(answer.error));
    this.#next();
  }

  /** The thread goes with the check: what it holds cannot be had back otherwise. */
  #fail(error: Error): void {
    const current = this.#current;
    this.#current = undefined;
    this.#end();
    current?.reject(error);
    this.#next();
  }

  #end(): void {
    clearTimeout(this.#timer);
    const thread = this.#thread;
    this.#thread = undefined;
    this.#number = undefined;
    this.#told = undefined;
    void thread?.terminate();
  }
}

const NS_PER_MS = 1e6;

/** Where the kernel does not count it, the time on the wall. */
function threadMs(thread: number): number {
  try {
    const [used] = readFileSync(`/proc/self/task/${thread}/schedstat`, 'latin1').split(' ');
    return Number(used) / NS_PER_MS;
  } catch {
    return performance.now();
  }
}

const tooLong = (ms: number) =>
  statusError(
    'RequestEntityTooLarge',
    `checking the object takes more than ${ms / 1000} s: make it, its schema or its rules smaller`,
  );

const tooLarge = (cause: Error) =>
  statusError(
    'RequestEntityTooLarge',
    'checking the object takes too much memory: make it, its schema or its rules smaller',
    undefined,
    { cause },
  );
