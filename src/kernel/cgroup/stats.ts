// What control groups used, many read in one crossing to the native core.
// Guarantees: a number that the kernel does not tell is undefined; a group that is gone has none.
import { readFile } from 'node:fs/promises';
import { addon } from '../addon.js';
import { KernelError } from '../error.js';
import { type Hierarchy, parseHierarchies, versionOf } from './hierarchy.js';
import { segmentsOf } from './path.js';

/** As native/cgroup/stats.h has them. */
const COLUMNS = [
  'cpuNanos',
  'memoryBytes',
  'inactiveFileBytes',
  'rssBytes',
  'pageFaults',
  'majorPageFaults',
  'memoryLimitBytes',
  'processes',
  'periods',
  'throttledPeriods',
  'throttledNanos',
  'rxBytes',
  'rxPackets',
  'rxErrors',
  'rxDropped',
  'txBytes',
  'txPackets',
  'txErrors',
  'txDropped',
] as const;

export interface CgroupStats {
  readonly cpuNanos?: number;
  readonly memoryBytes?: number;
  readonly inactiveFileBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  /** Absent where there is no limit. */
  readonly memoryLimitBytes?: number;
  readonly processes?: number;
  readonly periods?: number;
  readonly throttledPeriods?: number;
  readonly throttledNanos?: number;
  /** Of all devices but the loopback of the group's first process; only where asked for. */
  readonly rxBytes?: number;
  readonly rxPackets?: number;
  readonly rxErrors?: number;
  readonly rxDropped?: number;
  readonly txBytes?: number;
  readonly txPackets?: number;
  readonly txErrors?: number;
  readonly txDropped?: number;
}

interface StatsRequest {
  readonly group: string;
  readonly network?: boolean;
}

export interface CgroupStatsPort {
  /** One answer for each request, in order. */
  read(requests: readonly StatsRequest[]): Promise<readonly CgroupStats[]>;
}

/** Rejects when no control groups are mounted. */
export async function openCgroupStats(): Promise<CgroupStatsPort> {
  const mounts = mountsOf(parseHierarchies(await readFile('/proc/mounts', 'utf8')));
  return {
    async read(requests) {
      if (requests.length === 0) return [];
      // A name is checked here, since lines separate them there.
      const groups = requests.map(({ group }) => `/${segmentsOf(group).join('/')}`);
      const network = Uint8Array.from(requests, (one) => (one.network === true ? 1 : 0));
      const bytes = await addon().readCgroups(mounts, groups.join('\n'), network);
      const rows = new Float64Array(
        bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength),
      );
      return requests.map((_, i) => rowOf(rows.subarray(i * COLUMNS.length, (i + 1) * COLUMNS.length)));
    },
  };
}

function mountsOf(hierarchies: readonly Hierarchy[]) {
  const version = versionOf(hierarchies);
  if (version === undefined) throw KernelError.invalid('no control groups are mounted on this machine');
  const at = (controller: string) =>
    hierarchies.find((one) => (version === 'v2' ? one.kind === 'v2' : one.controllers.includes(controller)))
      ?.mountPoint ?? '/nonexistent';
  return {
    v2: version === 'v2',
    cpu: at('cpu'),
    cpuacct: at('cpuacct'),
    memory: at('memory'),
    pids: at('pids'),
  };
}

function rowOf(row: Float64Array): CgroupStats {
  const known = COLUMNS.map((name, i) => [name, row[i]] as const).filter(
    ([, value]) => value !== undefined && !Number.isNaN(value),
  );
  return Object.fromEntries(known);
}
