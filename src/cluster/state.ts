// Which processes of a cluster run now, written down for `status`, `down` and the next `up`.
// Guarantees: what is written names each process by number and start time; a reboot takes the file away.

import path from 'node:path';
import { isAlive, type ProcessIdentity } from '../kernel/processIdentity.js';
import { makePassableDir, readIfThere, writePrivate } from './files.js';
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
  await makeRunDir(layout);
  await writePrivate(layout.stateFile, `${JSON.stringify(state, null, 2)}\n`);
}

/** With the one above it. The root of a pod that has users of its own is nobody here, and has to get to the pod's files. */
export async function makeRunDir({ runDir }: Pick<Layout, 'runDir'>): Promise<void> {
  for (const dir of [path.dirname(runDir), runDir]) await makePassableDir(dir);
}

/** The supervisor of this cluster, if it runs. */
export function runningSupervisor(state: RunState): ProcessIdentity | undefined {
  return state.supervisor !== undefined && isAlive(state.supervisor) ? state.supervisor : undefined;
}
