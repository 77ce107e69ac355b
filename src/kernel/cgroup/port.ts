// What the kubelet needs of control groups: a tree of them with limits, their processes, and their end.
// Guarantees of every implementation: a path means the same group in every hierarchy; each call may be repeated.

/** `v1` and `hybrid` differ in whether a v2 hierarchy stands beside those of v1; the limits are v1's in both. */
export type CgroupVersion = 'v1' | 'v2' | 'hybrid';

/** What is left out is left as it is. Limits of -1 mean none. */
export interface CgroupResources {
  /** In v1's unit, 2 to 262144, on every version; 1024 is one CPU. */
  readonly cpuShares?: number;
  readonly cpuQuotaUs?: number;
  /** Of the quota; 100000 unless told. */
  readonly cpuPeriodUs?: number;
  readonly memoryLimitBytes?: number;
  readonly pidsLimit?: number;
  /** Bytes by the kernel's name of a page's size, such as `2MB`. Kept where the kernel has the controller. */
  readonly hugePageLimits?: Readonly<Record<string, number>>;
}

/** Paths count from the root of each hierarchy, such as `/kubepods/burstable/pod1234`. */
export interface CgroupPort {
  readonly version: CgroupVersion;
  /** Makes the group and those above it. One that exists gets the resources. */
  create(path: string, resources?: CgroupResources): Promise<void>;
  /** Rejects with ENOENT when there is no such group. */
  update(path: string, resources: CgroupResources): Promise<void>;
  /** Removes the group and all below it; success also when it is gone. Rejects with EBUSY while processes are in it. */
  remove(path: string): Promise<void>;
  /** The processes in it and below it, in order; none when there is no such group. */
  pids(path: string): Promise<readonly number[]>;
  /** Ends every process in it and below it and answers when they are gone. */
  kill(path: string): Promise<void>;
  /** The names of the groups right below; none when there is no such group. */
  children(path: string): Promise<readonly string[]>;
}
