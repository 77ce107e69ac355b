// Whether this node takes a pod: resources, ports, selectors, taints, sysctls, system. Pure.
// Guarantees: a refusal has Kubernetes' reason and words; the order of the checks is fixed, so the first reason is stable.
import type { V1Taint, V1Toleration } from '../api/gen/types.js';
import { qosClassOf } from '../api/kinds/pod/qos.js';
import { matchesNode } from '../api/nodeSelector.js';
import { integerValue, milliValue } from '../api/quantity.js';
import { isCritical } from './eviction/rank.js';
import type { PressureCondition } from './eviction/signals.js';
import { namesOfPages } from './hugePages.js';
import { allContainers, isStatic } from './names.js';
import type { PodFailure } from './podWorkers.js';
import type { Pod } from './ports.js';
import { podRequest } from './resources.js';

export interface NodeFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly V1Taint[];
  readonly allocatable: Readonly<Record<string, string>>;
  /** Conditions that the eviction manager has told. */
  readonly pressures?: readonly PressureCondition[];
  /** The machine goes down. */
  readonly isShuttingDown?: boolean;
  /** Profiles are enforced here; a pod that relies on one is not run without. */
  readonly hasAppArmor?: boolean;
  /** The runtime can leave out the groups of the image. */
  readonly hasStrictGroups?: boolean;
  /** Sysctls beside the safe ones: a name, or a pattern that ends with `*`. */
  readonly allowedUnsafeSysctls?: readonly string[];
}

const SAFE_SYSCTLS = new Set([
  'kernel.shm_rmid_forced',
  ...['ip_local_port_range', 'tcp_syncookies', 'ping_group_range', 'ip_unprivileged_port_start'].map(ipv4),
  ...['ip_local_reserved_ports', 'tcp_keepalive_time', 'tcp_fin_timeout', 'tcp_keepalive_intvl'].map(ipv4),
  ...['tcp_keepalive_probes', 'tcp_rmem', 'tcp_wmem'].map(ipv4),
]);

/** `others` are the pods that this node has already taken and that have not ended. */
export function refusalOf(pod: Pod, others: readonly Pod[], node: NodeFacts): PodFailure | undefined {
  return (
    shutdown(node) ??
    pressure(pod, node) ??
    sysctls(pod, node) ??
    appArmor(pod, node) ??
    operatingSystem(pod) ??
    groups(pod, node) ??
    selector(pod, node) ??
    taints(pod, node) ??
    ports(pod, others) ??
    shortage(pod, others, node)
  );
}

function shutdown({ isShuttingDown = false }: NodeFacts): PodFailure | undefined {
  if (!isShuttingDown) return undefined;
  return { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' };
}

/** A node that is short takes no more: of memory none that asks for no memory, of disk and processes none at all. */
function pressure(pod: Pod, { pressures = [] }: NodeFacts): PodFailure | undefined {
  if (pressures.length === 0 || isCritical(pod)) return undefined;
  if (pressures.every((one) => one === 'MemoryPressure')) {
    if (qosClassOf(pod.spec) !== 'BestEffort') return undefined;
    const taint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };
    if ((pod.spec.tolerations ?? []).some((one) => tolerates(one, taint))) return undefined;
  }
  return { reason: 'Evicted', message: `The node had condition: [${pressures.join(' ')}]. ` };
}

function sysctls({ spec }: Pod, { allowedUnsafeSysctls = [] }: NodeFacts): PodFailure | undefined {
  const isAllowed = (name: string) =>
    SAFE_SYSCTLS.has(name) ||
    allowedUnsafeSysctls.some((one) =>
      one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one,
    );
  const bad = (spec.securityContext?.sysctls ?? []).find(({ name }) => !isAllowed(name.replaceAll('/', '.')));
  return bad && { reason: 'SysctlForbidden', message: `forbidden sysctl: "${bad.name}" not allowlisted` };
}

function appArmor(pod: Pod, { hasAppArmor = true }: NodeFacts): PodFailure | undefined {
  if (hasAppArmor) return undefined;
  const shared = pod.spec.securityContext?.appArmorProfile;
  const isAsked = allContainers(pod).some(({ securityContext }) => {
    const profile = securityContext?.appArmorProfile ?? shared;
    return profile !== undefined && profile.type !== 'Unconfined';
  });
  if (!isAsked) return undefined;
  return { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' };
}

function operatingSystem({ metadata, spec }: Pod): PodFailure | undefined {
  const label = metadata.labels?.['kubernetes.io/os'];
  if (label !== undefined && label !== 'linux') {
    const message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label";
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message };
  }
  if (spec.os === undefined || spec.os.name === 'linux') return undefined;
  return {
    reason: 'PodOSNotSupported',
    message: "Failed to admit pod as the OS field doesn't match node OS",
  };
}

