// Processes told apart by number and start time, so that a number used again is never taken for the one it was.
// Guarantees: a process that has ended but is not yet collected by its parent counts as ended.
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/<pid>/stat: clock ticks after the boot. */
  readonly startTime: string;
}

/** Undefined when no such process runs. */
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
