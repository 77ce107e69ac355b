// `trellis proxy`: the service proxy of a node alone, for our API server or any other, with kube-proxy's flags.
// Guarantees: a wrong flag or file is told before anything is changed; TERM ends it and leaves the rules in place.
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Command, InvalidArgumentError } from 'commander';
import type { V1Service } from '../api/gen/types.js';
import type { Stored } from '../api/object.js';
import { SERVICES } from '../api/resources.js';
import { messageOf } from '../base/errorMessage.js';
import { ClientError } from '../client/error.js';
import { makeEventRecorder, referenceTo } from '../client/eventRecorder.js';
import { openHttps } from '../client/httpTransport.js';
import { readKubeconfig } from '../client/kubeconfig.js';
import { openInformers } from '../client/sharedInformers.js';
import { openClient } from '../client/typedClient.js';
import {
  type ConfigOverrides,
  ipvsOf,
  type ProxyConfig,
  readConfigFile,
  settle,
  splitList,
} from '../proxy/config.js';
import { ProxyError } from '../proxy/error.js';
import { MODE_NAMES, type ModeName } from '../proxy/modeNames.js';
import { levelOf, makeLog } from './log.js';
import { durationMs, portNumber, wholeNumber } from './numbers.js';
import { switchOption } from './stock/booleans.js';
import { withFixedFlags } from './stock/fixedFlags.js';
import { PROXY } from './stock/proxy.js';
import { withComponentFlags } from './stock/sharedFlags.js';
import { withVersionFlag } from './stock/versionFlag.js';
import type { Terminal } from './terminal.js';

const TABLE = 'trellis-proxy';

const EXPLANATION = `
Flags override the file of --config, which overrides the defaults. The metrics port also serves /proxyMode and /configz.

Examples:
  trellis proxy --kubeconfig /etc/trellis/proxy.kubeconfig --cluster-cidr 10.244.0.0/16
  trellis proxy --config proxy.yaml --proxy-mode ipvs --ipvs-scheduler lc
  trellis proxy --cleanup
`;

