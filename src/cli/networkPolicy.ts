// `trellis network-policy`: enforces network policies on a node, alone; `trellis policy explain`: says what they decide.
// Guarantees: TERM ends the first and leaves the rules in place; the second changes nothing.
import { hostname } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { canonicalIp } from '../api/ip.js';
import { NAMESPACES, NETWORK_POLICIES, PODS } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import { messageOf } from '../base/errorMessage.js';
import type { Client } from '../client/client.js';
import { ClientError } from '../client/error.js';
import { transportOf } from '../client/kubeconfig.js';
import { openInformers } from '../client/sharedInformers.js';
import { openClient } from '../client/typedClient.js';
import {
  CLUSTER_NETWORK_POLICIES,
  type ClusterNetworkPolicy,
} from '../network/policy/clusterNetworkPolicy.js';
import type { Question } from '../network/policy/explain.js';
import { type DataDirOption, existingLayout, reporting, withDataDir } from './cluster/options.js';
import { levelOf, loggingFormatOption, makeLog } from './log.js';
import { wholeNumber } from './numbers.js';
import type { Terminal } from './terminal.js';

const TABLE = 'trellis-policy';

const ENGINE_EXAMPLES = `
It judges the pods of this node by nf_tables, whoever made them: any kubelet, any proxy mode, any network whose pods are
reached through this machine's routing or bridges (with net.bridge.bridge-nf-call-iptables=1). Its user needs list and watch
of pods, namespaces, nodes, networkpolicies, customresourcedefinitions and clusternetworkpolicies.

Examples:
  trellis network-policy --kubeconfig /etc/kubernetes/policy.kubeconfig
  trellis network-policy --cleanup
`;

const EXPLAIN_EXAMPLES = `
An end is pod/NAME, NAMESPACE/NAME or an address; the second may have a port.

Examples:
  trellis policy explain pod/web pod/db:5432
  trellis policy explain shop/web 10.0.0.7:53 --protocol udp
  trellis policy explain pod/web pod/db:5432 --trace

With --trace a packet is sent out of the first pod, and the kernels of the nodes on its way tell which rules it met. It is the
first of a connection and nothing more: a TCP SYN that is reset when it is answered, an empty UDP datagram, or an SCTP INIT.
Its user needs create of nodes/proxy, and the nodes an agent of Trellis.
`;

interface EngineFlags {
  readonly kubeconfig?: string;
  readonly hostnameOverride?: string;
  readonly metricsBindAddress?: string;
  readonly logRefused?: boolean;
  readonly cleanup?: boolean;
  readonly v?: number;
  readonly loggingFormat?: 'text' | 'json';
}

export function networkPolicyCommand(terminal: Terminal): Command {
  return new Command('network-policy')
    .summary('enforce network policies on a node, alone')
    .description(
      'Enforces the NetworkPolicies of the API server that the kubeconfig names on the pods of this node.',
    )
    .option('--kubeconfig <file>', 'how to reach the API server')
    .option('--hostname-override <name>', 'the name of this node (default: the host name)')
    .option(
      '--metrics-bind-address <address:port>',
      'serve /metrics over plain HTTP there (default: nowhere)',
    )
    .option('--log-refused', 'log refused connections with the names of their pods')
    .option('--cleanup', 'remove the rules and end')
    .option('-v, --v <level>', 'how much to log', wholeNumber)
    .addOption(loggingFormatOption())
    .addHelpText('after', ENGINE_EXAMPLES)
    .action((flags: EngineFlags) => telling(terminal, () => enforce(flags)));
}

async function enforce(flags: EngineFlags): Promise<void> {
  if (flags.cleanup === true) {
    const { openNft } = await import('../kernel/nftables/adapter.js');
    const { removePolicies } = await import('../network/policy/enforcer.js');
    const nft = await openNft();
    return removePolicies(nft, TABLE).finally(() => nft.close());
  }
  if (flags.kubeconfig === undefined)
    throw new ClientError('CONFIG', 'say how to reach the API server with --kubeconfig');
  const { hostAndPort } = await import('../proxy/config.js');
  const { metricsBindAddress: at } = flags;
  const asked = at === undefined ? undefined : hostAndPort(at, '--metrics-bind-address');
  const metrics = asked && { host: asked.address, port: asked.port };
  const log = makeLog({ component: 'network-policy', level: levelOf(flags.v), format: flags.loggingFormat });
  const client = openClient(await transportOf(flags.kubeconfig));
  const informers = openInformers(client, { log });
  const nodeName = (flags.hostnameOverride ?? hostname()).trim().toLowerCase();
  const { startPolicyEngine } = await import('../network/policy/standalone.js');
  const stop = await startPolicyEngine({
    nodeName,
    informers,
    table: TABLE,
    metrics,
    log,
    logsRefused: flags.logRefused === true,
  });
  log.info('enforcing', { node: nodeName });
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
  });
  await stop();
  informers.stop();
  client.close();
  process.exit(process.exitCode ?? 0);
}

