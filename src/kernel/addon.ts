// Loads the native addon and types its surface by hand. Nothing else in Trellis loads it.
// Guarantees: a missing or unbuilt addon is an error that says what to run.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Probe, ProbeOutcome } from './probe.js';
import { projectRoot } from './projectRoot.js';
import type { TreeOwned, TreeOwnership, TreeUse } from './tree/port.js';

/** A network namespace: a path that pins it, a process in it, or undefined for the one we run in. */
export type NetNs = string | number | undefined;

/** A family of kernel objects opened in a namespace. JSON bytes cross, in batches; work happens on a libuv thread. */
export interface AddonChannel {
  /** Takes JSON arrays of requests; gives a JSON array of failures. */
  apply(chunks: Uint8Array[]): Promise<Buffer>;
  /** Takes a JSON object; gives JSON arrays of objects. */
  query(query: Uint8Array): Promise<Buffer[]>;
  close(): void;
}

export interface AddonMonitor {
  close(): void;
}

/** The record of the pod lifecycle; see pleg/port.ts. */
interface AddonPleg {
  /** Takes the two list responses as protobuf; `changed` is a JSON array. */
  diff(sandboxes: Uint8Array, containers: Uint8Array): Promise<{ changed: Buffer; token: number }>;
  commit(token: number): void;
  /** A JSON array of uids. */
  pods(): Buffer;
}

/** What became of a program: an exit code or the name of the signal that ended it, and all it wrote. */
export interface RunResult {
  readonly status: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export interface Addon {
  open(family: string, netns: NetNs): Promise<AddonChannel>;
  watchRoutes(netns: NetNs, kinds: readonly string[], onEvents: (events: Buffer) => void): AddonMonitor;
  watchNft(netns: NetNs, onEvents: (events: Buffer) => void): AddonMonitor;
  watchTraces(netns: NetNs, table: string, onEvents: (events: Buffer) => void): AddonMonitor;
  /** See probe.ts. */
  sendProbe(netns: NetNs, probe: Probe, timeoutMs: number): Promise<ProbeOutcome>;
  openPleg(): AddonPleg;
  /** One group a line; `network` has a byte a group. Gives rows of doubles as cgroup/stats.ts names them. */
  readCgroups(
    mounts: { v2: boolean; cpu: string; cpuacct: string; memory: string; pids: string },
    groups: string,
    network: Uint8Array,
  ): Promise<Buffer>;
  createNetNs(path: string): Promise<void>;
  removeNetNs(path: string): Promise<void>;
  /** Whether a device leaves checksums of what it sends to others; see offload.ts. */
  txChecksum(netns: NetNs, device: string): Promise<boolean>;
  setTxChecksum(netns: NetNs, device: string, on: boolean): Promise<void>;
  isRefused(netns: NetNs, from: string, to: string, timeoutMs: number): Promise<boolean>;
  /** Takes a path without links; gives the bytes that this process maps of it. */
  releaseMappedPages(path: string): number;
  /** Gives what malloc keeps of freed memory back to the kernel. */
  releaseFreed(): void;
  /** These walk on threads of their own; see tree/port.ts. */
  removeTree(path: string): Promise<void>;
  measureTree(path: string): Promise<TreeUse>;
  ownTree(path: string, wanted: TreeOwnership): Promise<TreeOwned>;
  /** Takes an open file's descriptor; see fileLock.ts. */
  tryLockFile(fd: number): boolean;
  /** Runs a program to its end inside a namespace, on a thread of its own. Standard input gets the chunks one after the other. */
  run(
    argv: readonly string[],
    netns: NetNs,
    input: readonly Uint8Array[],
    options: { timeoutMs: number; maxOutputBytes: number; env: Readonly<Record<string, string>> },
  ): Promise<RunResult>;
}

/** TRELLIS_ADDON names another build of the addon to load, such as the one with sanitizers. */
function load(): Addon {
  const path = process.env['TRELLIS_ADDON'] ?? join(projectRoot(), 'build/Release/trellis.node');
  try {
    return createRequire(import.meta.url)(path) as Addon;
  } catch (cause) {
    throw new Error(`the native addon does not load from ${path}; run "npm run build"`, { cause });
  }
}

let loaded: Addon | undefined;

/** The addon, loaded on first use. */
export function addon(): Addon {
  loaded ??= load();
  return loaded;
}
