// The names of the flags of Kubernetes' components at v1.36, as they tell them in their help and as their source has them.
// Guarantees: facts only; what is switched on and off alone is apart from what has a value.

export interface StockFlags {
  readonly switches: readonly string[];
  readonly valued: readonly string[];
}

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

export const KUBE_APISERVER: StockFlags = {
  switches: words(`
    aggregator-reject-forwarding-redirect allow-privileged anonymous-auth audit-log-batch-throttle-enable
    audit-log-compress audit-log-truncate-enabled audit-webhook-batch-throttle-enable audit-webhook-truncate-enabled
    contention-profiling disable-http2-serving emulation-forward-compatible enable-aggregator-routing
    enable-bootstrap-token-auth enable-garbage-collector enable-logs-handler enable-priority-and-fairness
    encryption-provider-config-automatic-reload log-json-split-stream log-text-split-stream permit-address-sharing
    permit-port-sharing profiling runtime-config-emulation-forward-compatible
    service-account-extend-token-expiration service-account-lookup shutdown-send-retry-after watch-cache
  `),
  valued: words(`
    admission-control admission-control-config-file advertise-address allow-metric-labels
    allow-metric-labels-manifest api-audiences apiserver-count audit-log-batch-buffer-size audit-log-batch-max-size
    audit-log-batch-max-wait audit-log-batch-throttle-burst audit-log-batch-throttle-qps audit-log-format
    audit-log-maxage audit-log-maxbackup audit-log-maxsize audit-log-mode audit-log-path
    audit-log-truncate-max-batch-size audit-log-truncate-max-event-size audit-log-version audit-policy-file
    audit-webhook-batch-buffer-size audit-webhook-batch-initial-backoff audit-webhook-batch-max-size
    audit-webhook-batch-max-wait audit-webhook-batch-throttle-burst audit-webhook-batch-throttle-qps
    audit-webhook-config-file audit-webhook-initial-backoff audit-webhook-mode audit-webhook-truncate-max-batch-size
    audit-webhook-truncate-max-event-size audit-webhook-version authentication-config
    authentication-token-webhook-cache-ttl authentication-token-webhook-config-file
    authentication-token-webhook-version authorization-config authorization-mode authorization-policy-file
    authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
    authorization-webhook-config-file authorization-webhook-version bind-address cert-dir client-ca-file
    coordinated-leadership-lease-duration coordinated-leadership-renew-deadline coordinated-leadership-retry-period
    cors-allowed-origins debug-socket-path default-not-ready-toleration-seconds
    default-unreachable-toleration-seconds default-watch-cache-size delete-collection-workers
    disable-admission-plugins disabled-metrics egress-selector-config-file emulated-version enable-admission-plugins
    encryption-provider-config endpoint-reconciler-type etcd-cafile etcd-certfile etcd-compaction-interval
    etcd-count-metric-poll-period etcd-db-metric-poll-interval etcd-healthcheck-timeout etcd-keyfile etcd-prefix
    etcd-readycheck-timeout etcd-servers etcd-servers-overrides event-ttl external-hostname feature-gates
    goaway-chance http2-max-streams-per-connection kubelet-certificate-authority kubelet-client-certificate
    kubelet-client-key kubelet-port kubelet-preferred-address-types kubelet-read-only-port kubelet-timeout
    kubernetes-service-node-port lease-reuse-duration-seconds livez-grace-period log-flush-frequency
    log-json-info-buffer-size log-text-info-buffer-size logging-format max-connection-bytes-per-sec
    max-mutating-requests-inflight max-requests-inflight min-compatibility-version min-request-timeout oidc-ca-file
    oidc-client-id oidc-groups-claim oidc-groups-prefix oidc-issuer-url oidc-required-claim oidc-signing-algs
    oidc-username-claim oidc-username-prefix peer-advertise-ip peer-advertise-port peer-ca-file
    proxy-client-cert-file proxy-client-key-file request-timeout requestheader-allowed-names
    requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers
    requestheader-uid-headers requestheader-username-headers runtime-config secure-port service-account-issuer
    service-account-jwks-uri service-account-key-file service-account-max-token-expiration
    service-account-signing-endpoint service-account-signing-key-file service-cluster-ip-range
    service-node-port-range show-hidden-metrics-for-version shutdown-delay-duration
    shutdown-watch-termination-grace-period storage-backend storage-initialization-timeout storage-media-type
    strict-transport-security-directives tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version
    tls-private-key-file tls-sni-cert-key token-auth-file tracing-config-file v vmodule watch-cache-sizes
  `),
};

