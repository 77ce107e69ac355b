// The flags of `trellis controller-manager`: those of kube-controller-manager, and what they come to.
// Guarantees: a value that makes no sense is refused by name; a flag that changes nothing here says so in the help.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { overlaps, parseCidr } from '../../api/ip.js';
import type { LogFormat } from '../../api/log.js';
import type { ControllersOptions } from '../../controllers/run.js';
import { durationMs, wholeNumber } from '../numbers.js';
import { type ServingFlags, withServingFlags } from '../serving.js';
import { switchOption } from '../stock/booleans.js';
import { CONTROLLER_MANAGER, CONTROLLER_MANAGER_TOLD } from '../stock/controllerManager.js';
import { withFixedFlags, withToldFlags } from '../stock/fixedFlags.js';
import { withComponentFlags } from '../stock/sharedFlags.js';

export const COMPONENT = { name: 'kube-controller-manager', port: 10_257 };
const SECOND_MS = 1000;
const MINUTE_S = 60;

export interface Flags extends ServingFlags {
  readonly kubeconfig: string;
  readonly master?: string;
  readonly v?: number;
  readonly loggingFormat?: LogFormat;
  readonly controllers: readonly string[];
  readonly enableGarbageCollector: boolean;
  readonly useServiceAccountCredentials: boolean;
  readonly leaderElect: boolean;
  readonly leaderElectLeaseDuration: number;
  readonly leaderElectRenewDeadline: number;
  readonly leaderElectRetryPeriod: number;
  readonly leaderElectResourceName: string;
  readonly leaderElectResourceNamespace: string;
  readonly clusterCidr?: string;
  readonly allocateNodeCidrs: boolean;
  readonly nodeCidrMaskSize?: number;
  readonly nodeCidrMaskSizeIpv4?: number;
  readonly nodeCidrMaskSizeIpv6?: number;
  readonly nodeMonitorPeriod: number;
  readonly nodeMonitorGracePeriod: number;
  readonly nodeStartupGracePeriod: number;
  readonly nodeEvictionRate: number;
  readonly secondaryNodeEvictionRate: number;
  readonly unhealthyZoneThreshold: number;
  readonly largeClusterSizeThreshold: number;
  readonly terminatedPodGcThreshold: number;
  readonly horizontalPodAutoscalerSyncPeriod: number;
  readonly horizontalPodAutoscalerTolerance: number;
  readonly horizontalPodAutoscalerDownscaleStabilization: number;
  readonly horizontalPodAutoscalerCpuInitializationPeriod: number;
  readonly horizontalPodAutoscalerInitialReadinessDelay: number;
  readonly loadBalancerPool?: string;
  readonly rootCaFile?: string;
  readonly clusterSigningCertFile?: string;
  readonly clusterSigningKeyFile?: string;
  readonly clusterSigningDuration: number;
  readonly serviceClusterIpRange?: string;
}

/** How many keys at a time: the flag, and the controller it speaks of. */
const WORKERS: readonly (readonly [string, string])[] = [
  ['concurrent-cron-job-syncs', 'cronjob-controller'],
  ['concurrent-daemonset-syncs', 'daemonset-controller'],
  ['concurrent-deployment-syncs', 'deployment-controller'],
  ['concurrent-endpoint-syncs', 'endpoints-controller'],
  ['concurrent-ephemeralvolume-syncs', 'ephemeral-volume-controller'],
  ['concurrent-gc-syncs', 'garbage-collector-controller'],
  ['concurrent-horizontal-pod-autoscaler-syncs', 'horizontal-pod-autoscaler-controller'],
  ['concurrent-job-syncs', 'job-controller'],
  ['concurrent-namespace-syncs', 'namespace-controller'],
  ['concurrent-rc-syncs', 'replicationcontroller-controller'],
  ['concurrent-replicaset-syncs', 'replicaset-controller'],
  ['concurrent-resource-quota-syncs', 'resourcequota-controller'],
  ['concurrent-service-endpoint-syncs', 'endpointslice-controller'],
  ['concurrent-serviceaccount-token-syncs', 'serviceaccount-token-controller'],
  ['concurrent-statefulset-syncs', 'statefulset-controller'],
  ['concurrent-ttl-after-finished-syncs', 'ttl-after-finished-controller'],
  ['mirroring-concurrent-service-endpoint-syncs', 'endpointslice-mirroring-controller'],
];

