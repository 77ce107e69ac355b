// The preparation of a start in a process of its own, which ends when the start is over: what it loads (the native core,
// certificates, the API client) would otherwise stay in the memory of a supervisor that never needs it again.
// Guarantees: what makes the preparation fail is the same error on both sides; it ends when the supervisor does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ClusterError, type ClusterErrorCode } from './error.js';
import type { Step, StepSink } from './steps.js';
import type { Prepared } from './supervision.js';
import type { Component } from './supervisor.js';

type Word =
  | { readonly type: 'step'; readonly step: Step }
  /** With `hasMore` it waits for the control plane and then tells of further components. */
  | { readonly type: 'prepared'; readonly prepared: Omit<Prepared, 'afterServer'>; readonly hasMore: boolean }
  | { readonly type: 'components'; readonly components: readonly Component[] }
  | { readonly type: 'refused'; readonly code: ClusterErrorCode; readonly message: string };

interface ApartOptions {
  /** A command line that ends in `tellSupervisor`. */
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly sink: StepSink;
}

/** In the supervisor: what the other process has prepared. */
export async function prepareApart({ command, env, sink }: ApartOptions): Promise<Prepared> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...env },
    // Ctrl-C in the terminal reaches the supervisor alone, which ends this one by ending.
    detached: true,
  });
  let heard: (word: Word | Error) => void = () => {};
  const answer = () =>
    new Promise<Word>((resolve, reject) => {
      heard = (word) => {
        if (word instanceof Error) reject(word);
        else if (word.type === 'refused') reject(new ClusterError(word.code, word.message));
        else resolve(word);
      };
    });
  child.on('message', (word: Word) => (word.type === 'step' ? sink(word.step) : heard(word)));
  child.on('error', (error) => heard(error));
  // Once everything that it said has been heard.
  child.on('close', (code, signal) =>
    heard(new ClusterError('COMPONENT_FAILED', `the preparation of the start ended with ${signal ?? code}`)),
  );
  const first = await answer();
  // From here on it only waits: it must not keep a supervisor whose start has failed.
  child.unref();
  child.channel?.unref();
  if (first.type !== 'prepared') throw new Error(`expected what is prepared, not ${first.type}`);
  if (!first.hasMore) return first.prepared;
  return {
    ...first.prepared,
    afterServer: async () => {
      const answered = answer();
      child.send('server');
      const second = await answered;
      return second.type === 'components' ? second.components : [];
    },
  };
}

/** In the other process: prepares and tells what; ends, or first waits for the control plane and tells the rest. */
export async function tellSupervisor(prepare: (sink: StepSink) => Promise<Prepared>): Promise<void> {
  const tell = (word: Word) => new Promise<void>((resolve) => process.send?.(word, () => resolve()));
  process.on('disconnect', () => process.exit());
  try {
    const { afterServer, ...prepared } = await prepare((step) => void tell({ type: 'step', step }));
    await tell({ type: 'prepared', prepared, hasMore: afterServer !== undefined });
    if (afterServer !== undefined) {
      await once(process, 'message');
      await tell({ type: 'components', components: await afterServer() });
    }
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    await tell({ type: 'refused', code: error.code, message: error.message });
  }
  process.exit();
}
