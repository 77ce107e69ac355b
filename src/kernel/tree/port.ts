// What is done with directory trees that others write to: removing, measuring, giving them to a group.
// Guarantees of every implementation: no link is followed; names are bytes, and any depth will do.

export interface TreeUse {
  /** Of blocks; a file with several names counts once. */
  readonly usedBytes: number;
  readonly inodesUsed: number;
  /** How many entries could not be looked at, and are missing in the sums. */
  readonly unread: number;
}

export interface TreeOwnership {
  readonly gid: number;
  /** The group may write; else it may only read. */
  readonly writable: boolean;
  /** Does nothing where the root has the group and its bits already. */
  readonly unlessRootMatches: boolean;
}

export interface TreeOwned {
  readonly changed: number;
  /** How many entries kept what they had, such as immutable ones. */
  readonly refused: number;
  /** Why the first of them did, as an errno by name. */
  readonly code?: string;
}

export interface TreePort {
  /** Success also when it is gone. Mounts inside are left alone, and reject with EXDEV; what can go goes before that. */
  remove(path: string): Promise<void>;
  /** Without mounts inside; nothing where there is no such directory. */
  measure(path: string): Promise<TreeUse>;
  /** Adds bits and never takes any; the root comes last. Rejects with ENOENT when there is no such directory. */
  own(path: string, wanted: TreeOwnership): Promise<TreeOwned>;
}
