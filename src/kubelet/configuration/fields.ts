// Every field of KubeletConfiguration v1beta1 that this kubelet acts on, with its flag. Pure.
// Guarantees: a field stands here once; what it is called in the file, on the command line and in the code is one row.
import { LOG_FORMATS, type LogFormat } from '../../api/log.js';
import type { KubeletConfig } from '../config.js';
import { VERIFICATION_POLICIES } from '../imageAccess.js';
import { CIPHER_SUITES } from '../server/cipherSuites.js';
import * as is from './values.js';

/** What the process around the kubelet is told in the same file. */
export interface ServerSettings {
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly clientCAFile: string;
  readonly anonymousAuth: boolean;
  readonly tokenWebhook: boolean;
  readonly authorizationMode: string;
  readonly containerRuntimeEndpoint: string;
  readonly certDir: string;
  /** The client's certificate is renewed before it runs out. */
  readonly rotateCertificates: boolean;
  /** The serving certificate is asked of the cluster instead of signed here. */
  readonly serverTLSBootstrap: boolean;
  readonly loggingFormat: LogFormat;
  /** What -v says where it is not given. */
  readonly logVerbosity: number;
  /** What the kernel's killer is told of this process. */
  readonly oomScoreAdj: number;
}

export interface Field {
  /** In the file; dots lead into objects. Undefined for what only a flag can say. */
  readonly path: string | undefined;
  /** Without its dashes. Undefined for what only the file can say. */
  readonly flag: string | undefined;
  readonly target: keyof KubeletConfig | keyof ServerSettings;
  readonly kind: is.ValueKind<unknown>;
}

const PORT = is.integer(0, 65_535);
const PERCENT = is.integer(0, 100);
const COUNT = is.integer(0, 2 ** 31 - 1);

const row = (
  path: string | undefined,
  flag: string | undefined,
  target: Field['target'],
  kind: is.ValueKind<unknown>,
): Field => ({ path, flag, target, kind });

