// `trellis apiserver`: the API server alone, with kube-apiserver's flags.
// Guarantees: TERM and INT end it in order; what goes wrong at the start is one sentence and exit code 1.
import { Command, InvalidArgumentError, Option } from 'commander';
import { ApiError } from '../../api/status.js';
import { ApiServerError } from '../../apiserver/error.js';
import { ClusterError } from '../../cluster/error.js';
import { StoreError } from '../../store/store.js';
import { endOfProcess } from '../cluster/components.js';
import { withDataDir } from '../cluster/options.js';
import { levelOf, makeLog } from '../log.js';
import { durationMs } from '../numbers.js';
import { APISERVER, APISERVER_TOLD } from '../stock/apiserver.js';
import { switchOption } from '../stock/booleans.js';
import { tellFlags, withFixedFlags, withToldFlags } from '../stock/fixedFlags.js';
import { listOption, withComponentFlags } from '../stock/sharedFlags.js';
import { tlsOptions } from '../stock/tls.js';
import { withVersionFlag } from '../stock/versionFlag.js';
import type { Terminal } from '../terminal.js';
import { type ApiServerFlags, checkFlags } from './flags.js';

const EXPLANATION = `
With nothing but --data-dir it makes what it needs there: a certificate authority, its certificates, the key that signs
tokens, a store. Then it writes admin.kubeconfig into the directory.

Examples:
  trellis apiserver --data-dir /srv/api --secure-port 7443
  kubectl --kubeconfig /srv/api/admin.kubeconfig get namespaces
  trellis apiserver --data-dir /srv/api --etcd-servers https://10.0.0.1:2379 --etcd-cafile ca.crt
`;

export function apiserverCommand(terminal: Terminal): Command {
  const command = withDataDir(new Command('apiserver'))
    .summary('run the API server alone')
    .description("Runs the API server alone, with kube-apiserver's flags.");
  for (const [flags, description, standard] of TEXT_FLAGS)
    command.addOption(withDefault(new Option(flags, description), standard));
  for (const [flags, description, standard] of NUMBER_FLAGS)
    command.addOption(withDefault(new Option(flags, description).argParser(numberFrom(0)), standard));
  for (const [name, description] of LIST_FLAGS) command.addOption(listOption(name, description));
  for (const [name, description] of SWITCHES) command.addOption(switchOption(name, description));
  for (const [flags, description] of DURATION_FLAGS)
    command.addOption(new Option(flags, description).argParser(durationMs));
  for (const option of tlsOptions()) command.addOption(option);
  withFixedFlags(withComponentFlags(withVersionFlag(command, terminal)), APISERVER);
  withToldFlags(command, APISERVER_TOLD);
  return command
    .option(
      '--service-account-key-file <file>',
      'public key of tokens signed before; may be given again',
      collect,
    )
    .addHelpText('after', EXPLANATION)
    .action((flags: ApiServerFlags) => run(terminal, flags));
}

type Row<T> = readonly [flags: string, description: string, standard?: T];

const TEXT_FLAGS: readonly Row<string>[] = [
  ['--bind-address <address>', 'address to listen on', '::'],
  ['--advertise-address <address>', 'address by which nodes reach it'],
  ['--insecure-bind-address <address>', 'loopback address of the insecure port', '127.0.0.1'],
  ['--tls-cert-file <file>', 'certificate of the server'],
  ['--tls-private-key-file <file>', 'its key'],
  ['--client-ca-file <file>', 'authority of client certificates'],
  ['--service-account-signing-key-file <file>', 'key that signs tokens of service accounts'],
  ['--service-account-issuer <url>', 'issuer of tokens', 'https://kubernetes.default.svc.cluster.local'],
  ['--service-account-jwks-uri <url>', 'where others find the public keys'],
  ['--service-cluster-ip-range <cidrs>', 'addresses of services', '10.96.0.0/12'],
  ['--service-node-port-range <range>', 'ports of services on nodes', '30000-32767'],
  ['--authorization-policy-file <file>', 'policies of ABAC'],
  ['--token-auth-file <file>', 'users by token'],
  ['--basic-auth-file <file>', 'users by password'],
  ['--audit-log-path <file>', 'record requests there; - is standard output'],
  ['--audit-policy-file <file>', 'what of which request is recorded'],
  [
    '--audit-level <level>',
    'without a policy: None, Metadata, Request or RequestResponse of all requests',
    'Metadata',
  ],
  ['--kubelet-client-certificate <file>', 'certificate shown to kubelets'],
  ['--kubelet-client-key <file>', 'its key'],
  ['--kubelet-certificate-authority <file>', "authority of the kubelets' certificates"],
  ['--etcd-cafile <file>', 'the authority of the certificates of etcd'],
  ['--etcd-certfile <file>', 'our certificate for etcd'],
  ['--etcd-keyfile <file>', 'its key'],
];

