// Starts the processes of a data directory under one supervisor and waits until they say that they are ready.
// Guarantees: a start that fails ends what it started; one data directory has at most one running supervisor.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import { ClusterError } from './error.js';
import type { Layout } from './layout.js';
import { lockForStart } from './lock.js';
import { terminate } from './processes.js';
import type { Settings } from './settings.js';
import { readState } from './state.js';
import type { Speaker, Step, StepSink } from './steps.js';
import { type Component, Supervisor } from './supervisor.js';

export interface StartOptions {
  readonly layout: Layout;
  /** How a component is run: the program and its first arguments, such as `node main.js`. */
  readonly self: readonly string[];
  /** Where the CNI plugins are. */
  readonly cniBinDir: string;
  readonly timeoutMs: number;
  /** Containers go on when this process is told to end; the next start finds them. */
  readonly keepPods?: boolean | undefined;
  readonly sink: StepSink;
  /** Ends a start that is under way. */
  readonly signal?: AbortSignal | undefined;
  readonly log: Log;
}

export interface Prepared {
  readonly settings: Settings;
  /** In the order in which they are started. */
  readonly components: readonly Component[];
  /** Started as soon as the control plane answers. */
  afterServer?(): Promise<readonly Component[]>;
  /** Whose words together end the wait. */
  readonly awaits: readonly string[];
  /** A node that runs pods already goes on waiting for its server, however long that takes. */
  readonly isPatient?: boolean;
}

export interface RunningCluster {
  readonly settings: Settings;
  /** Ends the processes and removes every trace but the data, or leaves the pods if so asked at the start. */
  stop(): Promise<void>;
}

const LEFTOVER_GRACE_MS = 3_000;
const PREPARED_GRACE_MS = 1_000;

export async function startComponents(
  options: StartOptions,
  prepare: () => Promise<Prepared>,
): Promise<RunningCluster> {
  const { layout, log } = options;
  const lock = await lockForStart(layout);
  try {
    const prepared = await unlessInterrupted(prepare(), options.signal);
    const ready = readiness(options, prepared, async () =>
      supervisor.start((await prepared.afterServer?.()) ?? []),
    );
    ready.promise.catch(() => {}); // awaited below, and may fail before that
    const supervisor = new Supervisor(layout, ready.sink, log);
    const end = async (keepPods: boolean) => {
      await supervisor.stop();
      if (!keepPods) await (await import('./down.js')).removeTraces({ layout, cniBinDir: options.cniBinDir });
      lock.release();
    };
    try {
      await supervisor.start(prepared.components);
      await ready.promise;
    } catch (error) {
      options.sink({ type: 'note', name: 'start', text: 'ending what was started' });
      // A node whose pods outlive the process keeps them through a start that fails, too.
      await end(options.keepPods === true);
      throw error;
    }
    return { settings: prepared.settings, stop: () => end(options.keepPods === true) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** What waits for a server that does not answer is not waited for; what is being made is finished, and then ended. */
function unlessInterrupted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const interrupted = async (): Promise<never> => {
    if (!signal.aborted) await once(signal, 'abort');
    await sleep(PREPARED_GRACE_MS, undefined, { ref: false });
    throw new ClusterError('INTERRUPTED', 'the start was interrupted');
  };
  return Promise.race([work, interrupted()]);
}

/** What a killed supervisor left running would hold the ports; its containers are left alone. */
export async function endLeftovers(layout: Layout): Promise<void> {
  const { components } = await readState(layout);
  for (const process of Object.values(components)) await terminate(process, LEFTOVER_GRACE_MS);
}

/** A process of this program that the supervisor starts, and that tells it of its steps. */
export function ownComponent(
  { self, layout }: Pick<StartOptions, 'self' | 'layout'>,
  name: Speaker,
  nodeIps: readonly string[],
): Component {
  const args = ['--supervised', '--data-dir', layout.dataDir, '--node-ip', nodeIps.join(',')];
  return { name, command: [...self, name, ...args], speaks: true };
}

const SERVER: Speaker = 'server';

/** Passes steps on; settles when all that are awaited have said Ready, or one has Failed. */
function readiness(
  { sink, timeoutMs, layout, signal }: StartOptions,
  { awaits, isPatient = false }: Prepared,
  afterServer: () => Promise<void>,
): { sink: StepSink; promise: Promise<void> } {
  const pending = new Set<string>();
  const awaited = new Set(awaits);
  let settleWith: (step: Step) => void = () => {};
  const promise = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      const waiting = [...(pending.size === 0 ? awaited : pending)].join(', ');
      const what = awaited.has(SERVER) ? 'the control plane was not ready' : 'not every node was Ready';
      const message = `${what} within ${timeoutMs / 1000} s; still waiting for ${waiting}. The logs are in ${layout.logDir}`;
      if (isPatient) sink({ type: 'note', name: [...awaited].join(', '), text: message });
      else reject(new ClusterError('TIMEOUT', message));
    }, timeoutMs);
    const interrupt = () => {
      clearTimeout(timer);
      reject(new ClusterError('INTERRUPTED', 'the start was interrupted, and what it had started was ended'));
    };
    if (signal?.aborted === true) interrupt();
    signal?.addEventListener('abort', interrupt, { once: true });
    settleWith = (message) => {
      if (message.type === 'ready' || message.type === 'failed') clearTimeout(timer);
      if (message.type === 'ready') resolve();
      if (message.type === 'failed')
        reject(new ClusterError('COMPONENT_FAILED', `${message.name}: ${message.text}`));
    };
  });
  let hasServer = false;
  const serverAnswers = () => {
    if (hasServer) return; // it was started again
    hasServer = true;
    afterServer().catch((error: unknown) =>
      settleWith({ type: 'failed', name: 'further nodes', text: messageOf(error) }),
    );
  };
  return {
    promise,
    sink: (message) => {
      if (message.type === 'ready') {
        if (message.who === SERVER) serverAnswers();
        if (!awaited.delete(message.who) || awaited.size > 0) return;
      }
      if (message.type === 'begin') pending.add(message.name);
      if (message.type === 'done') pending.delete(message.name);
      sink(message);
      settleWith(message);
    },
  };
}
