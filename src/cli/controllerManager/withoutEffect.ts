// Flags of kube-controller-manager that change nothing here: taken, so that its command lines work, and told as such.
// Guarantees: the help gives the reason; a flag whose absence would be noticed (another CA, another limit) is not among them.
import type { Command } from 'commander';

const BY_REASON: Readonly<Record<string, readonly string[]>> = {
  'tokens are signed by the apiserver': [
    'service-account-private-key-file <file>',
    'legacy-service-account-token-clean-up-period <duration>',
  ],
  'the apiserver tells the networks of Services': ['service-cluster-ip-range <cidrs>'],
  'there is no cloud to ask': [
    'cloud-provider <name>',
    'cluster-name <name>',
    'configure-cloud-routes [bool]',
    'external-cloud-volume-plugin <name>',
  ],
  'changes are acted on as they come': [
    'endpoint-updates-batch-period <duration>',
    'endpointslice-updates-batch-period <duration>',
    'mirroring-endpointslice-updates-batch-period <duration>',
    'namespace-sync-period <duration>',
    'resource-quota-sync-period <duration>',
    'pvclaimbinder-sync-period <duration>',
    'min-resync-period <duration>',
    'controller-start-interval <duration>',
  ],
  'addresses are given one after the other': ['concurrent-service-syncs <number>'],
  'volumes are attached by their drivers': [
    'attach-detach-reconcile-sync-period <duration>',
    'disable-attach-detach-reconcile-sync [bool]',
    'flex-volume-plugin-dir <folder>',
  ],
  'requests are not held back, and are JSON': [
    'kube-api-qps <number>',
    'kube-api-burst <number>',
    'kube-api-content-type <type>',
  ],
  'nobody calls on behalf of others': [
    'requestheader-allowed-names <names>',
    'requestheader-client-ca-file <file>',
    'requestheader-extra-headers-prefix <prefixes>',
    'requestheader-group-headers <names>',
    'requestheader-username-headers <names>',
  ],
  'the apiserver is always asked': [
    'authentication-skip-lookup [bool]',
    'authentication-tolerate-lookup-failure [bool]',
    'authentication-token-webhook-cache-ttl <duration>',
    'authorization-webhook-cache-authorized-ttl <duration>',
    'authorization-webhook-cache-unauthorized-ttl <duration>',
  ],
  'there is nothing of the kind to switch': [
    'contention-profiling [bool]',
    'feature-gates <list>',
    'log-flush-frequency <duration>',
    'profiling [bool]',
    'vmodule <list>',
  ],
};

export function withoutEffect(command: Command): Command {
  for (const [reason, flags] of Object.entries(BY_REASON))
    for (const flag of flags) command.option(`--${flag}`, `no effect here: ${reason}`);
  return command;
}
