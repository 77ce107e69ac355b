// Flags of kube-apiserver for which there is one way here.
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
    because: 'the audit log is one line of JSON per event, written at once, rotated by size and by number',
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
    because:
      'audit events go to a file and to no webhook; give --audit-log-path, and have a collector read it',
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
    because:
      'tokens of an OpenID Connect provider are not read; use client certificates or --token-auth-file',
    flags: {
      ...none('oidc-ca-file', 'oidc-client-id', 'oidc-groups-claim', 'oidc-groups-prefix', 'oidc-issuer-url'),
      ...none('oidc-required-claim', 'oidc-username-prefix'),
      'oidc-signing-algs': ['RS256'],
      'oidc-username-claim': ['sub'],
    },
  },
  {
    because:
      'who calls and what they may do is decided in the server; use --authorization-mode and its files',
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
      'tokens are signed here and hold as long as they say; their account is looked up at every request',
    flags: {
      ...none('service-account-signing-endpoint'),
      'service-account-extend-token-expiration': ['false'],
      'service-account-lookup': ['true'],
    },
  },
  {
    because:
      'plugins are named by --enable-admission-plugins and --disable-admission-plugins, and have no files',
    flags: none('admission-control', 'admission-control-config-file'),
  },
  {
    because:
      'pods tolerate a node that is not ready or not reachable for five minutes; say otherwise in their tolerations',
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
    because: 'the server calls no API server of yours, and none calls it',
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
      'caches hold every object and a history bounded by memory; old revisions are dropped every five minutes',
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
      'requests have a minute, watches half an hour to an hour, and connections all the speed there is',
    flags: {
      'goaway-chance': ['0'],
      'max-connection-bytes-per-sec': ['0'],
      'min-request-timeout': ['1800'],
      'request-timeout': ['1m'],
    },
  },
  {
    because: 'requests are shared out by --max-requests-inflight and --max-mutating-requests-inflight',
    flags: { 'enable-priority-and-fairness': ['false'] },
  },
  {
    because: 'answers carry neither CORS nor HSTS headers; put a proxy in front of the server for browsers',
    flags: none('cors-allowed-origins', 'strict-transport-security-directives'),
  },
  {
    because:
      'the server is alive and ready when it answers, and ends its requests at once when it is told to end',
    flags: {
      'livez-grace-period': ['0s'],
      'shutdown-delay-duration': ['0s'],
      'shutdown-send-retry-after': ['false'],
      'shutdown-watch-termination-grace-period': ['0s'],
    },
  },
  {
    because: 'there are no traces, no debugging socket and no logs over HTTP; read the log of the process',
    flags: {
      ...none('debug-socket-path', 'tracing-config-file'),
      'enable-logs-handler': ['false'],
    },
  },
  {
    because:
      'HTTPS is HTTP/1.1 on a port of its own, with one certificate; without files it is kept in --data-dir',
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
    because: 'the Service kubernetes has a cluster IP, and leads to the --advertise-address of the server',
    flags: {
      ...none('external-hostname'),
      'apiserver-count': ['1'],
      'endpoint-reconciler-type': ['master-count'],
      'kubernetes-service-node-port': ['0'],
    },
  },
  {
    because: 'a kubelet is reached at the port that its Node tells',
    flags: {
      'kubelet-port': ['10250'],
      'kubelet-read-only-port': ['10255'],
      'kubelet-timeout': ['5s'],
    },
  },
  {
    because: 'components elect their leaders by leases of their own',
    flags: {
      'coordinated-leadership-lease-duration': ['15s'],
      'coordinated-leadership-renew-deadline': ['10s'],
      'coordinated-leadership-retry-period': ['2s'],
    },
  },
  {
    because: 'it behaves as Kubernetes v1.36 and as no older one',
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
    because: 'the server shows no certificate to API servers and webhooks of yours',
    flags: ['proxy-client-cert-file', 'proxy-client-key-file'],
  },
];
