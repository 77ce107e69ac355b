// KubeProxyConfiguration (kubeproxy.config.k8s.io/v1alpha1): defaults, a file, and flags over both. Pure.
// Guarantees: a field that makes no sense, or asks for what this proxy does not do, is refused by its path before anything
// starts.

import type { IpFamily, LocalDetector, PerFamily, TrafficOptions } from '../../proxy-modes/mode.js';
import { parseCidr, printedCidr } from '../api/ip.js';
import { LOG_FORMATS, type LogFormat } from '../api/log.js';
import { ConfigFields } from '../base/configFields.js';
import { goDurationMs } from '../base/goDuration.js';
import { ProxyError } from './error.js';
import { requireSupported } from './fileFields.js';
import { MODE_NAMES, type ModeName } from './modeNames.js';

export const API_VERSION = 'kubeproxy.config.k8s.io/v1alpha1';
export const KIND = 'KubeProxyConfiguration';
export const SCHEDULERS = [
  'rr',
  'wrr',
  'lc',
  'wlc',
  'lblc',
  'lblcr',
  'sh',
  'dh',
  'sed',
  'nq',
  'mh',
  'fo',
  'ovf',
] as const;

export interface ProxyConfig {
  readonly kubeconfig: string;
  readonly hostnameOverride: string;
  readonly mode: ModeName | 'auto';
  readonly bindAddress: string;
  readonly healthzBindAddress: string;
  readonly metricsBindAddress: string;
  readonly clusterCidrs: readonly string[];
  readonly detectLocalMode: 'ClusterCIDR' | 'NodeCIDR' | 'BridgeInterface' | 'InterfaceNamePrefix';
  readonly bridgeInterface: string;
  readonly interfaceNamePrefix: string;
  readonly nodePortAddresses: readonly string[];
  readonly masqueradeAll: boolean;
  readonly masqueradeBit: number;
  readonly localhostNodePorts: boolean;
  readonly syncPeriodMs: number;
  readonly minSyncPeriodMs: number;
  readonly ipvsScheduler: string;
  readonly ipvsExcludeCidrs: readonly string[];
  readonly ipvsStrictArp: boolean;
  /** Times of 0 leave the kernel's own. */
  readonly ipvsTcpMs: number;
  readonly ipvsTcpFinMs: number;
  readonly ipvsUdpMs: number;
  /** 0 leaves the kernel's limit alone. */
  readonly conntrackMaxPerCore: number;
  readonly conntrackMin: number;
  /** Times of 0 leave the kernel's own. */
  readonly conntrackTcpEstablishedMs: number;
  readonly conntrackTcpCloseWaitMs: number;
  readonly conntrackTcpBeLiberal: boolean;
  readonly conntrackUdpMs: number;
  readonly conntrackUdpStreamMs: number;
  readonly loggingFormat: LogFormat;
  /** What -v says where it is not given. */
  readonly logVerbosity: number;
  /** False: a port that cannot be had is told and done without. */
  readonly bindAddressHardFail: boolean;
  /** Of this process; undefined leaves it as it is. */
  readonly oomScoreAdj?: number;
}

export const DEFAULT_CONFIG: ProxyConfig = {
  kubeconfig: '',
  hostnameOverride: '',
  mode: 'auto',
  bindAddress: '0.0.0.0',
  healthzBindAddress: '0.0.0.0:10256',
  metricsBindAddress: '127.0.0.1:10249',
  clusterCidrs: [],
  detectLocalMode: 'ClusterCIDR',
  bridgeInterface: '',
  interfaceNamePrefix: '',
  nodePortAddresses: [],
  masqueradeAll: false,
  masqueradeBit: 14,
  // Off where kube-proxy has it on: it opens loopback to the network (route_localnet).
  localhostNodePorts: false,
  syncPeriodMs: 30_000,
  minSyncPeriodMs: 1000,
  ipvsScheduler: 'rr',
  ipvsExcludeCidrs: [],
  ipvsStrictArp: false,
  ipvsTcpMs: 0,
  ipvsTcpFinMs: 0,
  ipvsUdpMs: 0,
  conntrackMaxPerCore: 32_768,
  conntrackMin: 131_072,
  conntrackTcpEstablishedMs: 86_400_000,
  conntrackTcpCloseWaitMs: 3_600_000,
  conntrackTcpBeLiberal: false,
  conntrackUdpMs: 0,
  conntrackUdpStreamMs: 0,
  loggingFormat: 'text',
  logVerbosity: 0,
  // Off where it runs in an agent, beside those of other clusters; kube-proxy has it off.
  bindAddressHardFail: true,
};

export type ConfigOverrides = { readonly [Key in keyof ProxyConfig]?: ProxyConfig[Key] | undefined };