export function withFlags(command: Command): Command {
  command
    .requiredOption('--kubeconfig <file>', 'API server and credentials')
    .option('--master <url>', 'address of the apiserver; overrides the kubeconfig')
    .addOption(
      new Option('--controllers <list>', '"*" is all, "name" one, "-name" not that one')
        .argParser(list)
        .default(['*'], '*'),
    )
    .addOption(switchOption('enable-garbage-collector', 'delete objects whose owners are gone').default(true))
    .addOption(
      switchOption(
        'use-service-account-credentials',
        'each controller acts as its own service account in kube-system',
      ).default(false),
    );
  electionFlags(command);
  nodeFlags(command);
  autoscalerFlags(command);
  command
    .addOption(count('--terminated-pod-gc-threshold', 'finished pods to keep; 0 keeps all', 12_500))
    .option('--load-balancer-pool <cidrs>', 'addresses for Services of type LoadBalancer')
    .option('--cluster-signing-cert-file <file>', 'the CA that signs CertificateSigningRequests')
    .option('--cluster-signing-key-file <file>', 'key of --cluster-signing-cert-file')
    .addOption(time('--cluster-signing-duration', 'longest validity of such certificates', 8760 * 3600))
    .option('--root-ca-file <file>', 'the CA certificate published to every namespace')
    .option('--service-cluster-ip-range <cidrs>', 'networks of Services; nodes get no pod CIDRs in them');
  for (const [flag, controller] of WORKERS)
    command.option(`--${flag} <number>`, `workers of the ${controller}`, atLeastOne);
  withFixedFlags(withComponentFlags(withServingFlags(command, COMPONENT)), CONTROLLER_MANAGER);
  return withToldFlags(command, CONTROLLER_MANAGER_TOLD);
}

function electionFlags(command: Command): void {
  command
    .addOption(switchOption('leader-elect', 'work only while holding the lease').default(true))
    .addOption(time('--leader-elect-lease-duration', 'how long a lease is valid without renewal', 15))
    .addOption(time('--leader-elect-renew-deadline', 'how long the leader tries to renew it', 10))
    .addOption(time('--leader-elect-retry-period', 'how long between attempts', 2))
    .addOption(
      new Option('--leader-elect-resource-lock <kind>', 'kind of lock').choices(['leases']).default('leases'),
    )
    .option('--leader-elect-resource-name <name>', 'name of the lease', COMPONENT.name)
    .option('--leader-elect-resource-namespace <name>', 'namespace of the lease', 'kube-system');
}

function nodeFlags(command: Command): void {
  command
    .option('--cluster-cidr <cidrs>', 'the networks from which nodes get their pod CIDRs')
    .addOption(switchOption('allocate-node-cidrs', 'give every node a pod CIDR').default(true))
    .option('--node-cidr-mask-size <bits>', "prefix length of nodes' pod CIDRs, both families", wholeNumber)
    .option('--node-cidr-mask-size-ipv4 <bits>', 'the same for IPv4 (default: 24)', wholeNumber)
    .option('--node-cidr-mask-size-ipv6 <bits>', 'the same for IPv6 (default: 64)', wholeNumber)
    .addOption(time('--node-monitor-period', 'how often nodes are checked', 5))
    .addOption(
      time('--node-monitor-grace-period', 'how long a node may be silent before it is unhealthy', 40),
    )
    .addOption(time('--node-startup-grace-period', 'the same for a new node', 60))
    .addOption(amount('--node-eviction-rate', 'nodes per second on which eviction begins, per zone', 0.1))
    .addOption(amount('--secondary-node-eviction-rate', 'the same in a large, disrupted zone', 0.01))
    .addOption(
      amount('--unhealthy-zone-threshold', 'share of unready nodes that makes a zone disrupted', 0.55),
    )
    .addOption(
      amount(
        '--large-cluster-size-threshold',
        'in a disrupted zone, evict only if it has more nodes than this',
        50,
      ),
    );
}

function autoscalerFlags(command: Command): void {
  const name = (rest: string) => `--horizontal-pod-autoscaler-${rest}`;
  command
    .addOption(time(name('sync-period'), 'how often autoscalers are evaluated', 15))
    .addOption(amount(name('tolerance'), 'deviation from the target that causes no scaling', 0.1))
    .addOption(time(name('downscale-stabilization'), 'scale-down stabilization window', 5 * MINUTE_S))
    .addOption(
      time(name('cpu-initialization-period'), 'start-up period during which CPU is ignored', 5 * MINUTE_S),
    )
    .addOption(
      time(name('initial-readiness-delay'), 'how long after its start a pod counts as initially unready', 30),
    );
}

type FromFlags = Omit<ControllersOptions, 'client' | 'clientFor' | 'informers' | 'log' | 'signal'>;

