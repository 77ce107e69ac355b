// What `trellis up`, `trellis server` and `trellis agent` share: a start in the foreground with a view of its steps, or
// one that is left running with --detach.
// Guarantees: with --detach it returns 0 when what was started is ready, 1 with the reason otherwise; a token is in no
// argument of a process that stays.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Command, Option } from 'commander';
import type { LogFormat } from '../../api/log.js';
import { aborted } from '../../base/aborted.js';
import { ClusterError } from '../../cluster/error.js';
import { makePrivateDir } from '../../cluster/files.js';
import { TOKEN_VARIABLE } from '../../cluster/join/token.js';
import type { Layout } from '../../cluster/layout.js';
import { prepareApart, tellSupervisor } from '../../cluster/preparation.js';
import { readSettings } from '../../cluster/settings.js';
import { type Step, type StepSink, supervisorSink } from '../../cluster/steps.js';
import {
  type Prepared,
  type RunningCluster,
  type StartOptions,
  startComponents,
} from '../../cluster/supervision.js';
import { loggingFormatOption, makeLog } from '../log.js';
import { positiveNumber } from '../numbers.js';
import type { Terminal } from '../terminal.js';
import { installationRoot } from '../version.js';
import { type DataDirOption, makeLayout, wordsFor } from './options.js';
import { makeStepView } from './view.js';

const DEFAULT_TIMEOUT_S = 60;
/** How a person, a service manager and a closed terminal ask a process to end. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));

export interface RunFlags extends DataDirOption {
  readonly detach?: boolean;
  readonly timeout: number;
  readonly keepPods?: boolean;
  /** Set by --detach on the process it leaves behind. */
  readonly supervise?: boolean;
  /** Set by the process that supervises on the one that prepares its start. */
  readonly prepare?: boolean;
  readonly loggingFormat?: LogFormat | undefined;
}

export function withRunning(command: Command): Command {
  return command
    .option('-d, --detach', 'return when it is ready and leave it running')
    .option('--timeout <seconds>', 'how long to wait until it is ready', positiveNumber, DEFAULT_TIMEOUT_S)
    .option('--keep-pods', 'leave pods running when this process ends; "trellis down" ends them')
    .addOption(loggingFormatOption())
    .addOption(new Option('--supervise').hideHelp())
    .addOption(new Option('--prepare').hideHelp());
}

export interface Run {
  /** Makes what is missing and says what is to run. */
  prepare(options: StartOptions): Promise<Prepared>;
  /** What to say when it is ready. */
  farewell(words: {
    readonly trellis: string;
    readonly option: string;
    readonly ms: number;
  }): Promise<string>;
  /** Handed to the process that --detach leaves behind, by its environment. */
  readonly token?: string | undefined;
}

export function runCluster(terminal: Terminal, flags: RunFlags, run: Run): Promise<void> {
  if (flags.prepare === true) return tellSupervisor((sink) => run.prepare(optionsOf(flags, { sink })));
  if (flags.supervise === true) return supervise(flags, run);
  return flags.detach === true ? detach(terminal, flags, run) : foreground(terminal, flags, run);
}

async function foreground(terminal: Terminal, flags: RunFlags, run: Run): Promise<void> {
  const view = makeStepView(terminal, terminal.live);
  const started = performance.now();
  const signal = interruption();
  const cluster = await start(flags, run, { sink: (step) => view.show(step), signal }).finally(() =>
    view.end(),
  );
  const last = terminal.live ? '\nCtrl-C ends it.\n' : '';
  terminal.write(`\n${await farewell(flags, run, started)}${last}`);
  await aborted(signal);
  terminal.write(flags.keepPods === true ? 'Ending; pods keep running.\n' : 'Ending; the data stays.\n');
  await cluster.stop();
}

/** The process that --detach leaves behind: steps go to the one that started it. */
async function supervise(flags: RunFlags, run: Run): Promise<void> {
  const sink = supervisorSink();
  const signal = interruption();
  const cluster = await start(flags, run, { sink, signal }).catch((error: unknown) => {
    // The last word is the reason as a whole; it follows the step that failed.
    if (error instanceof ClusterError) sink({ type: 'failed', name: '', text: error.message });
    throw error;
  });
  if (process.connected) process.disconnect();
  await aborted(signal);
  await cluster.stop();
}

