// Flags of kube-apiserver of which only one behaviour is supported here.
// Guarantees: with those of src/cli/apiserver/command.ts every flag of kube-apiserver v1.36 is known.
import type { FixedFlags, ToldFlags } from './fixedFlags.js';
import { METRICS, none, PROFILING, REQUEST_HEADERS, VERSIONS } from './sharedFlags.js';

/** How a sink gathers events before it writes them, and what it cuts off. */
const batches = (sink: 'log' | 'webhook'): FixedFlags['flags'] => ({
  [`audit-${sink}-batch-buffer-size`]: ['10000'],
  [`audit-${sink}-batch-max-size`]: sink === 'log' ? ['1'] : ['400'],
  [`audit-${sink}-batch-max-wait`]: sink === 'log' ? ['0s'] : ['30s'],
  [`audit-${sink}-batch-throttle-burst`]: sink === 'log' ? ['0'] : ['15'],
  [`audit-${sink}-batch-throttle-enable`]: sink === 'log' ? ['false'] : ['true'],
  [`audit-${sink}-batch-throttle-qps`]: sink === 'log' ? ['0'] : ['10'],
  [`audit-${sink}-truncate-enabled`]: ['false'],
  [`audit-${sink}-truncate-max-batch-size`]: ['10485760'],
  [`audit-${sink}-truncate-max-event-size`]: ['102400'],
});

const AUDIT: readonly FixedFlags[] = [
  {
    because:
      'the audit log has one JSON line per event, is written synchronously and rotated by size and number of files',
    flags: {
      'audit-log-compress': ['false'],
      'audit-log-format': ['json'],
      'audit-log-maxage': ['0'],
      'audit-log-mode': ['blocking'],
      'audit-log-version': ['audit.k8s.io/v1'],
      ...batches('log'),
    },
  },
  {
    because: 'audit webhooks are not supported; write events to a file with --audit-log-path',
    flags: {
      ...none('audit-webhook-config-file'),
      'audit-webhook-batch-initial-backoff': ['10s'],
      'audit-webhook-initial-backoff': ['10s'],
      'audit-webhook-mode': ['batch'],
      'audit-webhook-version': ['audit.k8s.io/v1'],
      ...batches('webhook'),
    },
  },
];

const CALLERS: readonly FixedFlags[] = [
  {
    because: 'OpenID Connect is not supported; use client certificates or --token-auth-file',
    flags: {
      ...none('oidc-ca-file', 'oidc-client-id', 'oidc-groups-claim', 'oidc-groups-prefix', 'oidc-issuer-url'),
      ...none('oidc-required-claim', 'oidc-username-prefix'),
      'oidc-signing-algs': ['RS256'],
      'oidc-username-claim': ['sub'],
    },
  },
  {
    because:
      'authentication and authorization webhooks and configuration files are not supported; use --authorization-mode',
    flags: {
      ...none('authentication-config', 'authentication-token-webhook-config-file', 'authorization-config'),
      ...none('authorization-webhook-config-file'),
      'authentication-token-webhook-cache-ttl': ['2m'],
      'authentication-token-webhook-version': ['v1beta1', 'v1'],
      'authorization-webhook-cache-authorized-ttl': ['5m'],
      'authorization-webhook-cache-unauthorized-ttl': ['30s'],
      'authorization-webhook-version': ['v1beta1', 'v1'],
    },
  },
  {
    because:
      'the server signs tokens itself and does not extend them; their account is checked on every request',
    flags: {
      ...none('service-account-signing-endpoint'),
      'service-account-extend-token-expiration': ['false'],
      'service-account-lookup': ['true'],
    },
  },
  {
    because:
      'plugins are selected by --enable-admission-plugins and --disable-admission-plugins, and have no configuration files',
    flags: none('admission-control', 'admission-control-config-file'),
  },
  {
    because:
      'by default pods tolerate a node that is not ready or not reachable for five minutes; set tolerations in the pods',
    flags: {
      'default-not-ready-toleration-seconds': ['300'],
      'default-unreachable-toleration-seconds': ['300'],
    },
  },
  {
    because:
      'privileged containers are allowed; label namespaces pod-security.kubernetes.io/enforce to refuse them',
    flags: { 'allow-privileged': ['true'] },
  },
  {
    because: 'API aggregation is not supported',
    flags: {
      ...none('peer-advertise-ip', 'peer-advertise-port', 'peer-ca-file'),
      ...none('egress-selector-config-file'),
      'aggregator-reject-forwarding-redirect': ['true'],
      'enable-aggregator-routing': ['false'],
    },
  },
];

