// Requests and limits as the kernel takes them: QoS class, cpu shares and quota, memory, huge pages, oom_score_adj. Pure.
// Guarantees: numbers are those of Kubernetes' tables; a wrong quantity counts as none here, since admission refused it.
import type { V1Container, V1PodSpec } from '../api/gen/types.js';
import { qosClassOf } from '../api/kinds/pod/qos.js';
import { integerValue, milliValue, tryParseQuantity } from '../api/quantity.js';
import type { LinuxContainerResources } from '../cri/runtime.js';
import type { CgroupResources } from '../kernel/cgroup/port.js';
import { kernelSize, namesOfPages } from './hugePages.js';
import { isRestartable } from './names.js';

const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const QUOTA_PERIOD_US = 100_000;
const MIN_QUOTA_US = 1_000;

/** Rounded up, as Kubernetes does. Undefined when absent or no quantity. */
function milliCpu(quantity: string | undefined): number | undefined {
  return quantity === undefined || tryParseQuantity(quantity) === undefined
    ? undefined
    : milliValue(quantity);
}

function bytes(quantity: string | undefined): number | undefined {
  return quantity === undefined || tryParseQuantity(quantity) === undefined
    ? undefined
    : integerValue(quantity);
}

type Amounts = Readonly<Record<string, string>> | undefined;

function cpuShares(milli: number): number {
  if (milli === 0) return MIN_SHARES;
  return Math.min(MAX_SHARES, Math.max(MIN_SHARES, Math.floor((milli * 1024) / 1000)));
}

function cpuQuota(milli: number): number {
  return milli === 0 ? 0 : Math.max(MIN_QUOTA_US, Math.floor((milli * QUOTA_PERIOD_US) / 1000));
}

/** From -997 (guaranteed) to 1000 (best effort): who dies first when memory runs out. */
export function oomScoreAdj(spec: V1PodSpec, container: V1Container, memoryCapacity: number): number {
  // Node-critical pods outlive every other.
  if ((spec.priority ?? 0) >= 2_000_001_000) return -997;
  const qos = qosClassOf(spec);
  if (qos === 'Guaranteed') return -997;
  if (qos === 'BestEffort') return 1000;
  const own = requestOf(container, 'memory');
  // A sidecar outlives every container that it serves.
  const served = spec.containers.map((one) => requestOf(one, 'memory'));
  const isSidecar = isRestartable(container) && spec.initContainers?.includes(container) === true;
  const request = (isSidecar ? Math.max(own, Math.min(...served)) : own) + shareOfRest(spec, 'memory');
  // In whole numbers, as Kubernetes divides.
  const adjusted = 1000 - Math.trunc((1000 * request) / memoryCapacity);
  // 3 keeps a small distance to guaranteed pods, 999 one to best-effort ones.
  return Math.min(999, Math.max(3, adjusted));
}

/** What a pod asks for as a whole and its containers do not is theirs in equal parts. */
function shareOfRest(spec: V1PodSpec, name: 'cpu' | 'memory'): number {
  if (spec.resources === undefined) return 0;
  const { resources: _, overhead: __, ...parts } = spec;
  const rest = podRequest({ ...spec, overhead: undefined }, name) - podRequest(parts, name);
  const count = spec.containers.length + (spec.initContainers ?? []).filter(isRestartable).length;
  return Math.max(0, Math.floor(rest / count));
}

function requestOf({ resources }: V1Container, name: 'cpu' | 'memory'): number {
  const read = name === 'cpu' ? milliCpu : bytes;
  return read(resources?.requests?.[name]) ?? read(resources?.limits?.[name]) ?? 0;
}

/** The pod's own where the container has none: programs size themselves by what their control group says. */
function limitOf(spec: V1PodSpec, { resources }: V1Container, name: 'cpu' | 'memory'): number {
  const read = name === 'cpu' ? milliCpu : bytes;
  return read(resources?.limits?.[name]) || read(spec.resources?.limits?.[name]) || 0;
}

export interface MachineLimits {
  readonly memoryCapacity: number;
  readonly cpuCFSQuota: boolean;
  /** In bytes; the sizes of huge pages that the kernel has. */
  readonly hugePageSizes: readonly number[];
}

export function containerResources(
  spec: V1PodSpec,
  container: V1Container,
  machine: MachineLimits,
): LinuxContainerResources {
  const cpuLimit = limitOf(spec, container, 'cpu');
  const memoryLimit = limitOf(spec, container, 'memory');
  return {
    ...linuxResources(
      { request: milliCpu(container.resources?.requests?.['cpu']) ?? cpuLimit, limit: cpuLimit },
      memoryLimit,
      machine.cpuCFSQuota,
    ),
    oomScoreAdj: oomScoreAdj(spec, container, machine.memoryCapacity),
    hugepageLimits: machine.hugePageSizes.map((size) => {
      const name = namesOfPages(container.resources).get(size) ?? '';
      return { pageSize: kernelSize(size), limit: bytes(container.resources?.limits?.[name]) ?? 0 };
    }),
  };
}

/** Processor in thousandths, memory in bytes; 0 means no limit. */
function linuxResources(
  cpu: { readonly request: number; readonly limit: number },
  memoryLimit: number,
  cpuCFSQuota: boolean,
): LinuxContainerResources {
  return {
    cpuShares: cpuShares(cpu.request),
    ...(memoryLimit > 0 ? { memoryLimitInBytes: memoryLimit } : {}),
    ...(cpuCFSQuota && cpu.limit > 0 ? { cpuPeriod: QUOTA_PERIOD_US, cpuQuota: cpuQuota(cpu.limit) } : {}),
  };
}

