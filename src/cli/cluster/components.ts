// `trellis server` and `trellis agent`: the two processes of a cluster, each on its own. `trellis up` runs both.
// Guarantees: TERM ends them in order; when the supervisor is gone they end too, and pods stay.
import { setMaxListeners } from 'node:events';
import path from 'node:path';
import { Command } from 'commander';
import type { Log } from '../../api/log.js';
import { ClusterError } from '../../cluster/error.js';
import type { Layout } from '../../cluster/layout.js';
import { nodeAddresses, requireRoot } from '../../cluster/preflight.js';
import { readSettings, type Settings } from '../../cluster/settings.js';
import { type StepSink, supervisorSink } from '../../cluster/steps.js';
import { makeLog } from '../log.js';
import type { Terminal } from '../terminal.js';
import { installationRoot } from '../version.js';
import { type DataDirOption, existingLayout, reporting, withDataDir } from './options.js';

interface ComponentContext {
  readonly layout: Layout;
  readonly settings: Settings;
  readonly nodeIps: readonly [string, ...string[]];
  readonly signal: AbortSignal;
  readonly sink: StepSink;
  readonly log: Log;
}

/** What is loaded only by the process that needs it: the control plane never loads the runtime client, nor the other way. */
const COMPONENTS: Readonly<
  Record<string, { summary: string; run(context: ComponentContext): Promise<void> }>
> = {
  server: {
    summary: "run a cluster's control plane: store, apiserver, controllers, scheduler",
    run: async (context) => (await import('../../cluster/server.js')).runServer(context),
  },
  agent: {
    summary: 'run the agent of a node: kubelet, proxy, pod network, image registry',
    run: async (context) => {
      const pauseProgram = path.join(installationRoot(), 'build', 'Release', 'pause');
      await (await import('../../cluster/agent.js')).runAgent({ ...context, pauseProgram });
    },
  },
};

export function componentCommands(terminal: Terminal): Command[] {
  return Object.entries(COMPONENTS).map(([name, { summary, run }]) =>
    withDataDir(new Command(name))
      .summary(summary)
      .description(`Runs one process of a cluster whose data directory "trellis up" has made: ${summary}.`)
      .option(
        '--node-ip <addresses>',
        'address of the node, or one of each family with a comma between (default: that of the device with the default route)',
      )
      .action((flags: DataDirOption & { nodeIp?: string }) =>
        reporting(terminal, async () => {
          requireRoot(name);
          const layout = existingLayout(flags);
          const settings = await readSettings(layout);
          if (settings === undefined) {
            throw new ClusterError(
              'NOT_RUNNING',
              `there is no cluster in ${layout.dataDir}; make one with "trellis up"`,
            );
          }
          const log = makeLog({ component: name });
          const signal = endOfProcess();
          const nodeIps = nodeAddresses(flags.nodeIp, settings.clusterCidr);
          await run({ layout, settings, nodeIps, signal, log, sink: supervisorSink() }).catch(
            (error: unknown) => {
              if (!signal.aborted) throw error;
            },
          );
          process.exit(process.exitCode ?? 0);
        }),
      ),
  );
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
