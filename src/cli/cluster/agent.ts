// `trellis agent`: makes this machine a node of a cluster that runs elsewhere.
// Guarantees: a token that was given by file or environment is in no argument of any process.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import { ClusterError } from '../../cluster/error.js';
import { TOKEN_VARIABLE } from '../../cluster/join/token.js';
import { requireRoot } from '../../cluster/preflight.js';
import type { WantedSettings } from '../../cluster/settings.js';
import type { Terminal } from '../terminal.js';
import { runSupervised, type SupervisedFlags, withSupervised } from './components.js';
import { readConfigFlag, withConfig } from './configFile.js';
import { reporting, withDataDir, withNode } from './options.js';
import { type RunFlags, runCluster, withRunning } from './running.js';
import { duration } from './view.js';

interface AgentFlags extends RunFlags, SupervisedFlags, WantedSettings {
  readonly server?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly caCertHash?: string[];
  readonly caFile?: string;
  readonly config?: string;
}

const EXPLANATION = `
The node requests its certificates with the token and renews them automatically: later starts need neither --server nor
a token. Without --ca-cert-hash or --ca-file, anybody who knows the token could impersonate the server.
The file of --config has the format of that of "trellis up": these flags, and documents for the kubelet and the proxy.

Examples:
  trellis agent --server https://10.0.0.1:6443 --token abcdef.0123456789abcdef --ca-cert-hash sha256:...
  trellis agent --server https://10.0.0.1:6443 --token-file /root/token --ca-file /root/ca.crt --detach
  trellis agent                                 starts the node again after it has joined
  trellis down                                  ends it; with --purge it also removes the data
`;

export function agentCommand(terminal: Terminal): Command {
  return withConfig(withSupervised(withRunning(withNode(withDataDir(new Command('agent'))))))
    .summary('join this machine to a cluster as a node: kubelet, proxy, pod network, DNS')
    .description('Makes this machine a node of a cluster whose server runs elsewhere.')
    .option('--server <url>', 'URL of the apiserver, such as https://10.0.0.1:6443')
    .option('--token <token>', 'token from "trellis token create"; visible to others in the process list')
    .option('--token-file <file>', `file with the token; or set ${TOKEN_VARIABLE} in the environment`)
    .option('--ca-cert-hash <hash...>', "sha256:<hex> of the public key of the cluster's CA")
    .option('--ca-file <file>', "certificate of the cluster's CA")
    .addHelpText('after', EXPLANATION)
    .action((given: AgentFlags, command: Command) =>
      reporting(terminal, async () => {
        requireRoot('agent');
        if (given.supervised === true) return runSupervised('agent', given);
        const flags = await readConfigFlag<AgentFlags>(command);
        const token = await tokenOf(flags);
        const { server, nodeIp, configuration, caCertHash: caHashes = [] } = flags;
        const caFile = flags.caFile === undefined ? undefined : path.resolve(flags.caFile);
        return runCluster(terminal, flags, {
          token,
          prepare: async (options) => {
            const { prepareJoin } = await import('../../cluster/join/join.js');
            // What the cluster decides for all its nodes is not taken from here.
            const { nodeName, kubeletPort, kubeletHealthzPort, dnsPort, policyLog, loggingFormat } = flags;
            const wanted = { nodeName, kubeletPort, kubeletHealthzPort, dnsPort, policyLog, loggingFormat };
            return prepareJoin({
              ...options,
              wanted,
              nodeIp,
              server,
              token,
              caHashes,
              caFile,
              configuration,
            });
          },
          farewell: async ({ trellis, option, ms }) => `\
The node is Ready after ${duration(ms)}. Look at it with "trellis kubectl get nodes" on the server, and here with:

  ${trellis} status${option}
`,
        });
      }),
    );
}

async function tokenOf({ token, tokenFile }: AgentFlags): Promise<string | undefined> {
  const given = process.env[TOKEN_VARIABLE];
  // Not for containerd and all that it starts.
  delete process.env[TOKEN_VARIABLE];
  if (token !== undefined && tokenFile !== undefined)
    throw new ClusterError('BAD_OPTION', 'give --token or --token-file, not both');
  if (token !== undefined) return token;
  if (tokenFile === undefined) return given === '' ? undefined : given;
  try {
    return (await readFile(tokenFile, 'utf8')).trim();
  } catch (cause) {
    throw new ClusterError('BAD_OPTION', `--token-file: ${(cause as Error).message}`, { cause });
  }
}