function groups({ spec }: Pod, { hasStrictGroups = true }: NodeFacts): PodFailure | undefined {
  if (hasStrictGroups || spec.securityContext?.supplementalGroupsPolicy !== 'Strict') return undefined;
  const message = 'SupplementalGroupsPolicy=Strict is not supported in this node';
  return { reason: 'SupplementalGroupsPolicyNotSupported', message };
}

function selector({ spec }: Pod, { name, labels }: NodeFacts): PodFailure | undefined {
  if (matchesNode(spec, { metadata: { name, labels } })) return undefined;
  const message = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
  return { reason: 'NodeAffinity', message };
}

function taints(pod: Pod, node: NodeFacts): PodFailure | undefined {
  if (isStatic(pod)) return undefined;
  const tolerations = pod.spec.tolerations ?? [];
  const bad = node.taints.find(
    (taint) => taint.effect === 'NoExecute' && !tolerations.some((one) => tolerates(one, taint)),
  );
  if (bad === undefined) return undefined;
  const message = 'Predicate TaintToleration failed: node(s) had taints that the pod did not tolerate';
  return { reason: 'TaintToleration', message };
}

function tolerates({ key, operator, value, effect }: V1Toleration, taint: V1Taint): boolean {
  if (effect !== undefined && effect !== '' && effect !== taint.effect) return false;
  if (key === undefined || key === '') return operator === 'Exists';
  if (key !== taint.key) return false;
  return operator === 'Exists' || (value ?? '') === (taint.value ?? '');
}

interface HostPort {
  readonly ip: string;
  readonly port: number;
  readonly protocol: string;
}

function hostPorts(pod: Pod): HostPort[] {
  return allContainers(pod)
    .flatMap(({ ports: list }) => list ?? [])
    .map(({ hostIP, hostPort, containerPort, protocol }) => ({
      ip: hostIP || '0.0.0.0',
      port: hostPort ?? (pod.spec.hostNetwork === true ? containerPort : 0),
      protocol: protocol ?? 'TCP',
    }))
    .filter(({ port }) => port > 0);
}

function ports(pod: Pod, others: readonly Pod[]): PodFailure | undefined {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return undefined;
  const taken = others.flatMap(hostPorts);
  const meet = (a: HostPort, b: HostPort) =>
    a.port === b.port &&
    a.protocol === b.protocol &&
    (a.ip === b.ip || a.ip === '0.0.0.0' || b.ip === '0.0.0.0');
  if (!wanted.some((port) => taken.some((other) => meet(port, other)))) return undefined;
  const message = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
  return { reason: 'NodePorts', message };
}

/** In the units of requests: processor in thousandths, all else whole. */
export interface Shortage {
  readonly name: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

/** The first of what the node has too little of for this pod, as a refusal. */
export function shortage(
  pod: Pod,
  others: readonly Pod[],
  node: Pick<NodeFacts, 'allocatable'>,
): PodFailure | undefined {
  const [first] = shortages(pod, others, node);
  return first && outOf(first);
}

/** All that the node has too little of for this pod. */
export function shortages(
  pod: Pod,
  others: readonly Pod[],
  { allocatable }: Pick<NodeFacts, 'allocatable'>,
): readonly Shortage[] {
  const count = allocatable['pods'];
  const missing: Shortage[] = [];
  if (count !== undefined && others.length + 1 > integerValue(count))
    missing.push({ name: 'pods', requested: 1, used: others.length, capacity: integerValue(count) });
  const { containers, initContainers = [], resources } = pod.spec;
  const pages = namesOfPages(resources, ...[...initContainers, ...containers].map((one) => one.resources));
  for (const name of ['cpu', 'memory', 'ephemeral-storage', ...pages.values()]) {
    // Of pages whose size the kernel does not have there are none.
    const capacity = allocatable[name] ?? (name.startsWith('hugepages-') ? '0' : undefined);
    const requested = podRequest(pod.spec, name);
    if (capacity === undefined || requested === 0) continue;
    const used = others.reduce((sum, other) => sum + podRequest(other.spec, name), 0);
    const limit = name === 'cpu' ? milliValue(capacity) : integerValue(capacity);
    if (used + requested > limit) missing.push({ name, requested, used, capacity: limit });
  }
  return missing;
}

function outOf({ name, requested, used, capacity }: Shortage): PodFailure {
  const message = `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { reason: `OutOf${name}`, message };
}

function ipv4(name: string): string {
  return `net.ipv4.${name}`;
}