export const KUBE_CONTROLLER_MANAGER: StockFlags = {
  switches: words(`
    allocate-node-cidrs allow-untagged-cloud authentication-skip-lookup authentication-tolerate-lookup-failure
    configure-cloud-routes contention-profiling disable-attach-detach-reconcile-sync disable-force-detach-on-timeout
    disable-http2-serving enable-dynamic-provisioning enable-garbage-collector enable-hostpath-provisioner
    enable-leader-migration leader-elect log-json-split-stream log-text-split-stream permit-address-sharing
    permit-port-sharing profiling use-service-account-credentials
  `),
  valued: words(`
    allow-metric-labels allow-metric-labels-manifest attach-detach-reconcile-sync-period authentication-kubeconfig
    authentication-token-webhook-cache-ttl authorization-always-allow-paths authorization-kubeconfig
    authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl bind-address cert-dir
    cidr-allocator-type client-ca-file cloud-config cloud-provider cluster-cidr cluster-name
    cluster-signing-cert-file cluster-signing-duration cluster-signing-key-file
    cluster-signing-kube-apiserver-client-cert-file cluster-signing-kube-apiserver-client-key-file
    cluster-signing-kubelet-client-cert-file cluster-signing-kubelet-client-key-file
    cluster-signing-kubelet-serving-cert-file cluster-signing-kubelet-serving-key-file
    cluster-signing-legacy-unknown-cert-file cluster-signing-legacy-unknown-key-file concurrent-cron-job-syncs
    concurrent-daemonset-syncs concurrent-deployment-syncs concurrent-device-taint-eviction-syncs
    concurrent-endpoint-syncs concurrent-ephemeralvolume-syncs concurrent-gc-syncs
    concurrent-horizontal-pod-autoscaler-syncs concurrent-job-syncs concurrent-namespace-syncs concurrent-rc-syncs
    concurrent-replicaset-syncs concurrent-resource-quota-syncs concurrent-resourceclaim-syncs
    concurrent-service-endpoint-syncs concurrent-service-syncs concurrent-serviceaccount-token-syncs
    concurrent-statefulset-syncs concurrent-ttl-after-finished-syncs
    concurrent-validating-admission-policy-status-syncs controller-shutdown-timeout controller-start-interval
    controllers disabled-metrics emulated-version endpoint-updates-batch-period endpointslice-updates-batch-period
    external-cloud-volume-plugin feature-gates flex-volume-plugin-dir
    horizontal-pod-autoscaler-cpu-initialization-period horizontal-pod-autoscaler-downscale-stabilization
    horizontal-pod-autoscaler-initial-readiness-delay horizontal-pod-autoscaler-sync-period
    horizontal-pod-autoscaler-tolerance http2-max-streams-per-connection kube-api-burst kube-api-content-type
    kube-api-qps kubeconfig large-cluster-size-threshold leader-elect-lease-duration leader-elect-renew-deadline
    leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace leader-elect-retry-period
    leader-migration-config legacy-service-account-token-clean-up-period log-flush-frequency
    log-json-info-buffer-size log-text-info-buffer-size logging-format master max-endpoints-per-slice
    min-compatibility-version min-resync-period mirroring-concurrent-service-endpoint-syncs
    mirroring-endpointslice-updates-batch-period mirroring-max-endpoints-per-subset namespace-sync-period
    node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6 node-eviction-rate
    node-monitor-grace-period node-monitor-period node-startup-grace-period node-sync-period
    pv-recycler-increment-timeout-nfs pv-recycler-minimum-timeout-hostpath pv-recycler-minimum-timeout-nfs
    pv-recycler-pod-template-filepath-hostpath pv-recycler-pod-template-filepath-nfs
    pv-recycler-timeout-increment-hostpath pvclaimbinder-sync-period requestheader-allowed-names
    requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers
    requestheader-uid-headers requestheader-username-headers resource-quota-sync-period root-ca-file
    route-reconciliation-period secondary-node-eviction-rate secure-port service-account-private-key-file
    service-cluster-ip-range show-hidden-metrics-for-version terminated-pod-gc-threshold tls-cert-file
    tls-cipher-suites tls-curve-preferences tls-min-version tls-private-key-file tls-sni-cert-key
    unhealthy-zone-threshold v vmodule
  `),
};

export const KUBE_SCHEDULER: StockFlags = {
  switches: words(`
    authentication-skip-lookup authentication-tolerate-lookup-failure contention-profiling disable-http2-serving
    leader-elect log-json-split-stream log-text-split-stream permit-address-sharing permit-port-sharing profiling
  `),
  valued: words(`
    allow-metric-labels allow-metric-labels-manifest authentication-kubeconfig
    authentication-token-webhook-cache-ttl authorization-always-allow-paths authorization-kubeconfig
    authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl bind-address cert-dir
    client-ca-file config disabled-metrics emulated-version feature-gates http2-max-streams-per-connection
    kube-api-burst kube-api-content-type kube-api-qps kubeconfig leader-elect-lease-duration
    leader-elect-renew-deadline leader-elect-resource-lock leader-elect-resource-name
    leader-elect-resource-namespace leader-elect-retry-period log-flush-frequency log-json-info-buffer-size
    log-text-info-buffer-size logging-format master min-compatibility-version pod-max-in-unschedulable-pods-duration
    requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix
    requestheader-group-headers requestheader-uid-headers requestheader-username-headers secure-port
    show-hidden-metrics-for-version tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version
    tls-private-key-file tls-sni-cert-key v vmodule write-config-to
  `),
};

