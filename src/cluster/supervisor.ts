// Keeps the processes of a cluster running: starts them, starts them again when they die, ends them together.
// Guarantees: who runs is on disk before anything depends on it; a component that dies comes back with back-off; when the
// record cannot be written later, that is logged and tried again, and the work goes on.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import { identify, type ProcessIdentity } from '../kernel/processIdentity.js';
import type { Layout } from './layout.js';
import { terminate } from './processes.js';
import { type RunState, writeState } from './state.js';
import type { Step, StepSink } from './steps.js';

export interface Component {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Sends steps over an IPC channel. */
  readonly speaks: boolean;
  /** A node as a whole: others are told of one step, from its start until it is Ready. */
  readonly isOneStep?: boolean;
}

const BACKOFF_MS = { first: 500, most: 10_000, forgottenAfter: 60_000 };
const STOP_GRACE_MS = 8_000;
const RECORD_AGAIN_MS = 1_000;

const wholeOf = ({ name }: Component) => `node ${name}`;

export class Supervisor {
  readonly #layout: Layout;
  readonly #sink: StepSink;
  readonly #log: Log;

  readonly #children = new Map<string, { child: ChildProcess; identity: ProcessIdentity | undefined }>();
  readonly #started = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #state: RunState;
  #stopping = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(layout: Layout, sink: StepSink, log: Log) {
    this.#layout = layout;
    this.#sink = sink;
    this.#log = log;

    const supervisor = identify(process.pid);
    this.#state = { components: {}, ...(supervisor === undefined ? {} : { supervisor }) };
  }

  async start(components: readonly Component[]): Promise<void> {
    await this.#writing;
    await writeState(this.#layout, this.#state);
    for (const component of components) {
      if (component.isOneStep === true) this.#sink({ type: 'begin', name: wholeOf(component) });
      this.#started.set(component.name, performance.now());
      this.#run(component, BACKOFF_MS.first);
    }
    await this.#writing;
  }

  /** In the reverse of the order in which they were started: whoever depends goes first. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const { identity } of [...this.#children.values()].reverse()) {
      if (identity !== undefined) await terminate(identity, STOP_GRACE_MS);
    }
    // Whoever removes the directory next must not meet a file that is being written.
    await this.#writing;
  }

  #run(component: Component, backoffMs: number): void {
    const started = Date.now();
    const output = openSync(path.join(this.#layout.logDir, `${component.name}.log`), 'a', 0o600);
    const [program = '', ...args] = component.command;
    const child = spawn(program, args, {
      stdio: component.speaks ? ['ignore', output, output, 'ipc'] : ['ignore', output, output],
      env: { ...process.env, ...component.env },
      // Ctrl-C in the terminal reaches the supervisor alone, which then ends the others in order.
      detached: true,
    });
    closeSync(output);
    let ended = false;
    const onEnd = (how: string) => {
      if (ended) return;
      ended = true;
      this.#ended(
        component,
        how,
        Date.now() - started > BACKOFF_MS.forgottenAfter ? BACKOFF_MS.first : backoffMs,
      );
    };
    child.on('error', (error) => onEnd(error.message));
    child.on('exit', (code, signal) => onEnd(signal === null ? `exit code ${code}` : `signal ${signal}`));
    child.on('message', (step) => this.#heard(component, step as Step));
    if (child.pid === undefined) return;
    const identity = identify(child.pid);
    this.#children.set(component.name, { child, identity });
    if (identity !== undefined) {
      this.#state = { ...this.#state, components: { ...this.#state.components, [component.name]: identity } };
      this.#record();
    }
  }

  #heard(component: Component, said: Step): void {
    const step = component.isOneStep === true ? this.#asOneStep(component, said) : said;
    // What fails while everything is being ended is no news.
    if (this.#stopping || step === undefined) return;
    if (step.type === 'ready') {
      this.#state = { ...this.#state, readyAt: Date.now() };
      this.#record();
    }
    this.#sink(step);
  }

  #asOneStep(component: Component, said: Step): Step | undefined {
    const name = wholeOf(component);
    // It starts again by itself, and may get over it.
    if (said.type === 'failed' && said.name === '') return { type: 'note', name, text: said.text };
    if (said.type !== 'ready') return undefined;
    const ms = performance.now() - (this.#started.get(component.name) ?? 0);
    if (!this.#stopping) this.#sink({ type: 'done', name, ms });
    return { type: 'ready', who: component.name };
  }

  #ended(component: Component, how: string, backoffMs: number): void {
    this.#children.delete(component.name);
    if (this.#stopping) return;
    this.#log.warn(`${component.name} ended (${how}); it starts again in ${backoffMs} ms`);
    this.#sink({ type: 'note', name: component.name, text: `ended (${how}), see ${this.#layout.logDir}` });
    this.#after(backoffMs, () => this.#run(component, Math.min(backoffMs * 2, BACKOFF_MS.most)));
  }

  /** Writes follow one another, so that the newest state is the one that stays. */
  #record(): Promise<void> {
    this.#writing = this.#writing
      .then(() => writeState(this.#layout, this.#state))
      .catch((error: unknown) => {
        this.#log.error('who runs could not be written down; it is tried again', { error: messageOf(error) });
        if (!this.#stopping) this.#after(RECORD_AGAIN_MS, () => void this.#record());
      });
    return this.#writing;
  }

  #after(delayMs: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, delayMs);
    this.#timers.add(timer);
  }
}