export const FIELDS: readonly Field[] = [
  row(undefined, 'hostname-override', 'nodeName', is.text),
  row(undefined, 'node-ip', 'nodeIps', is.textList),
  row(undefined, 'node-labels', 'nodeLabels', is.textMap),
  row(undefined, 'root-dir', 'rootDir', is.absolutePath),
  row(undefined, 'cert-dir', 'certDir', is.absolutePath),
  row('podLogsDir', 'pod-logs-dir', 'podLogsDir', is.absolutePath),
  row('registerNode', 'register-node', 'registerNode', is.boolean),
  row('registerWithTaints', 'register-with-taints', 'registerWithTaints', is.taints),
  row('providerID', 'provider-id', 'providerId', is.text),
  row('address', 'address', 'address', is.text),
  row('port', 'port', 'port', PORT),
  row('readOnlyPort', 'read-only-port', 'readOnlyPort', PORT),
  row('healthzPort', 'healthz-port', 'healthzPort', PORT),
  row('healthzBindAddress', 'healthz-bind-address', 'healthzBindAddress', is.text),
  row('staticPodPath', 'pod-manifest-path', 'staticPodPath', is.absolutePath),
  row('staticPodURL', 'manifest-url', 'staticPodURL', is.text),
  row('fileCheckFrequency', 'file-check-frequency', 'fileCheckFrequencyMs', is.positiveDuration),
  row('httpCheckFrequency', 'http-check-frequency', 'httpCheckFrequencyMs', is.positiveDuration),
  row('syncFrequency', 'sync-frequency', 'syncFrequencyMs', is.positiveDuration),
  row('maxPods', 'max-pods', 'maxPods', COUNT),
  row('podCIDR', 'pod-cidr', 'podCidr', is.text),
  row('podPidsLimit', 'pod-max-pids', 'podPidsLimit', is.integer(-1, 2 ** 31 - 1)),
  row('clusterDNS', 'cluster-dns', 'clusterDNS', is.textList),
  row('clusterDomain', 'cluster-domain', 'clusterDomain', is.text),
  row('resolvConf', 'resolv-conf', 'resolvConf', is.absolutePath),
  row('cgroupRoot', 'cgroup-root', 'cgroupRoot', is.absolutePath),
  row('cgroupsPerQOS', 'cgroups-per-qos', 'cgroupsPerQOS', is.boolean),
  row('cpuCFSQuota', 'cpu-cfs-quota', 'cpuCFSQuota', is.boolean),
  row('systemReserved', 'system-reserved', 'systemReserved', is.quantities),
  row('kubeReserved', 'kube-reserved', 'kubeReserved', is.quantities),
  row(
    'nodeStatusUpdateFrequency',
    'node-status-update-frequency',
    'nodeStatusUpdateFrequencyMs',
    is.positiveDuration,
  ),
  row('nodeStatusReportFrequency', undefined, 'nodeStatusReportFrequencyMs', is.positiveDuration),
  row('nodeLeaseDurationSeconds', undefined, 'nodeLeaseDurationSeconds', is.integer(1, 3600)),
  row('crashLoopBackOff.maxContainerRestartPeriod', undefined, 'maxContainerBackOffMs', is.positiveDuration),
  row('serializeImagePulls', 'serialize-image-pulls', 'serializeImagePulls', is.boolean),
  row('maxParallelImagePulls', undefined, 'maxParallelImagePulls', is.integer(1, 1000)),
  row('imageGCHighThresholdPercent', 'image-gc-high-threshold', 'imageGCHighThresholdPercent', PERCENT),
  row('imageGCLowThresholdPercent', 'image-gc-low-threshold', 'imageGCLowThresholdPercent', PERCENT),
  row('imageMinimumGCAge', 'minimum-image-ttl-duration', 'imageMinimumGCAge', is.durationOrZero),
  row('imageMaximumGCAge', undefined, 'imageMaximumGCAge', is.durationOrZero),
  row(
    'imagePullCredentialsVerificationPolicy',
    undefined,
    'imagePullCredentialsVerificationPolicy',
    is.oneOf(...VERIFICATION_POLICIES),
  ),
  row('preloadedImagesVerificationAllowlist', undefined, 'preloadedImagesVerificationAllowlist', is.textList),
  row('containerLogMaxSize', 'container-log-max-size', 'containerLogMaxBytes', is.bytes),
  row('containerLogMaxFiles', 'container-log-max-files', 'containerLogMaxFiles', is.integer(2, 1000)),
  row('containerLogMonitorInterval', undefined, 'containerLogMonitorIntervalMs', is.positiveDuration),
  row('evictionHard', 'eviction-hard', 'evictionHard', is.thresholds),
  row('evictionSoft', 'eviction-soft', 'evictionSoft', is.thresholds),
  row('evictionSoftGracePeriod', 'eviction-soft-grace-period', 'evictionSoftGrace', is.durations),
  row('evictionMinimumReclaim', 'eviction-minimum-reclaim', 'evictionMinimumReclaim', is.reclaims),
  row(
    'evictionPressureTransitionPeriod',
    'eviction-pressure-transition-period',
    'evictionPressureTransition',
    is.durationOrZero,
  ),
  row('evictionMaxPodGracePeriod', 'eviction-max-pod-grace-period', 'evictionMaxPodGracePeriod', COUNT),
  row('shutdownGracePeriod', undefined, 'shutdownGracePeriod', is.durationOrZero),
  row('shutdownGracePeriodCriticalPods', undefined, 'shutdownGracePeriodCriticalPods', is.durationOrZero),
  row('shutdownGracePeriodByPodPriority', undefined, 'shutdownGracePeriodByPodPriority', is.shutdownPeriods),
  row('allowedUnsafeSysctls', 'allowed-unsafe-sysctls', 'allowedUnsafeSysctls', is.textList),
  row('seccompDefault', 'seccomp-default', 'seccompDefault', is.boolean),
  row('makeIPTablesUtilChains', 'make-iptables-util-chains', 'makeIPTablesUtilChains', is.boolean),
  row('protectKernelDefaults', 'protect-kernel-defaults', 'protectKernelDefaults', is.boolean),
  row('enableDebuggingHandlers', 'enable-debugging-handlers', 'enableDebuggingHandlers', is.boolean),
  row('tlsMinVersion', 'tls-min-version', 'tlsMinVersion', is.oneOf('', 'VersionTLS12', 'VersionTLS13')),
  row('tlsCipherSuites', 'tls-cipher-suites', 'tlsCipherSuites', is.listOf(CIPHER_SUITES)),
  row('tlsCertFile', 'tls-cert-file', 'tlsCertFile', is.absolutePath),
  row('tlsPrivateKeyFile', 'tls-private-key-file', 'tlsPrivateKeyFile', is.absolutePath),
  row('authentication.x509.clientCAFile', 'client-ca-file', 'clientCAFile', is.absolutePath),
  row('authentication.anonymous.enabled', 'anonymous-auth', 'anonymousAuth', is.boolean),
  row('authentication.webhook.enabled', 'authentication-token-webhook', 'tokenWebhook', is.boolean),
  row('authorization.mode', 'authorization-mode', 'authorizationMode', is.oneOf('Webhook', 'AlwaysAllow')),
  row('rotateCertificates', 'rotate-certificates', 'rotateCertificates', is.boolean),
  row('serverTLSBootstrap', 'rotate-server-certificates', 'serverTLSBootstrap', is.boolean),
  row('logging.format', 'logging-format', 'loggingFormat', is.oneOf(...LOG_FORMATS)),
  row('logging.verbosity', undefined, 'logVerbosity', COUNT),
  row('oomScoreAdj', 'oom-score-adj', 'oomScoreAdj', is.integer(-1000, 1000)),
  row('containerRuntimeEndpoint', 'container-runtime-endpoint', 'containerRuntimeEndpoint', is.text),
];