async function detach(terminal: Terminal, flags: RunFlags, run: Run): Promise<void> {
  const view = makeStepView(terminal, terminal.live);
  const started = performance.now();
  const layout = makeLayout(flags);
  const failure = await startSupervisor(layout, run, (step) => view.show(step)).finally(() => view.end());
  if (failure !== undefined) throw failure;
  const { trellis, option } = wordsFor(flags);
  terminal.write(`\n${await farewell(flags, run, started)}\nEnd it with: ${trellis} down${option}\n`);
}

/** Answers why the start failed, or nothing once it is ready. */
async function startSupervisor(layout: Layout, run: Run, sink: StepSink): Promise<ClusterError | undefined> {
  await makePrivateDir(layout.logDir);
  const logFile = path.join(layout.logDir, 'trellis.log');
  const output = openSync(logFile, 'a', 0o600);
  const child = spawn(process.execPath, [MAIN, ...argumentsToPass(process.argv.slice(2)), '--supervise'], {
    detached: true,
    stdio: ['ignore', output, output, 'ipc'],
    env: { ...process.env, ...tokenOf(run) },
  });
  closeSync(output);
  // It has a session of its own: what is typed here is told to it, and it ends what it has started.
  let isInterrupted = false;
  const pass = () => {
    isInterrupted = true;
    child.kill('SIGTERM');
  };
  for (const name of ENDING) process.on(name, pass);
  let failure: string | undefined;
  const ready = new Promise<void>((resolve) => {
    child.on('message', (step: Step) => {
      sink(step);
      if (step.type === 'failed') failure = step.text;
      if (step.type === 'ready') resolve();
    });
  });
  const exited = once(child, 'exit').then(
    () =>
      new ClusterError(
        isInterrupted ? 'INTERRUPTED' : 'COMPONENT_FAILED',
        failure ?? `it ended before it was ready; see ${logFile}`,
      ),
  );
  const result = await Promise.race([ready.then(() => undefined), exited]);
  if (child.connected) child.disconnect();
  child.unref();
  return result;
}

/** Without --detach, and without what any user of the machine could read in the list of processes. */
export function argumentsToPass(words: readonly string[]): string[] {
  return words.filter(
    (word, i) =>
      !['--detach', '-d', '--token'].includes(word) &&
      !word.startsWith('--token=') &&
      words[i - 1] !== '--token',
  );
}

const tokenOf = ({ token }: Run): Record<string, string> =>
  token === undefined ? {} : { [TOKEN_VARIABLE]: token };

type Asked = Pick<StartOptions, 'sink' | 'signal'>;

async function start(given: RunFlags, run: Run, asked: Asked): Promise<RunningCluster> {
  const saved = await readSettings(makeLayout(given));
  const flags = { ...given, loggingFormat: given.loggingFormat ?? saved?.loggingFormat };
  const words = argumentsToPass(process.argv.slice(2)).filter((word) => word !== '--supervise');
  const command = [process.execPath, MAIN, ...words, '--prepare'];
  return startComponents(optionsOf(flags, asked), () =>
    prepareApart({ command, env: tokenOf(run), sink: asked.sink }),
  );
}

/** Bursts of short-lived objects must not keep a component's memory for good. */
export const SMALL_NURSERY = '--max-semi-space-size=2';

function optionsOf(flags: RunFlags, { sink, signal }: Asked): StartOptions {
  return {
    layout: makeLayout(flags),
    self: [process.execPath, SMALL_NURSERY, MAIN],
    cniBinDir: path.join(installationRoot(), 'dist', 'cni'),
    timeoutMs: flags.timeout * 1000,
    keepPods: flags.keepPods,
    sink,
    signal,
    log: makeLog({ component: 'supervisor', format: flags.loggingFormat }),
  };
}

const farewell = (flags: RunFlags, run: Run, started: number) =>
  run.farewell({ ...wordsFor(flags), ms: performance.now() - started });

/** Aborted at the first request to end; later ones find the end already under way. */
function interruption(): AbortSignal {
  const ending = new AbortController();
  for (const name of ENDING) process.on(name, () => ending.abort());
  return ending.signal;
}