const EXIT_CODES = `Exit code: 0 when it is allowed, 1 when it is refused or cannot be answered; with --trace 2 when the kernel
does not say the same.
`;

interface ExplainFlags extends DataDirOption {
  readonly kubeconfig?: string;
  readonly namespace: string;
  readonly protocol: Question['protocol'];
  readonly trace?: boolean;
}

export function policyCommand(terminal: Terminal): Command {
  const explaining = withDataDir(new Command('explain'))
    .argument('<from>', 'who connects', endOf)
    .argument('<to>', 'whom, with a port', endOf)
    .description('Says whether a connection is allowed, and by which rule of which policy.')
    .option('--kubeconfig <file>', 'of another cluster than the one of --data-dir')
    .option('-n, --namespace <name>', 'of pods that are named without one', 'default')
    .addOption(
      new Option('--protocol <protocol>', 'of the connection').choices(['tcp', 'udp', 'sctp']).default('tcp'),
    )
    .option('--trace', 'send a packet, and prove it with what the kernel did')
    .addHelpText('after', `${EXPLAIN_EXAMPLES}\n${EXIT_CODES}`)
    .action((from: End, to: End, flags: ExplainFlags) =>
      reporting(terminal, () => telling(terminal, () => answer({ from, to, flags }, terminal))),
    );
  return new Command('policy')
    .summary('explain network policies')
    .description('Looks at the network policies of a cluster.')
    .addCommand(explaining);
}

interface End {
  readonly namespace?: string;
  /** Of a pod, or an address. */
  readonly name: string;
  readonly port?: number;
}

function endOf(text: string): End {
  const bracketed = /^\[(.+)\](?::(\d{1,5}))?$/.exec(text);
  const plain = canonicalIp(text) === undefined ? /^(.*?)(?::(\d{1,5}))?$/.exec(text) : [text, text];
  const [, name = '', port] = bracketed ?? plain ?? [];
  if (name === '')
    throw new InvalidArgumentError('expected pod/NAME, NAMESPACE/NAME or an address, with :PORT');
  const [space, own] = name.includes('/') ? name.split('/', 2) : [undefined, name];
  const namespace = space === undefined || space === 'pod' ? {} : { namespace: space };
  return { ...namespace, name: own ?? '', ...(port === undefined ? {} : { port: Number(port) }) };
}

async function answer(
  { from, to, flags }: { from: End; to: End; flags: ExplainFlags },
  terminal: Terminal,
): Promise<void> {
  const { judgedPairs, pairText } = await import('../network/policy/explain.js');
  const client = openClient(await transportOf(flags.kubeconfig ?? existingLayout(flags).adminKubeconfig));
  try {
    const [pods, namespaces, policies, ofCluster] = await Promise.all([
      client.of(PODS).list(),
      client.of(NAMESPACES).list(),
      client.of(NETWORK_POLICIES).list(),
      clusterPolicies(client),
    ]);
    const textOf = ({ namespace = flags.namespace, name }: End) =>
      canonicalIp(name) === undefined ? `${namespace}/${name}` : name;
    const objects = {
      pods: pods.items,
      namespaces: namespaces.items,
      policies: policies.items,
      clusterPolicies: ofCluster,
    };
    const question = { from: textOf(from), to: textOf(to), protocol: flags.protocol, port: to.port };
    const pairs = judgedPairs(objects, question);
    if (pairs.some(({ verdict }) => !verdict.isAllowed)) terminal.setExitCode(1);
    for (const pair of pairs) {
      terminal.write(`${pairText(pair)}\n`);
      if (flags.trace !== true) continue;
      const { tracePair } = await import('./policyTrace.js');
      const { lines, agrees } = await tracePair(client, { pair, pods: objects.pods, question });
      terminal.write(lines.map((line) => `  ${line}\n`).join(''));
      if (!agrees) terminal.setExitCode(2);
    }
  } finally {
    client.close();
  }
}

/** None where the cluster has no definition of them. */
async function clusterPolicies(client: Client): Promise<readonly ClusterNetworkPolicy[]> {
  try {
    return (await client.of(CLUSTER_NETWORK_POLICIES).list()).items;
  } catch (error) {
    if (ApiError.is(error, 'NotFound')) return [];
    throw error;
  }
}

async function telling(terminal: Terminal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    terminal.writeError(`trellis: ${messageOf(error)}\n`);
    terminal.setExitCode(1);
  }
}
