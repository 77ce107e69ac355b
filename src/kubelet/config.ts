// What a kubelet is told: KubeletConfiguration's names and defaults, and the few facts that flags add.
// Guarantees: `completeConfig` answers a whole configuration or throws with the name of the wrong field. Pure.
import type { V1Taint } from '../api/gen/types.js';
import { KubeletError } from './error.js';
import { SIGNALS } from './eviction/signals.js';
import { allowlistProblem, type VerificationPolicy } from './imageAccess.js';
import type { ShutdownPeriod } from './shutdown/plan.js';

export interface KubeletConfig {
  /** The node's name in the API: the host name in lower case unless overridden. */
  readonly nodeName: string;
  /** The first is the node's own; a second, of the other family, makes it dual-stack. */
  readonly nodeIps: readonly string[];
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly registerNode: boolean;
  readonly registerWithTaints: readonly V1Taint[];
  readonly address: string;
  readonly port: number;
  /** Directory of static pods; empty for none. */
  readonly staticPodPath: string;
  readonly fileCheckFrequencyMs: number;
  readonly syncFrequencyMs: number;
  readonly maxPods: number;
  readonly podCidr: string;
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
  readonly resolvConf: string;
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** Control group above kubepods, as a path from the root of each hierarchy; `/` for the root itself. */
  readonly cgroupRoot: string;
  readonly cgroupsPerQOS: boolean;
  /** Chains in iptables by which others learn which back end is used. */
  readonly makeIPTablesUtilChains: boolean;
  readonly cpuCFSQuota: boolean;
  readonly podPidsLimit: number;
  readonly nodeStatusUpdateFrequencyMs: number;
  readonly nodeStatusReportFrequencyMs: number;
  readonly nodeLeaseDurationSeconds: number;
  readonly plegRelistPeriodMs: number;
  readonly housekeepingPeriodMs: number;
  readonly maxContainerBackOffMs: number;
  readonly serializeImagePulls: boolean;
  readonly maxParallelImagePulls: number;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly providerId: string;
  readonly healthzPort: number;
  readonly healthzBindAddress: string;
  /** 0 for none. */
  readonly readOnlyPort: number;
  /** Containers that name no seccomp profile get the runtime's. */
  readonly seccompDefault: boolean;
  /** The kernel's settings must be as Kubernetes wants them, or the kubelet does not start. */
  readonly protectKernelDefaults: boolean;
  /** Off: no logs and no way into containers through the kubelet's API. */
  readonly enableDebuggingHandlers: boolean;
  /** `VersionTLS12`, `VersionTLS13`, or empty for the first. */
  readonly tlsMinVersion: string;
  /** Of TLS 1.2, by Kubernetes' names; empty for Node's choice. */
  readonly tlsCipherSuites: readonly string[];
  /** Where static pods are fetched from; empty for none. */
  readonly staticPodURL: string;
  readonly httpCheckFrequencyMs: number;
  readonly allowedUnsafeSysctls: readonly string[];
  /** Percent of the images' disk above which images are removed, and below which that ends. */
  readonly imageGCHighThresholdPercent: number;
  readonly imageGCLowThresholdPercent: number;
  /** Milliseconds: a younger image stays; one that nobody used for the maximum goes, 0 for never. */
  readonly imageMinimumGCAge: number;
  readonly imageMaximumGCAge: number;
  /** Which pods must prove that they may use an image that is here already. */
  readonly imagePullCredentialsVerificationPolicy: VerificationPolicy;
  /** Images without tag and digest, or prefixes that end with a slash and a star. */
  readonly preloadedImagesVerificationAllowlist: readonly string[];
  readonly containerLogMaxBytes: number;
  readonly containerLogMaxFiles: number;
  readonly containerLogMonitorIntervalMs: number;
  /** By signal, such as `memory.available`: a quantity or a percentage. */
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft: Readonly<Record<string, string>>;
  /** Milliseconds by signal. */
  readonly evictionSoftGrace: Readonly<Record<string, number>>;
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
  /** Milliseconds for which a condition stays after its last cause. */
  readonly evictionPressureTransition: number;
  /** Seconds that a soft eviction grants at most. */
  readonly evictionMaxPodGracePeriod: number;
  /** Milliseconds that a shutdown of the machine waits for pods, and how many of them are for critical ones; 0 for none. */
  readonly shutdownGracePeriod: number;
  readonly shutdownGracePeriodCriticalPods: number;
  /** Instead of both, seconds by priority. */
  readonly shutdownGracePeriodByPodPriority: readonly ShutdownPeriod[];
  /** Between two looks at the signals. */
  readonly evictionPeriodMs: number;
}

const DEFAULT_EVICTION_HARD = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