/** What a parsed file says; only what it says. `chosen` is the mode that something else than the file has settled. */
export function readConfigFile(document: unknown, chosen?: ConfigOverrides['mode']): ConfigOverrides {
  const root = new ConfigFields(document, refuse);
  requireSupported(document as object);
  if (root.text('apiVersion') !== API_VERSION || root.text('kind') !== KIND)
    throw refuse('apiVersion', `must be ${API_VERSION}, and kind ${KIND}`);
  const connection = root.section('clientConnection');
  const iptables = root.section('iptables');
  const nftables = root.section('nftables');
  const ipvs = root.section('ipvs');
  const conntrack = root.section('conntrack');
  const local = root.section('detectLocal');
  const logging = root.section('logging');
  const mode = root.text('mode') as ConfigOverrides['mode'] | '';
  const sections = { nftables: [nftables], iptables: [iptables], ipvs: [ipvs], userspace: [iptables] };
  const settled = chosen || mode || 'auto';
  // Of the mode's own section; where the machine will decide, that of the best mode comes first.
  const own = settled === 'auto' || !(settled in sections) ? [nftables, iptables] : sections[settled];
  const masquerade = settled === 'ipvs' ? [iptables] : own;
  const first = <T>(from: readonly ConfigFields[], read: (section: ConfigFields) => T | undefined) =>
    from.map(read).find((value) => value !== undefined);
  return {
    kubeconfig: connection.text('kubeconfig'),
    hostnameOverride: root.text('hostnameOverride'),
    mode: mode === '' ? undefined : mode,
    bindAddress: root.text('bindAddress'),
    healthzBindAddress: root.text('healthzBindAddress'),
    metricsBindAddress: root.text('metricsBindAddress'),
    clusterCidrs: splitList(root.text('clusterCIDR')),
    detectLocalMode: (root.text('detectLocalMode') || undefined) as ConfigOverrides['detectLocalMode'],
    bridgeInterface: local.text('bridgeInterface'),
    interfaceNamePrefix: local.text('interfaceNamePrefix'),
    nodePortAddresses: root.texts('nodePortAddresses'),
    masqueradeAll: first(masquerade, (section) => section.flag('masqueradeAll')),
    masqueradeBit: first(masquerade, (section) => section.number('masqueradeBit')),
    localhostNodePorts: iptables.flag('localhostNodePorts'),
    syncPeriodMs: first(own, (section) => periodOf(section, 'syncPeriod')),
    minSyncPeriodMs: first(own, (section) => periodOf(section, 'minSyncPeriod')),
    ipvsScheduler: ipvs.text('scheduler'),
    ipvsExcludeCidrs: ipvs.texts('excludeCIDRs'),
    ipvsStrictArp: ipvs.flag('strictARP'),
    ipvsTcpMs: durationOf(ipvs, 'tcpTimeout'),
    ipvsTcpFinMs: durationOf(ipvs, 'tcpFinTimeout'),
    ipvsUdpMs: durationOf(ipvs, 'udpTimeout'),
    conntrackMaxPerCore: conntrack.number('maxPerCore'),
    conntrackMin: conntrack.number('min'),
    conntrackTcpEstablishedMs: durationOf(conntrack, 'tcpEstablishedTimeout'),
    conntrackTcpCloseWaitMs: durationOf(conntrack, 'tcpCloseWaitTimeout'),
    conntrackTcpBeLiberal: conntrack.flag('tcpBeLiberal'),
    conntrackUdpMs: durationOf(conntrack, 'udpTimeout'),
    conntrackUdpStreamMs: durationOf(conntrack, 'udpStreamTimeout'),
    loggingFormat: (logging.text('format') || undefined) as ConfigOverrides['loggingFormat'],
    logVerbosity: logging.number('verbosity'),
    bindAddressHardFail: root.flag('bindAddressHardFail'),
    oomScoreAdj: root.number('oomScoreAdj'),
  };
}

/** Defaults, then each of the layers over what is before it. Empty text and undefined say nothing. */
export function settle(...layers: readonly ConfigOverrides[]): ProxyConfig {
  const given = layers.map((layer) =>
    Object.fromEntries(Object.entries(layer).filter(([, value]) => value !== undefined && value !== '')),
  );
  const config: ProxyConfig = Object.assign({}, DEFAULT_CONFIG, ...given);
  check(config);
  return config;
}

