// Limits as the writes that set them: which file of which controller gets which text. Pure.
// Guarantees: the same limits on v1 and v2; a number that makes no sense is refused before anything is written.
import { KernelError } from '../error.js';
import type { CgroupResources } from './port.js';

interface Write {
  readonly controller: 'cpu' | 'memory' | 'pids' | 'hugetlb';
  readonly file: string;
  readonly text: string;
  /** Many machines do not have it: then nothing is limited, and nothing is wrong. */
  readonly isOptional?: boolean;
}

const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const MAX_WEIGHT = 10_000;
const DEFAULT_PERIOD_US = 100_000;

/** The kubelet's own straight line between the two scales: 2..262144 onto 1..10000. */
export const sharesToWeight = (shares: number): number =>
  1 + Math.floor(((clampShares(shares) - MIN_SHARES) * (MAX_WEIGHT - 1)) / (MAX_SHARES - MIN_SHARES));

const clampShares = (shares: number): number => Math.min(Math.max(shares, MIN_SHARES), MAX_SHARES);

export function planWrites(resources: CgroupResources, kind: 'v1' | 'v2'): readonly Write[] {
  const { hugePageLimits = {}, ...limits } = resources;
  for (const [name, value] of Object.entries({ ...limits, ...hugePageLimits }))
    if (value !== undefined && (!Number.isSafeInteger(value) || value < -1))
      throw KernelError.invalid(`${name} of a control group cannot be ${value}`);
  const huge = planHugePages(hugePageLimits, kind === 'v1' ? 'limit_in_bytes' : 'max');
  return [...(kind === 'v1' ? planV1(resources) : planV2(resources)), ...huge];
}

/** What is reserved is limited as well: a program then hears of it from mmap, and is not killed while it writes. */
function planHugePages(limits: Readonly<Record<string, number>>, file: string): Write[] {
  return Object.entries(limits).flatMap(([size, bytes]) =>
    ['', 'rsvd.'].map((kind) => ({
      controller: 'hugetlb' as const,
      file: `hugetlb.${size}.${kind}${file}`,
      text: String(bytes),
      isOptional: true,
    })),
  );
}

function planV1(resources: CgroupResources): Write[] {
  const { cpuShares, cpuQuotaUs, cpuPeriodUs, memoryLimitBytes, pidsLimit } = resources;
  const writes: Write[] = [];
  const add = (controller: Write['controller'], file: string, value: number | string | undefined) => {
    if (value !== undefined) writes.push({ controller, file, text: String(value) });
  };
  add('cpu', 'cpu.shares', cpuShares === undefined ? undefined : clampShares(cpuShares));
  // The period first: the kernel judges a quota by the period that is set.
  add('cpu', 'cpu.cfs_period_us', cpuPeriodUs);
  add('cpu', 'cpu.cfs_quota_us', cpuQuotaUs);
  add('memory', 'memory.limit_in_bytes', memoryLimitBytes);
  add('pids', 'pids.max', pidsLimit === undefined ? undefined : orMax(pidsLimit));
  return writes;
}

function planV2(resources: CgroupResources): Write[] {
  const { cpuShares, cpuQuotaUs, cpuPeriodUs, memoryLimitBytes, pidsLimit } = resources;
  const writes: Write[] = [];
  if (cpuShares !== undefined)
    writes.push({ controller: 'cpu', file: 'cpu.weight', text: String(sharesToWeight(cpuShares)) });
  if (cpuQuotaUs !== undefined)
    writes.push({
      controller: 'cpu',
      file: 'cpu.max',
      text: `${orMax(cpuQuotaUs)} ${cpuPeriodUs ?? DEFAULT_PERIOD_US}`,
    });
  if (memoryLimitBytes !== undefined)
    writes.push({ controller: 'memory', file: 'memory.max', text: orMax(memoryLimitBytes) });
  if (pidsLimit !== undefined) writes.push({ controller: 'pids', file: 'pids.max', text: orMax(pidsLimit) });
  return writes;
}

const orMax = (value: number): string => (value === -1 ? 'max' : String(value));