const DEFAULTS = {
  nodeIps: [],
  nodeLabels: {},
  registerNode: true,
  registerWithTaints: [],
  address: '0.0.0.0',
  port: 10250,
  staticPodPath: '',
  fileCheckFrequencyMs: 20_000,
  syncFrequencyMs: 60_000,
  maxPods: 110,
  podCidr: '',
  clusterDNS: [],
  clusterDomain: '',
  resolvConf: '/etc/resolv.conf',
  rootDir: '/var/lib/kubelet',
  podLogsDir: '/var/log/pods',
  cgroupRoot: '/',
  cgroupsPerQOS: true,
  makeIPTablesUtilChains: true,
  cpuCFSQuota: true,
  podPidsLimit: -1,
  nodeStatusUpdateFrequencyMs: 10_000,
  nodeStatusReportFrequencyMs: 300_000,
  nodeLeaseDurationSeconds: 40,
  plegRelistPeriodMs: 1_000,
  housekeepingPeriodMs: 2_000,
  maxContainerBackOffMs: 300_000,
  serializeImagePulls: false,
  maxParallelImagePulls: 5,
  systemReserved: {},
  kubeReserved: {},
  providerId: '',
  healthzPort: 10248,
  healthzBindAddress: '127.0.0.1',
  readOnlyPort: 0,
  seccompDefault: false,
  protectKernelDefaults: false,
  enableDebuggingHandlers: true,
  tlsMinVersion: '',
  tlsCipherSuites: [],
  staticPodURL: '',
  httpCheckFrequencyMs: 20_000,
  allowedUnsafeSysctls: [],
  imageGCHighThresholdPercent: 85,
  imageGCLowThresholdPercent: 80,
  imageMinimumGCAge: 120_000,
  imageMaximumGCAge: 0,
  imagePullCredentialsVerificationPolicy: 'NeverVerifyPreloadedImages',
  preloadedImagesVerificationAllowlist: [],
  containerLogMaxBytes: 10 * 1024 * 1024,
  containerLogMaxFiles: 5,
  containerLogMonitorIntervalMs: 10_000,
  evictionHard: DEFAULT_EVICTION_HARD,
  evictionSoft: {},
  evictionSoftGrace: {},
  evictionMinimumReclaim: {},
  evictionPressureTransition: 300_000,
  evictionMaxPodGracePeriod: 0,
  evictionPeriodMs: 10_000,
  shutdownGracePeriod: 0,
  shutdownGracePeriodCriticalPods: 0,
  shutdownGracePeriodByPodPriority: [],
} satisfies Omit<KubeletConfig, 'nodeName'>;

export type KubeletOptions = Partial<KubeletConfig> & Pick<KubeletConfig, 'nodeName'>;

const NODE_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

export function completeConfig(options: KubeletOptions): KubeletConfig {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const config: KubeletConfig = { ...DEFAULTS, nodeName: options.nodeName, ...given };
  const wrong = (field: string, why: string) => new KubeletError('InvalidConfig', `${field}: ${why}`);
  if (!NODE_NAME.test(config.nodeName) || config.nodeName.length > 253)
    throw wrong('nodeName', `"${config.nodeName}" is not a lower-case DNS name`);
  for (const field of ['rootDir', 'podLogsDir', 'cgroupRoot'] as const)
    if (!config[field].startsWith('/')) throw wrong(field, `"${config[field]}" is not an absolute path`);
  if (config.staticPodPath !== '' && !config.staticPodPath.startsWith('/'))
    throw wrong('staticPodPath', `"${config.staticPodPath}" is not an absolute path`);
  if (!Number.isInteger(config.port) || config.port < 0 || config.port > 65_535)
    throw wrong('port', `${config.port} is not between 0 and 65535`);
  if (!Number.isInteger(config.maxPods) || config.maxPods < 0)
    throw wrong('maxPods', `${config.maxPods} is not a whole number of pods`);
  if (config.nodeLeaseDurationSeconds <= 0)
    throw wrong('nodeLeaseDurationSeconds', `${config.nodeLeaseDurationSeconds} is not greater than 0`);
  if (config.imageGCLowThresholdPercent >= config.imageGCHighThresholdPercent)
    throw wrong(
      'imageGCLowThresholdPercent',
      `${config.imageGCLowThresholdPercent} is not below imageGCHighThresholdPercent (${config.imageGCHighThresholdPercent})`,
    );
  const { preloadedImagesVerificationAllowlist: allowlist } = config;
  if (
    allowlist.length > 0 &&
    config.imagePullCredentialsVerificationPolicy !== 'NeverVerifyAllowlistedImages'
  )
    throw wrong(
      'preloadedImagesVerificationAllowlist',
      'imagePullCredentialsVerificationPolicy is not NeverVerifyAllowlistedImages',
    );
  for (const problem of allowlist.map(allowlistProblem))
    if (problem !== undefined) throw wrong('preloadedImagesVerificationAllowlist', problem);
  for (const signal of Object.keys(config.evictionSoft))
    if (config.evictionSoftGrace[signal] === undefined)
      throw wrong('evictionSoftGracePeriod', `nothing is said for the soft threshold of ${signal}`);
  for (const field of ['evictionHard', 'evictionSoft', 'evictionMinimumReclaim'] as const)
    for (const signal of Object.keys(config[field]))
      if (!(SIGNALS as readonly string[]).includes(signal))
        throw wrong(field, `unknown eviction signal ${signal}; there are ${SIGNALS.join(', ')}`);
  const { shutdownGracePeriod: shutdown, shutdownGracePeriodCriticalPods: critical } = config;
  for (const [field, ms] of Object.entries({
    shutdownGracePeriod: shutdown,
    shutdownGracePeriodCriticalPods: critical,
  }))
    if (ms > 0 && ms < 1000) throw wrong(field, `${ms}ms is neither 0 nor a second or more`);
  if (critical > shutdown)
    throw wrong('shutdownGracePeriodCriticalPods', `${critical}ms is more than shutdownGracePeriod`);
  if (shutdown > 0 && config.shutdownGracePeriodByPodPriority.length > 0)
    throw wrong('shutdownGracePeriodByPodPriority', 'shutdownGracePeriod is said as well');
  for (const [field, value] of Object.entries(config))
    if (field.endsWith('Ms') && !(typeof value === 'number' && value > 0))
      throw wrong(field.slice(0, -2), `${value} is not a duration greater than 0`);
  return config;
}
