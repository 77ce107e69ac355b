// The processes that a supervisor starts: `trellis server` and `trellis agent` with a flag that only it gives.
// Guarantees: TERM ends them in order; when the supervisor is gone they end too, and pods stay.
import { setMaxListeners } from 'node:events';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { ClusterError } from '../../cluster/error.js';
import { nodeAddresses } from '../../cluster/preflight.js';
import type { ServerOptions } from '../../cluster/server.js';
import { readSettings } from '../../cluster/settings.js';
import { type Speaker, supervisorSink } from '../../cluster/steps.js';
import { makeLog } from '../log.js';
import { installationRoot, trellisBuild } from '../version.js';
import { type DataDirOption, existingLayout } from './options.js';

type ComponentContext = Pick<ServerOptions, 'layout' | 'settings' | 'nodeIps' | 'signal' | 'sink' | 'log'>;

/** What is loaded only by the process that needs it: the control plane never loads the runtime client, nor the other way. */
const COMPONENTS: Readonly<Record<Speaker, (context: ComponentContext) => Promise<void>>> = {
  server: async (context) =>
    (await import('../../cluster/server.js')).runServer({ ...context, build: trellisBuild() }),
  agent: async (context) => {
    const pauseProgram = path.join(installationRoot(), 'build', 'Release', 'pause');
    await (await import('../../cluster/agent.js')).runAgent({ ...context, pauseProgram });
  },
};

export interface SupervisedFlags extends DataDirOption {
  readonly nodeIp?: string;
  readonly supervised?: boolean;
}

export function withSupervised(command: Command): Command {
  return command.addOption(new Option('--supervised').hideHelp());
}

/** Ends the process. */
export async function runSupervised(name: Speaker, flags: SupervisedFlags): Promise<void> {
  const layout = existingLayout(flags);
  const settings = await readSettings(layout);
  if (settings === undefined)
    throw new ClusterError(
      'NOT_RUNNING',
      `there is no cluster in ${layout.dataDir}; create one with "trellis up"`,
    );
  const log = makeLog({ component: name, format: settings.loggingFormat });
  const signal = endOfProcess();
  const nodeIps = nodeAddresses(flags.nodeIp, settings.clusterCidr);
  const context = { layout, settings, nodeIps, signal, log, sink: supervisorSink() };
  await COMPONENTS[name](context).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  process.exit(process.exitCode ?? 0);
}

/** Aborted by INT, TERM, or the end of the process that started this one. */
export function endOfProcess(): AbortSignal {
  const ending = new AbortController();
  // Every controller and loop of the process listens to it.
  setMaxListeners(0, ending.signal);
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => ending.abort());
  process.on('disconnect', () => ending.abort());
  return ending.signal;
}