/** Commas part them, and given again they add up. */
const LIST_FLAGS: readonly (readonly [name: string, description: string])[] = [
  ['api-audiences', 'audiences of tokens for this server (default: the issuer)'],
  [
    'authorization-mode',
    'AlwaysAllow, AlwaysDeny, ABAC, Node, RBAC, in the order they are asked (default: Node,RBAC)',
  ],
  ['enable-admission-plugins', 'plugins besides the default ones'],
  ['disable-admission-plugins', 'default plugins to do without'],
  [
    'kubelet-preferred-address-types',
    'which address of a Node leads to its kubelet: the first of these that it has (default: InternalIP,Hostname)',
  ],
  ['etcd-servers', 'keep the state in etcd at these addresses'],
  [
    'runtime-config',
    'group/version=false, group/version/resource=false: do not serve it; =true: serve it after all; api/all, api/ga, api/beta, api/alpha speak of many',
  ],
];

const SWITCHES: readonly (readonly [name: string, description: string])[] = [
  ['anonymous-auth', 'serve requests without credentials as system:anonymous (default: true)'],
  ['enable-bootstrap-token-auth', 'let nodes join by bootstrap tokens (default: false)'],
];

const DURATION_FLAGS: readonly Row<number>[] = [
  ['--event-ttl <duration>', 'how long an Event is kept after it was last seen; 0 is for good (default: 1h)'],
  [
    '--service-account-max-token-expiration <duration>',
    'longest life of a token: longer wishes are cut to it (default: no limit)',
  ],
];

const NUMBER_FLAGS: readonly Row<number>[] = [
  ['--secure-port <port>', 'port to listen on; 0 takes a free one', 6443],
  ['--insecure-port <port>', 'also serve plain HTTP, to anybody on this machine, as an administrator'],
  ['--audit-log-maxsize <megabytes>', 'size at which the audit log is set aside; 0 is never', 100],
  ['--audit-log-maxbackup <number>', 'how many are kept; 0 is all', 0],
  ['--max-requests-inflight <number>', 'reads that are worked on at once; 0 is no limit', 400],
  ['--max-mutating-requests-inflight <number>', 'writes that are worked on at once; 0 is no limit', 200],
];

function withDefault<T>(option: Option, standard: T | undefined): Option {
  return standard === undefined ? option : option.default(standard);
}

function numberFrom(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d{1,9}$/.test(text) && value >= least) return value;
    throw new InvalidArgumentError(`expected a whole number from ${least} on`);
  };
}

const collect = (file: string, others: readonly string[] = []): readonly string[] => [...others, file];

async function run(terminal: Terminal, flags: ApiServerFlags): Promise<void> {
  try {
    checkFlags(flags);
    const log = makeLog({ component: 'apiserver', level: levelOf(flags.v), format: flags.loggingFormat });
    tellFlags(flags, APISERVER_TOLD, log.warn);
    // The store and the server are loaded only when they are wanted.
    const { runApiServer } = await import('./run.js');
    await runApiServer({
      flags,
      signal: endOfProcess(),
      log,
      told: (text) => terminal.write(text),
    });
  } catch (error) {
    if (!isForTheUser(error)) throw error;
    terminal.writeError(`trellis: ${error.message}\n`);
    terminal.setExitCode(1);
  }
}

function isForTheUser(error: unknown): error is Error {
  const KINDS = [ClusterError, ApiServerError, StoreError, ApiError];
  if (KINDS.some((kind) => error instanceof kind)) return true;
  // Files that cannot be read, and their contents: the messages name the file or the line.
  const { syscall, name } = error as NodeJS.ErrnoException;
  return syscall !== undefined || name === 'AuthConfigError' || name === 'AllocationError';
}
