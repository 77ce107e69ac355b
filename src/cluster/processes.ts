// Ending processes of ours.
// Guarantees: `terminate` returns when the process is gone; it never signals a process that is not the one named.
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from '../kernel/processIdentity.js';

const POLL_MS = 20;
const KILL_WAIT_MS = 5_000;

/** TERM, and KILL once the grace has passed. */
export async function terminate(target: ProcessIdentity, graceMs: number): Promise<void> {
  signal(target, 'SIGTERM');
  if (await isGone(target, graceMs)) return;
  signal(target, 'SIGKILL');
  if (!(await isGone(target, KILL_WAIT_MS)))
    throw new Error(`process ${target.pid} does not end, not even by SIGKILL`);
}

function signal(target: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isAlive(target)) return;
  try {
    process.kill(target.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function isGone(target: ProcessIdentity, withinMs: number): Promise<boolean> {
  for (let waited = 0; waited < withinMs; waited += POLL_MS) {
    if (!isAlive(target)) return true;
    await sleep(POLL_MS);
  }
  return !isAlive(target);
}
