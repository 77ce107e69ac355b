// Which processes of a cluster run now, written down for `status`, `down` and the next `up`.
// Guarantees: what is written names each process by number and start time; a reboot takes the file away.

import { isAlive, type ProcessIdentity } from '../kernel/processIdentity.js';
import { makePrivateDir, readIfThere, writePrivate } from './files.js';
import type { Layout } from './layout.js';

export interface RunState {
  readonly supervisor?: ProcessIdentity;
  readonly components: Readonly<Record<string, ProcessIdentity>>;
  /** The node answered Ready at this time, in milliseconds since 1970. */
  readonly readyAt?: number;
}

export async function readState(layout: Layout): Promise<RunState> {
  const text = await readIfThere(layout.stateFile);
  return text === undefined ? { components: {} } : JSON.parse(text);
}

export async function writeState(layout: Layout, state: RunState): Promise<void> {
  await makePrivateDir(layout.runDir);
  await writePrivate(layout.stateFile, `${JSON.stringify(state, null, 2)}\n`);
}

/** The supervisor of this cluster, if it runs. */
export function runningSupervisor(state: RunState): ProcessIdentity | undefined {
  return state.supervisor !== undefined && isAlive(state.supervisor) ? state.supervisor : undefined;
}
