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
With only --data-dir it creates everything it needs in that directory: a CA, certificates, the key that signs tokens, a
store and admin.kubeconfig.

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
      'public key that verifies tokens signed with an earlier key; may be repeated',
      collect,
    )
    .addHelpText('after', EXPLANATION)
    .action((flags: ApiServerFlags) => run(terminal, flags));
}

type Row<T> = readonly [flags: string, description: string, standard?: T];

const TEXT_FLAGS: readonly Row<string>[] = [
  ['--bind-address <address>', 'address to listen on', '::'],
  ['--advertise-address <address>', 'address at which nodes reach the server'],
  ['--insecure-bind-address <address>', 'loopback address of the insecure port', '127.0.0.1'],
  ['--tls-cert-file <file>', 'certificate of the server'],
  ['--tls-private-key-file <file>', 'key of --tls-cert-file'],
  ['--client-ca-file <file>', 'CA of client certificates'],
  ['--service-account-signing-key-file <file>', 'key that signs service account tokens'],
  ['--service-account-issuer <url>', 'issuer of tokens', 'https://kubernetes.default.svc.cluster.local'],
  ['--service-account-jwks-uri <url>', 'URL at which others find the public keys'],
  ['--service-cluster-ip-range <cidrs>', 'addresses of services', '10.96.0.0/12'],
  ['--service-node-port-range <range>', 'ports of services on nodes', '30000-32767'],
  ['--authorization-policy-file <file>', 'ABAC policy file'],
  ['--token-auth-file <file>', 'file of tokens and their users'],
  ['--basic-auth-file <file>', 'file of users and passwords'],
  ['--audit-log-path <file>', 'file for the audit log; - is standard output'],
  ['--audit-policy-file <file>', 'audit policy: which requests are recorded, and at which level'],
  [
    '--audit-level <level>',
    'audit level without a policy: None, Metadata, Request or RequestResponse',
    'Metadata',
  ],
  ['--kubelet-client-certificate <file>', 'client certificate for kubelets'],
  ['--kubelet-client-key <file>', 'key of --kubelet-client-certificate'],
  ['--kubelet-certificate-authority <file>', "CA of the kubelets' serving certificates"],
  ['--etcd-cafile <file>', 'CA of the etcd servers'],
  ['--etcd-certfile <file>', 'client certificate for etcd'],
  ['--etcd-keyfile <file>', 'key of --etcd-certfile'],
];

/** Commas part them, and given again they add up. */
const LIST_FLAGS: readonly (readonly [name: string, description: string])[] = [
  ['api-audiences', 'token audiences that this server accepts (default: the issuer)'],
  [
    'authorization-mode',
    'AlwaysAllow, AlwaysDeny, ABAC, Node, RBAC, in order of evaluation (default: Node,RBAC)',
  ],
  ['enable-admission-plugins', 'admission plugins to enable in addition to the default ones'],
  ['disable-admission-plugins', 'default admission plugins to disable'],
  [
    'kubelet-preferred-address-types',
    'address types for connections to kubelets: the first of these that a Node has is used (default: InternalIP,Hostname)',
  ],
  ['etcd-servers', 'keep the state in etcd at these URLs'],
  [
    'runtime-config',
    'group/version or group/version/resource with =false is not served, with =true it is; api/all, api/ga, api/beta and api/alpha stand for many versions',
  ],
];

const SWITCHES: readonly (readonly [name: string, description: string])[] = [
  ['anonymous-auth', 'serve requests without credentials as system:anonymous (default: true)'],
  ['enable-bootstrap-token-auth', 'let nodes join with bootstrap tokens (default: false)'],
];

const DURATION_FLAGS: readonly Row<number>[] = [
  [
    '--event-ttl <duration>',
    'how long an Event is kept after it was last seen; 0 means forever (default: 1h)',
  ],
  [
    '--service-account-max-token-expiration <duration>',
    'longest lifetime of a token; longer requests are shortened to it (default: no limit)',
  ],
];

const NUMBER_FLAGS: readonly Row<number>[] = [
  ['--secure-port <port>', 'port to listen on; 0 selects a free one', 6443],
  ['--insecure-port <port>', 'also serve plain HTTP on loopback, where everybody is an administrator'],
  ['--audit-log-maxsize <megabytes>', 'size at which the audit log is rotated; 0 means never', 100],
  ['--audit-log-maxbackup <number>', 'rotated audit logs to keep; 0 keeps all', 0],
  ['--max-requests-inflight <number>', 'reads in flight; 0 means no limit', 400],
  ['--max-mutating-requests-inflight <number>', 'writes in flight; 0 means no limit', 200],
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
