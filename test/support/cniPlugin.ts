// Runs one of our CNI plugins as a runtime would: variables, configuration on standard input, JSON on standard output.
// Guarantees: the plugin runs in the namespace that plays the host; its answer is told whether it failed or not.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestNetNs } from './netns.js';

export const PLUGIN_DIR = fileURLToPath(new URL('../../dist/cni', import.meta.url));

/** Those with fault points, which the shipped ones have not. */
export const FAULTY = fileURLToPath(new URL('../../build/cni-faults', import.meta.url));

interface PluginCall {
  readonly host: TestNetNs;
  readonly command: 'ADD' | 'DEL' | 'CHECK' | 'GC' | 'STATUS';
  readonly config: { readonly type: string; readonly [field: string]: unknown };
  readonly containerId?: string;
  /** Path of the container's namespace. */
  readonly netns?: string;
  /** Where plugins are looked for; ours if left out. */
  readonly binDir?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Goes before the plugin, for one that must run in yet another environment. */
  readonly prefix?: readonly string[];
}

/** What a plugin says: a result, an error with its `code`, or nothing. */
interface PluginAnswer {
  readonly exitCode: number | null;
  readonly code?: number;
  readonly msg?: string;
  readonly details?: string;
  readonly ips?: readonly { readonly address: string; readonly gateway?: string }[];
  readonly [field: string]: unknown;
}

export function callPlugin(call: PluginCall): Promise<PluginAnswer> {
  const { host, command, config, containerId = 'c1', netns, binDir = PLUGIN_DIR, prefix = [] } = call;
  const env = {
    ...process.env,
    ...call.environment,
    CNI_COMMAND: command,
    CNI_PATH: call.environment?.['CNI_PATH'] ?? `${binDir}:${PLUGIN_DIR}`,
    ...(command === 'GC' || command === 'STATUS' ? {} : { CNI_CONTAINERID: containerId, CNI_IFNAME: 'eth0' }),
    ...(netns === undefined ? {} : { CNI_NETNS: netns }),
  };
  const argv = [`--net=${host.path}`, ...prefix, `${binDir}/${config.type}`];
  return new Promise((resolve) => {
    const child = execFile('nsenter', argv, { env }, (_error, stdout) => {
      resolve({ ...(stdout === '' ? {} : JSON.parse(stdout)), exitCode: child.exitCode });
    });
    child.stdin?.on('error', () => undefined); // a plugin that was killed reads nothing
    child.stdin?.end(JSON.stringify(config));
  });
}