interface Flags {
  readonly kubeconfig?: string;
  readonly config?: string;
  readonly cleanup?: boolean;
  readonly initOnly?: boolean;
  readonly v?: number;
  readonly proxyMode?: string;
  readonly hostnameOverride?: string;
  readonly bindAddress?: string;
  readonly healthzBindAddress?: string;
  readonly metricsBindAddress?: string;
  readonly clusterCidr?: string;
  readonly detectLocalMode?: string;
  readonly podBridgeInterface?: string;
  readonly podInterfaceNamePrefix?: string;
  readonly nodeportAddresses?: string;
  readonly masqueradeAll?: boolean;
  readonly iptablesMasqueradeBit?: number;
  readonly iptablesLocalhostNodeports?: boolean;
  readonly iptablesSyncPeriod?: number;
  readonly iptablesMinSyncPeriod?: number;
  readonly ipvsSyncPeriod?: number;
  readonly ipvsMinSyncPeriod?: number;
  readonly ipvsScheduler?: string;
  readonly ipvsExcludeCidrs?: string;
  readonly ipvsStrictArp?: boolean;
  readonly ipvsTcpTimeout?: number;
  readonly ipvsTcpfinTimeout?: number;
  readonly ipvsUdpTimeout?: number;
  readonly conntrackMaxPerCore?: number;
  readonly conntrackMin?: number;
  readonly conntrackTcpTimeoutEstablished?: number;
  readonly conntrackTcpTimeoutCloseWait?: number;
  readonly conntrackTcpBeLiberal?: boolean;
  readonly conntrackUdpTimeout?: number;
  readonly conntrackUdpTimeoutStream?: number;
  readonly loggingFormat?: ProxyConfig['loggingFormat'];
  readonly master?: string;
  readonly bindAddressHardFail?: boolean;
  readonly healthzPort?: number;
  readonly metricsPort?: number;
  readonly oomScoreAdj?: number;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table, one row per flag
export function proxyCommand(terminal: Terminal): Command {
  const command = new Command('proxy')
    .summary('run the service proxy of a node, alone')
    .description('Programs the rules for Services on this machine, as kube-proxy does.')
    .option('--kubeconfig <file>', 'API server and credentials')
    .option('--config <file>', 'a KubeProxyConfiguration, version v1alpha1')
    .option('--proxy-mode <mode>', `auto, ${MODE_NAMES.join(', ')} (default: auto)`)
    .option('--master <url>', 'address of the API server; overrides the kubeconfig')
    .addOption(switchOption('cleanup', 'remove the rules of every mode and exit'))
    .addOption(switchOption('init-only', 'set the kernel settings and exit'))
    .option('--hostname-override <name>', 'the name of this node (default: the host name)')
    .option('--bind-address <address>', 'address of this node, unless it is a wildcard (default: 0.0.0.0)')
    .addOption(
      switchOption(
        'bind-address-hard-fail',
        'exit if a port for health or metrics is not available (default: true)',
      ),
    )
    .option('--healthz-bind-address <address>', 'where /healthz and /livez are (default: 0.0.0.0:10256)')
    .option('--metrics-bind-address <address>', 'where /metrics is (default: 127.0.0.1:10249)')
    .option('--cluster-cidr <cidrs>', 'addresses of pods, one network per family')
    .option('--detect-local-mode <mode>', 'ClusterCIDR, NodeCIDR, BridgeInterface or InterfaceNamePrefix')
    .option('--pod-bridge-interface <name>', 'the bridge of the pods, for BridgeInterface')
    .option(
      '--pod-interface-name-prefix <prefix>',
      'prefix of the names of pod devices, for InterfaceNamePrefix',
    )
    .option('--nodeport-addresses <cidrs>', 'networks of the addresses that serve node ports, or primary')
    .addOption(switchOption('masquerade-all', 'masquerade all traffic to cluster IPs'))
    .option('--iptables-masquerade-bit <bit>', 'the bit of the packet mark (default: 14)', wholeNumber)
    .addOption(switchOption('iptables-localhost-nodeports', 'node ports on loopback in the iptables mode'))
    .option(
      '--iptables-sync-period <duration>',
      'interval of full checks of the rules (default: 30s)',
      durationMs,
    )
    .option(
      '--iptables-min-sync-period <duration>',
      'shortest interval between two syncs (default: 1s)',
      durationMs,
    )
    .option('--ipvs-sync-period <duration>', 'interval of full checks in the ipvs mode', durationMs)
    .option(
      '--ipvs-min-sync-period <duration>',
      'shortest interval between two syncs in the ipvs mode',
      durationMs,
    )
    .option('--ipvs-scheduler <name>', 'rr, lc, dh, sh, sed, nq, ... (default: rr)')
    .option('--ipvs-exclude-cidrs <cidrs>', 'networks whose virtual servers are left alone')
    .addOption(switchOption('ipvs-strict-arp', 'do not answer ARP for service addresses'))
    .option('--ipvs-tcp-timeout <duration>', 'IPVS timeout of idle TCP connections', durationMs)
    .option('--ipvs-tcpfin-timeout <duration>', 'IPVS timeout of TCP connections after FIN', durationMs)
    .option('--ipvs-udp-timeout <duration>', 'IPVS timeout of UDP flows', durationMs)
    .option(
      '--conntrack-max-per-core <n>',
      'limit of tracked connections per core (default: 32768; 0: unchanged)',
      wholeNumber,
    )
    .option('--conntrack-min <n>', 'least limit of tracked connections (default: 131072)', wholeNumber)
    .option(
      '--conntrack-tcp-timeout-established <duration>',
      'how long an idle TCP connection is tracked (default: 24h; 0: unchanged)',
      durationMs,
    )
    .option(
      '--conntrack-tcp-timeout-close-wait <duration>',
      'the same in CLOSE_WAIT (default: 1h)',
      durationMs,
    )
    .addOption(switchOption('conntrack-tcp-be-liberal', 'track packets outside the TCP window as well'))
    .option(
      '--conntrack-udp-timeout <duration>',
      'how long a UDP flow without replies is tracked',
      durationMs,
    )
    .option(
      '--conntrack-udp-timeout-stream <duration>',
      'how long a UDP flow with replies is tracked',
      durationMs,
    )
    .option('--healthz-port <port>', 'port of /healthz, without --healthz-bind-address', portNumber)
    .option('--metrics-port <port>', 'port of /metrics, without --metrics-bind-address', portNumber)
    .option('--oom-score-adj <score>', 'OOM score adjustment of this process, -1000 to 1000', score);
  return withFixedFlags(withComponentFlags(withVersionFlag(command, terminal)), PROXY)
    .addHelpText('after', EXPLANATION)
    .action((flags: Flags) => reporting(terminal, () => run(flags, terminal)));
}

async function run(flags: Flags, terminal: Terminal): Promise<void> {
  const document = await documentOf(flags);
  const configFor = (mode?: ModeName) => proxyConfig(flags, document, mode);
  const config = configFor();
  if (flags.cleanup === true) return cleanUp(config, terminal);
  if (flags.initOnly === true) return initialize(config, terminal);
  if (config.kubeconfig === '')
    throw new ProxyError(
      'BAD_CONFIG',
      'no kubeconfig: give --kubeconfig, or clientConnection.kubeconfig in the file of --config',
    );
  const log = makeLog({
    component: 'proxy',
    level: levelOf(flags.v ?? config.logVerbosity),
    format: config.loggingFormat,
  });
  const connection = await readKubeconfig(config.kubeconfig);
  const client = openClient(openHttps({ ...connection, server: flags.master ?? connection.server }));
  const informers = openInformers(client, { log });
  const nodeName = nodeNameOf(config);
  const { startProxy } = await import('../proxy/standalone.js');
  const recorder = makeEventRecorder(client, { component: 'kube-proxy', host: nodeName, log });
  const refused = (service: Stored<V1Service>, why: string) =>
    recorder.event(referenceTo(SERVICES, service), 'Warning', 'ProxyRefused', `${nodeName}: ${why}`);
  const proxy = await startProxy({ config, configFor, nodeName, informers, table: TABLE, refused, log });
  log.info('serving', { mode: proxy.mode, node: nodeName });
  await ended();
  await proxy.stop();
  informers.stop();
  client.close();
  process.exit(process.exitCode ?? 0);
}

async function cleanUp(config: ProxyConfig, terminal: Terminal): Promise<void> {
  const { cleanUpModes } = await import('../proxy/modes.js');
  const { forgetClaims, SHARED_CHAINS } = await import('../proxy/soleProxy.js');
  const what = { table: TABLE, families: ['ip', 'ip6'], traffic: {}, ipvs: ipvsOf(config) } as const;
  const failed = await cleanUpModes(MODE_NAMES, what);
  await forgetClaims([TABLE, SHARED_CHAINS]);
  for (const [mode, error] of failed) terminal.writeError(`trellis: ${mode}: ${messageOf(error)}\n`);
  if (failed.size > 0) terminal.setExitCode(1);
}

/** What needs privileges that the proxy itself may then do without. */
async function initialize(config: ProxyConfig, terminal: Terminal): Promise<void> {
  const { applyKernelSettings } = await import('../proxy/kernelSettings.js');
  const failed = await applyKernelSettings(config, config.mode, 'before-rules');
  for (const [setting, error] of failed) terminal.writeError(`trellis: ${setting}: ${messageOf(error)}\n`);
  if (failed.size > 0) terminal.setExitCode(1);
}

async function documentOf({ config }: Flags): Promise<unknown> {
  if (config === undefined) return undefined;
  const { parse } = await import('yaml');
  try {
    return parse(await readFile(config, 'utf8')) ?? {};
  } catch (cause) {
    throw new ProxyError(
      'BAD_CONFIG',
      `cannot read ${config}: ${cause instanceof Error ? cause.message : cause}`,
      { cause },
    );
  }
}

/**
 * The flags over the file (undefined: none), for the mode that they name or the one that the machine has chosen: each has
 * sections and flags of its own.
 */
export function proxyConfig(flags: Flags, document: unknown, mode?: ModeName): ProxyConfig {
  const named = mode ?? (flags.proxyMode as ConfigOverrides['mode']);
  const file = document === undefined ? {} : readConfigFile(document, named);
  return settle(file, overridesOf(flags, named ?? file.mode ?? 'auto'));
}

const at = (address: string, port: number | undefined) =>
  port === undefined ? undefined : `${address}:${port}`;

function overridesOf(flags: Flags, settled: ConfigOverrides['mode']): ConfigOverrides {
  const isIpvs = settled === 'ipvs';
  return {
    kubeconfig: flags.kubeconfig,
    hostnameOverride: flags.hostnameOverride,
    mode: flags.proxyMode as ProxyConfig['mode'] | undefined,
    bindAddress: flags.bindAddress,
    healthzBindAddress: flags.healthzBindAddress ?? at('0.0.0.0', flags.healthzPort),
    metricsBindAddress: flags.metricsBindAddress ?? at('127.0.0.1', flags.metricsPort),
    clusterCidrs: splitList(flags.clusterCidr),
    detectLocalMode: flags.detectLocalMode as ProxyConfig['detectLocalMode'] | undefined,
    bridgeInterface: flags.podBridgeInterface,
    interfaceNamePrefix: flags.podInterfaceNamePrefix,
    nodePortAddresses: splitList(flags.nodeportAddresses),
    masqueradeAll: flags.masqueradeAll,
    masqueradeBit: flags.iptablesMasqueradeBit,
    localhostNodePorts: flags.iptablesLocalhostNodeports,
    // As kube-proxy: those of iptables are for every mode but IPVS.
    syncPeriodMs: isIpvs ? flags.ipvsSyncPeriod : flags.iptablesSyncPeriod,
    minSyncPeriodMs: isIpvs ? flags.ipvsMinSyncPeriod : flags.iptablesMinSyncPeriod,
    ipvsScheduler: flags.ipvsScheduler,
    ipvsExcludeCidrs: splitList(flags.ipvsExcludeCidrs),
    ipvsStrictArp: flags.ipvsStrictArp,
    ipvsTcpMs: flags.ipvsTcpTimeout,
    ipvsTcpFinMs: flags.ipvsTcpfinTimeout,
    ipvsUdpMs: flags.ipvsUdpTimeout,
    conntrackMaxPerCore: flags.conntrackMaxPerCore,
    conntrackMin: flags.conntrackMin,
    conntrackTcpEstablishedMs: flags.conntrackTcpTimeoutEstablished,
    conntrackTcpCloseWaitMs: flags.conntrackTcpTimeoutCloseWait,
    conntrackTcpBeLiberal: flags.conntrackTcpBeLiberal,
    conntrackUdpMs: flags.conntrackUdpTimeout,
    conntrackUdpStreamMs: flags.conntrackUdpTimeoutStream,
    loggingFormat: flags.loggingFormat,
    bindAddressHardFail: flags.bindAddressHardFail,
    oomScoreAdj: flags.oomScoreAdj,
  };
}

/** Nodes are named in small letters. */
const nodeNameOf = ({ hostnameOverride }: ProxyConfig) =>
  (hostnameOverride === '' ? hostname() : hostnameOverride).trim().toLowerCase();

function ended(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
  });
}

async function reporting(terminal: Terminal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ProxyError) && !(error instanceof ClientError)) throw error;
    terminal.writeError(`trellis: ${error.message}\n`);
    terminal.setExitCode(1);
  }
}

function score(text: string): number {
  if (!/^-?\d{1,4}$/.test(text)) throw new InvalidArgumentError('expected a whole number from -1000 to 1000');
  return Number(text);
}
