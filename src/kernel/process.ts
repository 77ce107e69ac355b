// Runs a program to its end, also inside another network namespace. No shell is involved.
// Guarantees: nothing blocks the event loop; a program that hangs is killed with its children; nothing is left open.
import { addon, type NetNs, type RunResult } from './addon.js';
import { KernelError } from './error.js';

export type { RunResult } from './addon.js';

interface RunOptions {
  /** Where the program finds itself; ours if left out. */
  readonly netns?: NetNs;
  /** Standard input, in pieces of any size; empty if left out. */
  readonly input?: readonly Uint8Array[];
  /** Set over our own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** After this long its process group is killed (ETIMEDOUT). 0: never. */
  readonly timeoutMs?: number;
  /** More output than this, standard error included, ends it (ENOBUFS). */
  readonly maxOutputBytes?: number;
}

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * Resolves however the program ended: look at `status` (null after a signal). Rejects with a KernelError when it could
 * not be run (ENOENT: no such program), ran too long (ETIMEDOUT) or wrote too much (ENOBUFS).
 */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { netns, input = [], env = {}, timeoutMs = TIMEOUT_MS, maxOutputBytes = MAX_OUTPUT_BYTES } = options;
  try {
    return await addon().run(argv, netns, input, { timeoutMs, maxOutputBytes, env });
  } catch (error) {
    throw KernelError.from(error);
  }
}
