// What a cluster was made with: kept in its data directory, so that every later start is the same cluster.
// Guarantees: a setting that cannot change later (address ranges, node name) is refused, not ignored.

import { parseCidr } from '../api/ip.js';
import type { LogFormat } from '../api/log.js';
import { dnsSubdomain } from '../api/names.js';
import type { Backend } from '../network/overlay/peer.js';
import type { ModeName } from '../proxy/modeNames.js';
import { ClusterError } from './error.js';
import { readIfThere, writePrivate } from './files.js';
import type { Layout } from './layout.js';

/** How the settings are called in the file of --config. */
export const API_VERSION = 'trellis.local/v1alpha1';
export const KIND = 'ClusterConfiguration';

export const POD_SPOOFING = ['deny', 'allow'] as const;
type PodSpoofing = (typeof POD_SPOOFING)[number];

/** What of network policies is logged. */
export const POLICY_LOG = ['none', 'refused'] as const;
type PolicyLog = (typeof POLICY_LOG)[number];

export interface Settings {
  readonly nodeName: string;
  /** Where the apiserver of the cluster that this machine has joined is; empty where it runs here. */
  readonly server: string;
  /** Addresses of pods and of services: a network, or one of each family with a comma between. */
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  /** Networks beyond the cluster that know the way back to pods, with commas between; often none. */
  readonly nonMasqueradeCidrs: string;
  /** Whether pods may send from addresses that are not theirs. */
  readonly podSpoofing: PodSpoofing;
  /** Whether this node logs the connections that network policies refuse. */
  readonly policyLog: PolicyLog;
  readonly clusterDomain: string;
  /** The apiserver's port. */
  readonly securePort: number;
  /** More names and addresses of the apiserver's certificate, with commas between. */
  readonly tlsSan: string;
  readonly kubeletPort: number;
  readonly kubeletHealthzPort: number;
  /** Of the node's name server, behind the cluster's DNS address. */
  readonly dnsPort: number;
  /** How services are programmed; `auto` is the best that the kernel has. */
  readonly proxyMode: ModeName | 'auto';
  /** How pods of other nodes are reached. */
  readonly overlay: Backend;
  /** The number of its VXLAN: another device of the machine has another. */
  readonly vni: number;
  /** How long a node may be silent before its pods are made elsewhere. */
  readonly nodeGraceSeconds: number;
  /** On this machine, itself included, and the range of their addresses; empty as long as it is alone. */
  readonly nodes: number;
  readonly underlayCidr: string;
  /** Where the state is kept when not in the data directory, and how etcd is reached; empty where there is none. */
  readonly etcdServers: string;
  readonly etcdCafile: string;
  readonly etcdCertfile: string;
  readonly etcdKeyfile: string;
  /** Of the logs of all processes that are ours. */
  readonly loggingFormat: LogFormat;
}

/** What a cluster of both families has unless it is told otherwise. */
const DUAL_STACK = {
  clusterCidr: '10.244.0.0/16,fd00:10:244::/56',
  serviceCidr: '10.96.0.0/12,fd00:10:96::/112',
};

/** What the user asked for; the rest is as before, or the default. */
export type WantedSettings = { readonly [Key in keyof Settings]?: Settings[Key] | undefined };

/** What every node of a cluster must have alike. */
export const SHARED_SETTINGS = [
  'clusterCidr',
  'serviceCidr',
  'nonMasqueradeCidrs',
  'podSpoofing',
  'clusterDomain',
  'proxyMode',
  'overlay',
  'vni',
  'nodeGraceSeconds',
] as const satisfies readonly (keyof Settings)[];

const FIXED = ['nodeName', 'clusterCidr', 'serviceCidr', 'clusterDomain'] as const;
const RANGES = ['clusterCidr', 'serviceCidr'] as const;
const FORMAT = 1;
/** Also what is meant by settings that were written before there was a choice. */
const ABSENT = {
  server: '',
  tlsSan: '',
  nonMasqueradeCidrs: '',
  vni: 1,
  nodeGraceSeconds: 40,
  nodes: 1,
  underlayCidr: '',
  etcdServers: '',
  etcdCafile: '',
  etcdCertfile: '',
  etcdKeyfile: '',
  loggingFormat: 'text' as LogFormat,
  podSpoofing: 'deny' as PodSpoofing,
  policyLog: 'none' as PolicyLog,
};

/** Kubernetes' own numbers. */
export function defaultSettings(nodeName: string): Settings {
  return {
    nodeName,
    clusterCidr: '10.244.0.0/16',
    serviceCidr: '10.96.0.0/12',
    clusterDomain: 'cluster.local',
    securePort: 6443,
    kubeletPort: 10250,
    kubeletHealthzPort: 10248,
    dnsPort: 10053,
    proxyMode: 'auto',
    overlay: 'vxlan',
    ...ABSENT,
  };
}

/** The networks of a setting, the family of the node's first address first. */
export const rangesOf = (setting: string): string[] =>
  setting
    .split(',')
    .map((range) => range.trim())
    .filter((range) => range !== '');

