// `trellis network-policy`: enforces network policies on a node, alone; `trellis policy explain`: says what they decide.
// Guarantees: TERM ends the first and leaves the rules in place; the second changes nothing.
import { hostname } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { canonicalIp, parseCidr } from '../api/ip.js';
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
It enforces policies with nf_tables on the pods of this node, with any kubelet, any proxy mode and any pod network that uses
this machine's routing or bridges (with the kernel module br_netfilter). Its user needs list and watch of pods,
namespaces, nodes, networkpolicies, customresourcedefinitions and clusternetworkpolicies.

Examples:
  trellis network-policy --kubeconfig /etc/kubernetes/policy.kubeconfig
  trellis network-policy --cleanup
`;

const EXPLAIN_EXAMPLES = `
<from> and <to> are pod/NAME, NAMESPACE/NAME or an address; <to> may have a port.

Examples:
  trellis policy explain pod/web pod/db:5432
  trellis policy explain shop/web 10.0.0.7:53 --protocol udp
  trellis policy explain pod/web pod/db:5432 --trace

With --trace a packet is sent from the first pod, and the kernel of each node on its path reports which rules it hit. It is only
the first packet of a connection: a TCP SYN (reset if answered), an empty UDP datagram, or an SCTP INIT. The user needs
create of nodes/proxy, and the nodes must run Trellis' agent.
`;

interface EngineFlags {
  readonly kubeconfig?: string;
  readonly hostnameOverride?: string;
  readonly podCidrs?: readonly string[];
  readonly metricsBindAddress?: string;
  readonly logRefused?: boolean;
  readonly cleanup?: boolean;
  readonly v?: number;
  readonly loggingFormat?: 'text' | 'json';
}

export function networkPolicyCommand(terminal: Terminal): Command {
  return new Command('network-policy')
    .summary('enforce network policies on a node, alone')
    .description('Enforces the network policies of a cluster on the pods of this node.')
    .option('--kubeconfig <file>', 'API server and credentials')
    .option('--hostname-override <name>', 'the name of this node (default: the host name)')
    .option(
      '--pod-cidrs <cidrs>',
      "networks of this node's pods, closed before the API server answers (default: those of the Node)",
      networks,
    )
    .option(
      '--metrics-bind-address <address:port>',
      'address that serves /metrics over plain HTTP (default: none)',
    )
    .option('--log-refused', 'log refused connections with the names of their pods')
    .option('--cleanup', 'remove the rules and exit')
    .option('-v, --v <level>', 'log verbosity', wholeNumber)
    .addOption(loggingFormatOption())
    .addHelpText('after', ENGINE_EXAMPLES)
    .action((flags: EngineFlags) => telling(terminal, () => enforce(flags)));
}

function networks(text: string): string[] {
  const listed = text.split(',').map((one) => one.trim());
  const wrong = listed.find((one) => parseCidr(one) === undefined);
  if (wrong !== undefined) throw new InvalidArgumentError(`${JSON.stringify(wrong)} is no network`);
  return listed;
}

async function enforce(flags: EngineFlags): Promise<void> {
  if (flags.cleanup === true) {
    const { openNft } = await import('../kernel/nftables/adapter.js');
    const { removePolicies } = await import('../network/policy/enforcer.js');
    const nft = await openNft();
    return removePolicies(nft, TABLE).finally(() => nft.close());
  }
  if (flags.kubeconfig === undefined) throw new ClientError('CONFIG', 'no kubeconfig: give --kubeconfig');
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
    podCidrs: flags.podCidrs,
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

const EXIT_CODES = `Exit code: 0 if the connection is allowed, 1 if it is refused or there is no answer; with --trace 2 if the kernel
disagrees.
`;

interface ExplainFlags extends DataDirOption {
  readonly kubeconfig?: string;
  readonly namespace: string;
  readonly protocol: Question['protocol'];
  readonly trace?: boolean;
}

export function policyCommand(terminal: Terminal): Command {
  const explaining = withDataDir(new Command('explain'))
    .argument('<from>', 'the source', endOf)
    .argument('<to>', 'the destination, with a port', endOf)
    .description('Says whether a connection is allowed, and by which rule of which policy.')
    .option('--kubeconfig <file>', 'kubeconfig of a cluster other than that of --data-dir')
    .option('-n, --namespace <name>', 'namespace of pods given without one', 'default')
    .addOption(
      new Option('--protocol <protocol>', 'protocol of the connection')
        .choices(['tcp', 'udp', 'sctp'])
        .default('tcp'),
    )
    .option('--trace', 'also send a packet, and compare with what the kernel does')
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
