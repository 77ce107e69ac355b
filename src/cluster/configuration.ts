// The one YAML file of a cluster: what `trellis up` takes as flags, and the configuration files of Kubernetes' own
// components as further documents.
// Guarantees: everything is checked before anything starts, and what is wrong is named by document and field. Pure.
import { parseAllDocuments, stringify } from 'yaml';
import { messageOf } from '../base/errorMessage.js';
import type { KubeletConfig } from '../kubelet/config.js';
import { readSettings as readKubelet } from '../kubelet/configuration/configuration.js';
import { FIELDS } from '../kubelet/configuration/fields.js';
import { type ConfigOverrides, readConfigFile, settle } from '../proxy/config.js';
import { parseConfiguration, type SchedulerConfiguration } from '../scheduler/configuration/configuration.js';
import type { ComponentKind } from './componentFiles.js';
import { ClusterError } from './error.js';
import { API_VERSION, KIND } from './settings.js';

/** Decided by the cluster's own settings: a file of a component cannot say otherwise. */
const DECIDED_KUBELET: readonly (keyof KubeletConfig)[] = [
  'nodeName',
  'nodeIps',
  'port',
  'healthzPort',
  'staticPodPath',
  'clusterDNS',
  'clusterDomain',
  'rootDir',
  'podLogsDir',
  'podCidr',
  'cgroupRoot',
  'cgroupsPerQOS',
];
const DECIDED_PROXY: readonly (keyof ConfigOverrides)[] = [
  'kubeconfig',
  'hostnameOverride',
  'mode',
  'clusterCidrs',
  'loggingFormat',
  'logVerbosity',
];

/** What checks each component's document. */
const COMPONENTS: Readonly<Record<ComponentKind, (text: string) => unknown>> = {
  KubeletConfiguration: kubeletOf,
  KubeProxyConfiguration: (text) => proxyOf(text),
  KubeSchedulerConfiguration: schedulerOf,
};

export interface ClusterFile {
  /** The fields of ClusterConfiguration, not yet checked: they are the flags of `trellis up`. */
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly components: ReadonlyMap<ComponentKind, string>;
}

export function readClusterFile(name: string, text: string): ClusterFile {
  const refuse = (why: string, cause?: unknown) =>
    new ClusterError('BAD_OPTION', `${name}: ${why}`, cause === undefined ? {} : { cause });
  let cluster: Record<string, unknown> | undefined;
  const components = new Map<ComponentKind, string>();
  for (const document of parseAllDocuments(text)) {
    const [error] = document.errors;
    if (error !== undefined) throw refuse(error.message.trim(), error);
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    if (value === null) continue;
    if (typeof value !== 'object' || Array.isArray(value)) throw refuse('a document is not an object');
    const { apiVersion, kind, ...fields } = value as Record<string, unknown>;
    if (kind === KIND) {
      if (apiVersion !== API_VERSION) throw refuse(`${KIND}: apiVersion: must be ${API_VERSION}`);
      if (cluster !== undefined) throw refuse(`${KIND} stands there twice`);
      cluster = fields;
    } else if (isComponent(kind)) {
      if (components.has(kind)) throw refuse(`${kind} stands there twice`);
      const own = stringify(value);
      try {
        COMPONENTS[kind](own);
      } catch (cause) {
        throw refuse(`${kind}: ${messageOf(cause)}`, cause);
      }
      components.set(kind, own);
    } else {
      const kinds = [KIND, ...Object.keys(COMPONENTS)].join(', ');
      throw refuse(`kind: ${JSON.stringify(kind) ?? 'nothing'} is none of ${kinds}`);
    }
  }
  return { cluster: cluster ?? {}, components };
}

const isComponent = (kind: unknown): kind is ComponentKind =>
  typeof kind === 'string' && Object.hasOwn(COMPONENTS, kind);

export function kubeletOf(text: string): Partial<KubeletConfig> {
  const { kubelet, server } = readKubelet({ file: { name: 'KubeletConfiguration', text }, flags: {} });
  const none = readKubelet({ flags: {} }).server;
  const given = [
    ...DECIDED_KUBELET.filter((key) => kubelet[key] !== undefined),
    ...Object.entries(server).flatMap(([key, value]) =>
      value === none[key as keyof typeof none] ? [] : [key],
    ),
  ];
  const [first] = given;
  if (first === undefined) return kubelet;
  if (first === 'loggingFormat') throw saidOtherwise('logging.format', first);
  const field = FIELDS.find(({ target }) => target === first)?.path ?? first;
  throw new ClusterError('BAD_OPTION', `${field}: is decided by the cluster; leave it out`);
}

export function proxyOf(text: string, mode?: ConfigOverrides['mode']): ConfigOverrides {
  const [document] = parseAllDocuments(text);
  const overrides = readConfigFile(document?.toJS({ maxAliasCount: 100 }), mode);
  const first = DECIDED_PROXY.find((key) => Boolean(overrides[key]));
  if (first === 'mode') throw saidOtherwise('mode', 'proxyMode');
  if (first === 'loggingFormat') throw saidOtherwise('logging.format', first);
  const field = first === 'logVerbosity' ? 'logging.verbosity' : first;
  if (field !== undefined)
    throw new ClusterError('BAD_OPTION', `${field}: is decided by the cluster; leave it out`);
  // Wrong values are refused now, not at the start of the proxy.
  settle(overrides);
  return overrides;
}

const saidOtherwise = (field: string, setting: string) =>
  new ClusterError('BAD_OPTION', `${field}: say it as ${setting} of ${KIND}`);

export function schedulerOf(text: string): SchedulerConfiguration {
  return parseConfiguration(text);
}