/** What a pod asks of a node: containers and sidecars together, or the largest init container, plus overhead. */
export function podRequest(spec: V1PodSpec, name: string): number {
  const read = name === 'cpu' ? milliCpu : bytes;
  const of = ({ requests, limits }: { requests?: Amounts; limits?: Amounts } = {}) =>
    read(requests?.[name]) ?? read(limits?.[name]) ?? 0;
  let sidecars = 0;
  let initPeak = 0;
  for (const container of spec.initContainers ?? []) {
    const own = of(container.resources);
    if (isRestartable(container)) sidecars += own;
    initPeak = Math.max(initPeak, isRestartable(container) ? sidecars : sidecars + own);
  }
  const main = spec.containers.reduce((sum, { resources }) => sum + of(resources), 0);
  // What the pod asks for as a whole stands in place of what its containers sum up to.
  const whole = read(spec.resources?.requests?.[name]) ?? read(spec.resources?.limits?.[name]);
  return (whole ?? Math.max(main + sidecars, initPeak)) + (read(spec.overhead?.[name]) ?? 0);
}

/**
 * The control group of the whole pod: shares and huge pages always, quota and memory only when every container is limited.
 * Of huge pages it has what it asks for, and none of any other size.
 */
export function podCgroupResources(
  spec: V1PodSpec,
  {
    cpuCFSQuota,
    podPidsLimit,
    hugePageSizes,
  }: Pick<MachineLimits, 'cpuCFSQuota' | 'hugePageSizes'> & { readonly podPidsLimit: number },
): CgroupResources {
  const names = namesOfPages(spec.resources, ...partsOf(spec));
  const always = {
    ...(podPidsLimit > 0 ? { pidsLimit: podPidsLimit } : {}),
    hugePageLimits: Object.fromEntries(
      hugePageSizes.map((size) => [kernelSize(size), podRequest(spec, names.get(size) ?? '')]),
    ),
  };
  if (qosClassOf(spec) === 'BestEffort') return { cpuShares: MIN_SHARES, ...always };
  const cpu = cpuCFSQuota ? podLimit(spec, 'cpu') : 0;
  const memory = podLimit(spec, 'memory');
  return {
    cpuShares: cpuShares(podRequest(spec, 'cpu')),
    ...(cpu > 0 ? { cpuPeriodUs: QUOTA_PERIOD_US, cpuQuotaUs: cpuQuota(cpu) } : {}),
    ...(memory > 0 ? { memoryLimitBytes: memory } : {}),
    ...always,
  };
}

const partsOf = ({ initContainers = [], containers }: V1PodSpec) =>
  [...initContainers, ...containers].map(({ resources }) => resources);

/** In bytes, what the processes of a pod may have together; 0 where it has no limit. */
export const podMemoryLimit = (spec: V1PodSpec) => podLimit(spec, 'memory');

/** 0 when a container has no limit, since then the pod has none, unless it has one as a whole. Overhead comes on top. */
export function podLimit(spec: V1PodSpec, name: 'cpu' | 'memory'): number {
  const limit = limitOfParts(spec, name);
  return limit === 0 ? 0 : limit + ((name === 'cpu' ? milliCpu : bytes)(spec.overhead?.[name]) ?? 0);
}

function limitOfParts(spec: V1PodSpec, name: 'cpu' | 'memory'): number {
  const whole = (name === 'cpu' ? milliCpu : bytes)(spec.resources?.limits?.[name]);
  if (whole !== undefined && whole > 0) return whole;
  const of = ({ resources }: V1Container) =>
    (name === 'cpu' ? milliCpu : bytes)(resources?.limits?.[name]) ?? 0;
  const inits = spec.initContainers ?? [];
  const limits = [...inits.filter(isRestartable), ...spec.containers].map(of);
  if (limits.includes(0)) return 0;
  return Math.max(
    ...inits.map(of),
    limits.reduce((sum, limit) => sum + limit, 0),
  );
}

/** What a sandbox is for and what it costs itself, for runtimes that make it a machine of that size. */
export function sandboxResources(
  spec: V1PodSpec,
  { cpuCFSQuota }: Pick<MachineLimits, 'cpuCFSQuota'>,
): { readonly resources: LinuxContainerResources; readonly overhead: LinuxContainerResources } {
  const { overhead = {}, ...parts } = spec;
  const own = milliCpu(overhead['cpu']) ?? 0;
  return {
    resources: linuxResources(
      { request: podRequest(parts, 'cpu'), limit: podLimit(parts, 'cpu') },
      podLimit(parts, 'memory'),
      cpuCFSQuota,
    ),
    overhead: linuxResources({ request: own, limit: own }, bytes(overhead['memory']) ?? 0, cpuCFSQuota),
  };
}

/** `<root>/kubepods/[burstable|besteffort]/pod<uid>`. */
export function podCgroup(cgroupRoot: string, spec: V1PodSpec, uid: string): string {
  const qos = qosClassOf(spec);
  return `${kubepods(cgroupRoot)}${qos === 'Guaranteed' ? '' : `/${qos.toLowerCase()}`}/pod${uid}`;
}

export function kubepods(cgroupRoot: string): string {
  return `${cgroupRoot === '/' ? '' : cgroupRoot.replace(/\/$/, '')}/kubepods`;
}

/** Every place where the group of a pod may be, for one of which only the uid is known. */
export function podCgroupPlaces(cgroupRoot: string, uid: string): readonly string[] {
  return ['', '/burstable', '/besteffort'].map((qos) => `${kubepods(cgroupRoot)}${qos}/pod${uid}`);
}