export const KUBELET: StockFlags = {
  switches: words(`
    anonymous-auth authentication-token-webhook cgroups-per-qos contention-profiling cpu-cfs-quota
    enable-controller-attach-detach enable-debugging-handlers enable-load-reader enable-server
    exit-on-lock-contention experimental-allocatable-ignore-eviction fail-cgroupv1 fail-swap-on
    kernel-memcg-notification local-storage-capacity-isolation log-cadvisor-usage log-json-split-stream
    log-text-split-stream make-iptables-util-chains protect-kernel-defaults register-node rotate-certificates
    rotate-server-certificates runonce seccomp-default serialize-image-pulls storage-driver-secure
  `),
  valued: words(`
    address allowed-unsafe-sysctls application-metrics-count-limit authentication-token-webhook-cache-ttl
    authorization-mode authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
    boot-id-file bootstrap-kubeconfig cert-dir cgroup-driver cgroup-root client-ca-file cloud-provider cluster-dns
    cluster-domain config config-dir container-hints container-log-max-files container-log-max-size
    container-runtime-endpoint containerd containerd-namespace cpu-cfs-quota-period cpu-manager-policy
    cpu-manager-policy-options cpu-manager-reconcile-period enforce-node-allocatable event-burst event-qps
    event-storage-age-limit event-storage-event-limit eviction-hard eviction-max-pod-grace-period
    eviction-minimum-reclaim eviction-pressure-transition-period eviction-soft eviction-soft-grace-period
    experimental-mounter-path feature-gates file-check-frequency global-housekeeping-interval hairpin-mode
    healthz-bind-address healthz-port hostname-override housekeeping-interval http-check-frequency
    image-credential-provider-bin-dir image-credential-provider-config image-gc-high-threshold
    image-gc-low-threshold image-service-endpoint kube-api-burst kube-api-content-type kube-api-qps kube-reserved
    kube-reserved-cgroup kubeconfig kubelet-cgroups lock-file log-flush-frequency log-json-info-buffer-size
    log-text-info-buffer-size logging-format machine-id-file manifest-url manifest-url-header max-open-files
    max-pods maximum-dead-containers maximum-dead-containers-per-container memory-manager-policy
    minimum-container-ttl-duration minimum-image-ttl-duration node-ip node-labels node-status-max-images
    node-status-update-frequency oom-score-adj pod-cidr pod-manifest-path pod-max-pids pods-per-core port
    provider-id qos-reserved read-only-port register-with-taints registry-burst registry-qps reserved-cpus
    reserved-memory resolv-conf root-dir runtime-cgroups runtime-request-timeout storage-driver-buffer-duration
    storage-driver-db storage-driver-host storage-driver-password storage-driver-table storage-driver-user
    streaming-connection-idle-timeout sync-frequency system-cgroups system-reserved system-reserved-cgroup
    tls-cert-file tls-cipher-suites tls-min-version tls-private-key-file topology-manager-policy
    topology-manager-policy-options topology-manager-scope v vmodule volume-plugin-dir volume-stats-agg-period
  `),
};

export const KUBE_PROXY: StockFlags = {
  switches: words(`
    bind-address-hard-fail cleanup conntrack-tcp-be-liberal init-only iptables-localhost-nodeports ipvs-strict-arp
    log-json-split-stream log-text-split-stream masquerade-all profiling
  `),
  valued: words(`
    bind-address boot-id-file cluster-cidr config config-sync-period conntrack-max-per-core conntrack-min
    conntrack-tcp-timeout-close-wait conntrack-tcp-timeout-established conntrack-udp-timeout
    conntrack-udp-timeout-stream detect-local-mode feature-gates healthz-bind-address healthz-port hostname-override
    iptables-masquerade-bit iptables-min-sync-period iptables-sync-period ipvs-exclude-cidrs ipvs-min-sync-period
    ipvs-scheduler ipvs-sync-period ipvs-tcp-timeout ipvs-tcpfin-timeout ipvs-udp-timeout kube-api-burst
    kube-api-content-type kube-api-qps kubeconfig log-flush-frequency log-json-info-buffer-size
    log-text-info-buffer-size logging-format machine-id-file master metrics-bind-address metrics-port
    nodeport-addresses oom-score-adj pod-bridge-interface pod-interface-name-prefix proxy-mode
    show-hidden-metrics-for-version v vmodule write-config-to
  `),
};