export function controllersOptions(flags: Flags, rootCa: string): FromFlags {
  checkApart(flags);
  checkSome(flags);
  return {
    rootCa,
    enabled: [...switchedOff(flags, rootCa), ...flags.controllers],
    ...(flags.clusterCidr === undefined ? {} : { clusterCidr: flags.clusterCidr }),
    ...(flags.loadBalancerPool === undefined ? {} : { loadBalancerPool: flags.loadBalancerPool }),
    nodePrefixes: {
      IPv4: prefix('ipv4', flags.nodeCidrMaskSizeIpv4 ?? flags.nodeCidrMaskSize ?? 24, 32),
      IPv6: prefix('ipv6', flags.nodeCidrMaskSizeIpv6 ?? flags.nodeCidrMaskSize ?? 64, 128),
    },
    nodeMonitorPeriodMs: flags.nodeMonitorPeriod,
    nodeMonitorGracePeriodMs: flags.nodeMonitorGracePeriod,
    nodeStartupGracePeriodMs: flags.nodeStartupGracePeriod,
    nodeEviction: {
      rate: flags.nodeEvictionRate,
      secondaryRate: flags.secondaryNodeEvictionRate,
      unhealthyThreshold: flags.unhealthyZoneThreshold,
      largeZone: flags.largeClusterSizeThreshold,
    },
    terminatedPods: flags.terminatedPodGcThreshold,
    autoscaler: {
      periodMs: flags.horizontalPodAutoscalerSyncPeriod,
      tolerance: flags.horizontalPodAutoscalerTolerance,
      downscaleStabilizationMs: flags.horizontalPodAutoscalerDownscaleStabilization,
      cpuInitializationMs: flags.horizontalPodAutoscalerCpuInitializationPeriod,
      initialReadinessDelayMs: flags.horizontalPodAutoscalerInitialReadinessDelay,
    },
    workers: workersOf(flags),
  };
}

/** Without "*" only what is named runs: names to leave out alone would leave nothing. */
function checkSome({ controllers }: Flags): void {
  if (controllers.some((entry) => !entry.startsWith('-'))) return;
  const rest = controllers.join(',');
  throw new RangeError(
    `--controllers: ${rest} leaves no controller to run; put * before it: --controllers='*,${rest}'`,
  );
}

/** Networks of nodes are cut from --cluster-cidr whole: it may not reach into the addresses of Services. */
function checkApart({ allocateNodeCidrs, clusterCidr = '', serviceClusterIpRange = '' }: Flags): void {
  if (!allocateNodeCidrs) return;
  for (const service of list(serviceClusterIpRange).filter(Boolean))
    for (const pods of list(clusterCidr).filter(Boolean))
      if (isOverlapping(service, pods))
        throw new RangeError(
          `--service-cluster-ip-range: ${service} and --cluster-cidr ${pods} overlap; use disjoint networks`,
        );
}

function isOverlapping(one: string, other: string): boolean {
  const [a, b] = [parseCidr(one), parseCidr(other)];
  if (a === undefined) throw new RangeError(`--service-cluster-ip-range: "${one}" is not a network`);
  return b !== undefined && overlaps(a, b);
}

function switchedOff({ allocateNodeCidrs, enableGarbageCollector }: Flags, rootCa: string): string[] {
  return [
    // Nothing to publish: then nothing is published, rather than an empty certificate.
    ...(rootCa === '' ? ['-root-ca-certificate-publisher-controller'] : []),
    ...(allocateNodeCidrs ? [] : ['-node-ipam-controller']),
    ...(enableGarbageCollector ? [] : ['-garbage-collector-controller']),
  ];
}

function workersOf(flags: Flags): Record<string, number> {
  const given = flags as unknown as Readonly<Record<string, number | undefined>>;
  const inCamelCase = (flag: string) => flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    WORKERS.flatMap(([flag, controller]) => {
      const number = given[inCamelCase(flag)];
      return number === undefined ? [] : [[controller, number]];
    }),
  );
}

function prefix(family: string, bits: number, most: number): number {
  if (bits >= 1 && bits <= most) return bits;
  throw new RangeError(`--node-cidr-mask-size-${family}: ${bits} is not between 1 and ${most}`);
}

function time(flag: string, description: string, seconds: number): Option {
  return new Option(`${flag} <duration>`, description)
    .argParser(durationMs)
    .default(seconds * SECOND_MS, `${seconds}s`);
}

function amount(flag: string, description: string, value: number): Option {
  return new Option(`${flag} <number>`, description).argParser(positive).default(value);
}

function count(flag: string, description: string, value: number): Option {
  return new Option(`${flag} <number>`, description).argParser(wholeNumber).default(value);
}

const list = (text: string): string[] => text.split(',').map((part) => part.trim());

function atLeastOne(text: string): number {
  const value = wholeNumber(text);
  if (value === 0) throw new InvalidArgumentError('must be at least 1.');
  return value;
}

function positive(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0)) throw new InvalidArgumentError('must be a number, zero or more.');
  return value;
}