/** What the cluster has from now on; nothing is written, so that a start that is refused changes nothing. */
export async function settle(
  layout: Layout,
  wanted: WantedSettings & { readonly dualStack?: boolean | undefined },
  defaults: Settings,
): Promise<Settings> {
  const saved = await readSettings(layout);
  const dual = wanted.dualStack === true ? DUAL_STACK : {};
  const settings = merge({ ...defaults, ...dual, ...saved }, wanted);
  checkNodeName(settings);
  for (const key of RANGES) checkRanges(key, settings[key], wanted.dualStack === true);
  for (const range of rangesOf(settings.nonMasqueradeCidrs))
    if (parseCidr(range) === undefined)
      throw new ClusterError(
        'BAD_OPTION',
        `nonMasqueradeCidrs: ${JSON.stringify(range)} is not a network such as 10.0.0.0/8`,
      );
  checkChoice(settings, 'podSpoofing', POD_SPOOFING);
  checkChoice(settings, 'policyLog', POLICY_LOG);
  if (rangesOf(settings.clusterCidr).length !== rangesOf(settings.serviceCidr).length)
    throw new ClusterError(
      'BAD_OPTION',
      `pods have ${settings.clusterCidr} and services ${settings.serviceCidr}: a cluster of both families needs a network of each for both`,
    );
  for (const key of FIXED) {
    if (saved !== undefined && saved[key] !== settings[key]) {
      throw new ClusterError(
        'BAD_OPTION',
        `the cluster in ${layout.dataDir} was made with ${key} ${saved[key]}, which cannot become ${settings[key]}; ` +
          'leave the option out, use another --data-dir, or start afresh after "trellis down --purge"',
      );
    }
  }
  return settings;
}

/** From then on the directory holds a cluster. */
export const saveSettings = (layout: Layout, settings: Settings): Promise<void> =>
  writePrivate(layout.settingsFile, `${JSON.stringify({ format: FORMAT, ...settings }, null, 2)}\n`);

/** The longest value of a label: every node has its name in one. */
const LONGEST_NAME = 63;

function checkNodeName({ nodeName: name, nodes }: Settings): void {
  const longest = nodes > 1 ? `${name}-${nodes}` : name;
  if (longest.length > LONGEST_NAME)
    throw new ClusterError(
      'BAD_OPTION',
      `nodeName ${JSON.stringify(longest)} has ${longest.length} characters: the label kubernetes.io/hostname of a node ` +
        `holds its name, and takes ${LONGEST_NAME}; choose a shorter one with --node-name`,
    );
  if (dnsSubdomain(name).length === 0) return;
  throw new ClusterError(
    'BAD_OPTION',
    `nodeName ${JSON.stringify(name)}: a node's name has lower-case letters, digits, "-" and "." only; ` +
      'choose one with --node-name where the host name is none',
  );
}

function checkChoice<K extends keyof Settings>(
  settings: Settings,
  key: K,
  choices: readonly Settings[K][],
): void {
  if (!choices.includes(settings[key]))
    throw new ClusterError(
      'BAD_OPTION',
      `${key}: ${JSON.stringify(settings[key])} is neither of ${choices.join(', ')}`,
    );
}

function checkRanges(key: (typeof RANGES)[number], text: string, isDual: boolean): void {
  const families = rangesOf(text).map((range) => parseCidr(range)?.family);
  const refuse = (why: string) => new ClusterError('BAD_OPTION', `${key} ${JSON.stringify(text)}: ${why}`);
  if (families.length === 0 || families.includes(undefined))
    throw refuse('expected a network such as 10.244.0.0/16');
  if (new Set(families).size !== families.length) throw refuse('at most one network of each family');
  if (isDual && families.length < 2) throw refuse('has one family only, and --dual-stack asks for both');
}

/** A directory stays what it was made for: a control plane's, or that of a node of another's. */
export async function requireRole(layout: Layout, role: 'server' | 'agent'): Promise<void> {
  const saved = await readSettings(layout);
  if (saved === undefined || (saved.server === '') === (role === 'server')) return;
  const what = saved.server === '' ? 'a cluster of its own' : `a node that has joined ${saved.server}`;
  const start = saved.server === '' ? 'trellis up' : 'trellis agent';
  throw new ClusterError(
    'BAD_OPTION',
    `${layout.dataDir} holds ${what}; start it with "${start}", use another --data-dir, ` +
      'or start afresh after "trellis down --purge"',
  );
}

/** Undefined when the directory holds no cluster. */
export async function readSettings(layout: Layout): Promise<Settings | undefined> {
  const text = await readIfThere(layout.settingsFile);
  if (text === undefined) return undefined;
  let parsed: Settings & { format?: unknown };
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new ClusterError('NOT_OURS', `${layout.settingsFile} is not what Trellis wrote: ${String(cause)}`, {
      cause,
    });
  }
  const { format, ...settings } = { ...ABSENT, ...parsed };
  if (format !== FORMAT) {
    throw new ClusterError(
      'NOT_OURS',
      `${layout.settingsFile} has format ${String(format)}; this version reads ${FORMAT}`,
    );
  }
  return settings;
}

/** Takes of `wanted` what is a setting, so that a whole command line may be given. */
function merge(base: Settings, wanted: WantedSettings): Settings {
  const given = Object.entries(wanted).filter(([key, value]) => key in base && value !== undefined);
  return { ...base, ...Object.fromEntries(given) };
}
