// The machine and the day of a measurement, in one line for pages and reports.
// Guarantees: names nothing but the number of cores, the kernel's version, the architecture and Node's version.
import { arch, cpus, release } from 'node:os';

export function machineLine(): string {
  const kernel = release().split('-', 1)[0];
  return `${cpus().length} cores, Linux ${kernel}, ${arch()}, Node ${process.versions.node}`;
}

export const today = (): string => new Date().toISOString().slice(0, 10);
