// What a process uses, as the kernel counts it.
// Guarantees: a megabyte is a million bytes, here and in every figure; processor time is that of all threads.
import { readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

export const MB = 1e6;

/** Resident memory. */
export function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / MB;
}

/** Processor time used so far. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name may hold spaces; the numbers begin after its closing bracket with field 3.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