function check(config: ProxyConfig): void {
  const oneOf = (path: string, value: string, words: readonly string[]) => {
    if (!words.includes(value)) throw refuse(path, `must be one of ${words.join(', ')}, not "${value}"`);
  };
  const cidrs = (path: string, values: readonly string[]) => {
    for (const value of values)
      if (parseCidr(value) === undefined) throw refuse(path, `"${value}" is not a CIDR`);
  };
  oneOf('mode', config.mode, ['auto', ...MODE_NAMES]);
  oneOf('logging.format', config.loggingFormat, LOG_FORMATS);
  oneOf('ipvs.scheduler', config.ipvsScheduler, SCHEDULERS);
  oneOf('detectLocalMode', config.detectLocalMode, [
    'ClusterCIDR',
    'NodeCIDR',
    'BridgeInterface',
    'InterfaceNamePrefix',
  ]);
  cidrs('clusterCIDR', config.clusterCidrs);
  cidrs('ipvs.excludeCIDRs', config.ipvsExcludeCidrs);
  const isPrimary = config.nodePortAddresses.includes('primary');
  if (isPrimary && config.nodePortAddresses.length > 1)
    throw refuse('nodePortAddresses', '"primary" stands alone: no CIDR may be beside it');
  if (!isPrimary) cidrs('nodePortAddresses', config.nodePortAddresses);
  if (!Number.isInteger(config.masqueradeBit) || config.masqueradeBit < 0 || config.masqueradeBit > 31)
    throw refuse('masqueradeBit', 'must be a number from 0 to 31');
  const { oomScoreAdj = 0 } = config;
  if (!Number.isInteger(oomScoreAdj) || Math.abs(oomScoreAdj) > 1000)
    throw refuse('oomScoreAdj', 'must be a number from -1000 to 1000');
  if (!(config.syncPeriodMs > 0)) throw refuse('syncPeriod', 'must be more than 0');
  if (config.minSyncPeriodMs > config.syncPeriodMs)
    throw refuse('minSyncPeriod', 'must not be more than syncPeriod');
  for (const [path, text] of Object.entries({
    healthzBindAddress: config.healthzBindAddress,
    metricsBindAddress: config.metricsBindAddress,
  }))
    hostAndPort(text, path);
}

/** `0.0.0.0:10256` or `[::]:10256`. */
export function hostAndPort(text: string, path: string): { address: string; port: number } {
  const [, six, four, port = ''] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const address = six ?? four;
  if (address === undefined || Number(port) > 65_535)
    throw refuse(path, `must be an address and a port such as 0.0.0.0:10256, not "${text}"`);
  return { address, port: Number(port) };
}

/** What the IPVS mode is made with. */
export const ipvsOf = (config: ProxyConfig) => ({
  scheduler: config.ipvsScheduler,
  excludeCidrs: config.ipvsExcludeCidrs,
  strictArp: config.ipvsStrictArp,
  timeouts: {
    tcp: Math.ceil(config.ipvsTcpMs / 1000),
    tcpFin: Math.ceil(config.ipvsTcpFinMs / 1000),
    udp: Math.ceil(config.ipvsUdpMs / 1000),
  },
});

/** What each family's rules are made with, once the node is known. */
export function trafficOf(
  config: ProxyConfig,
  node: { readonly ips: readonly string[]; readonly podCidrs: readonly string[] },
): PerFamily<TrafficOptions> {
  const traffic = (family: IpFamily): TrafficOptions => {
    const ours = (texts: readonly string[]) =>
      texts.filter((text) => text.includes(':') === (family === 'ip6'));
    // In one spelling, without bits of hosts.
    const networks = (texts: readonly string[]) =>
      ours(texts)
        .flatMap((text) => parseCidr(text) ?? [])
        .map(printedCidr);
    const local = detector(config, {
      clusterCidrs: networks(config.clusterCidrs),
      podCidrs: networks(node.podCidrs),
    });
    const addresses = config.nodePortAddresses.includes('primary')
      ? ours(node.ips)
          .slice(0, 1)
          .map((ip) => `${ip}/${family === 'ip' ? 32 : 128}`)
      : networks(config.nodePortAddresses);
    return {
      ...(local === undefined ? {} : { local }),
      masqueradeAll: config.masqueradeAll,
      masqueradeBit: config.masqueradeBit,
      localhostNodePorts: config.localhostNodePorts,
      nodeIps: ours(node.ips),
      ...(addresses.length === 0 ? {} : { nodePortCidrs: addresses }),
    };
  };
  return { ip: traffic('ip'), ip6: traffic('ip6') };
}

function detector(
  config: ProxyConfig,
  { clusterCidrs, podCidrs }: { clusterCidrs: readonly string[]; podCidrs: readonly string[] },
): LocalDetector | undefined {
  switch (config.detectLocalMode) {
    case 'BridgeInterface':
      return config.bridgeInterface === '' ? undefined : { by: 'interface', name: config.bridgeInterface };
    case 'InterfaceNamePrefix':
      return config.interfaceNamePrefix === ''
        ? undefined
        : { by: 'interface-prefix', prefix: config.interfaceNamePrefix };
    default: {
      const [cidr] = config.detectLocalMode === 'NodeCIDR' ? podCidrs : clusterCidrs;
      return cidr === undefined ? undefined : { by: 'cidr', cidr };
    }
  }
}

export const splitList = (text: string | undefined): string[] | undefined =>
  text === undefined || text === '' ? undefined : text.split(',').map((part) => part.trim());

/** An empty one is the default. */
function durationOf(section: ConfigFields, name: string): number | undefined {
  const text = section.text(name) ?? '';
  const ms = goDurationMs(text === '' ? '0' : text);
  if (ms === undefined) throw refuse(section.path(name), `must be a duration such as 30s, not "${text}"`);
  return text === '' ? undefined : ms;
}

/** One of zero is the default too. */
const periodOf = (section: ConfigFields, name: string): number | undefined =>
  durationOf(section, name) || undefined;

const refuse = (path: string, why: string) =>
  new ProxyError('BAD_CONFIG', `${path === '' ? 'the file' : path} ${why}`);
