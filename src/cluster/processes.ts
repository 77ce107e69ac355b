// Processes told apart by number and start time, so that a number used again is never taken for ours.
// Guarantees: `terminate` returns when the process is gone; it never signals a process that is not the one named.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/<pid>/stat: clock ticks after the boot. */
  readonly startTime: string;
}

const POLL_MS = 20;
const KILL_WAIT_MS = 5_000;

/** Undefined when there is no such process, or only its zombie. */
export function identify(pid: number): ProcessIdentity | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
  // The name in parentheses may itself hold spaces and parentheses: what follows the last one is fields 3 and on.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const startTime = rest[18];
  return state === 'Z' || startTime === undefined ? undefined : { pid, startTime };
}

export function isAlive(process: ProcessIdentity): boolean {
  return identify(process.pid)?.startTime === process.startTime;
}

/** TERM, and KILL once the grace has passed. */
export async function terminate(target: ProcessIdentity, graceMs: number): Promise<void> {
  signal(target, 'SIGTERM');
  if (await isGone(target, graceMs)) return;
  signal(target, 'SIGKILL');
  if (!(await isGone(target, KILL_WAIT_MS)))
    throw new Error(`process ${target.pid} does not end, not even by SIGKILL`);
}

export function signal(target: ProcessIdentity, name: NodeJS.Signals): void {
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