const STORAGE: readonly FixedFlags[] = [
  {
    because: 'objects are stored as JSON below /registry, all in one store',
    flags: {
      ...none('etcd-servers-overrides'),
      'etcd-prefix': ['/registry'],
      'storage-backend': ['', 'etcd3'],
      'storage-media-type': ['application/json'],
    },
  },
  {
    because: 'objects are not encrypted in the store; put the data directory or etcd on an encrypted disk',
    flags: {
      ...none('encryption-provider-config'),
      'encryption-provider-config-automatic-reload': ['false'],
    },
  },
  {
    because:
      'the sizes of the caches and of the history are fixed; old revisions are removed after five minutes',
    flags: {
      ...none('watch-cache-sizes'),
      'default-watch-cache-size': ['100'],
      'delete-collection-workers': ['1'],
      'etcd-compaction-interval': ['5m'],
      'etcd-count-metric-poll-period': ['1m'],
      'etcd-db-metric-poll-interval': ['30s'],
      'etcd-healthcheck-timeout': ['2s'],
      'etcd-readycheck-timeout': ['2s'],
      'lease-reuse-duration-seconds': ['60'],
      'storage-initialization-timeout': ['1m'],
      'watch-cache': ['true'],
    },
  },
  {
    because: 'owners that wait for their dependents need the garbage collector',
    flags: { 'enable-garbage-collector': ['true'] },
  },
];

const REQUESTS: readonly FixedFlags[] = [
  {
    because:
      'the limits are fixed: a minute for a request, 30 to 60 minutes for a watch, no limit of bandwidth',
    flags: {
      'goaway-chance': ['0'],
      'max-connection-bytes-per-sec': ['0'],
      'min-request-timeout': ['1800'],
      'request-timeout': ['1m'],
    },
  },
  {
    because: 'requests are limited by --max-requests-inflight and --max-mutating-requests-inflight',
    flags: { 'enable-priority-and-fairness': ['false'] },
  },
  {
    because: 'responses have no CORS or HSTS headers; for browsers, put a proxy in front of the server',
    flags: none('cors-allowed-origins', 'strict-transport-security-directives'),
  },
  {
    because:
      'the server is live and ready as soon as it responds, and closes its requests at once when it is stopped',
    flags: {
      'livez-grace-period': ['0s'],
      'shutdown-delay-duration': ['0s'],
      'shutdown-send-retry-after': ['false'],
      'shutdown-watch-termination-grace-period': ['0s'],
    },
  },
  {
    because: 'tracing, a debugging socket and logs over HTTP are not supported; read the log of the process',
    flags: {
      ...none('debug-socket-path', 'tracing-config-file'),
      'enable-logs-handler': ['false'],
    },
  },
  {
    because:
      'only HTTP/1.1 is served, on an unshared port and with one certificate, which is kept in --data-dir if no files are given',
    flags: {
      ...none('cert-dir', 'tls-curve-preferences', 'tls-sni-cert-key'),
      'disable-http2-serving': ['true'],
      'http2-max-streams-per-connection': ['0'],
      'permit-address-sharing': ['false'],
      'permit-port-sharing': ['false'],
    },
  },
];

const CLUSTER: readonly FixedFlags[] = [
  {
    because: 'the Service kubernetes has a cluster IP and leads to --advertise-address',
    flags: {
      ...none('external-hostname'),
      'apiserver-count': ['1'],
      'endpoint-reconciler-type': ['master-count'],
      'kubernetes-service-node-port': ['0'],
    },
  },
  {
    because: 'the port of a kubelet is read from its Node',
    flags: {
      'kubelet-port': ['10250'],
      'kubelet-read-only-port': ['10255'],
      'kubelet-timeout': ['5s'],
    },
  },
  {
    because: 'coordinated leader election is not supported; components use their own leases',
    flags: {
      'coordinated-leadership-lease-duration': ['15s'],
      'coordinated-leadership-renew-deadline': ['10s'],
      'coordinated-leadership-retry-period': ['2s'],
    },
  },
  {
    because: 'only the behaviour of Kubernetes v1.36 is supported',
    flags: {
      'emulation-forward-compatible': ['false'],
      'runtime-config-emulation-forward-compatible': ['false'],
    },
  },
];

export const APISERVER: readonly FixedFlags[] = [
  ...AUDIT,
  ...CALLERS,
  ...STORAGE,
  ...REQUESTS,
  ...CLUSTER,
  METRICS,
  PROFILING,
  VERSIONS,
];

export const APISERVER_TOLD: readonly ToldFlags[] = [
  REQUEST_HEADERS,
  {
    because: 'API aggregation is not supported, so the server needs no client certificate for it',
    flags: ['proxy-client-cert-file', 'proxy-client-key-file'],
  },
];
