// What Prometheus expects of every process: memory, processor time, open files, start.
// Guarantees: reads /proc only when asked; what cannot be read is left out.
import { readdirSync, readFileSync } from 'node:fs';
import { type Family, Gauge } from '../base/metrics.js';

const PAGE = 4096;
const startedAt = Date.now() / 1000 - process.uptime();

export function processMetrics(): readonly Family[] {
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    new Gauge({ name, help }, () => {
      const value = read();
      return value === undefined ? [] : [[{}, value]];
    });
  return [
    new Gauge(
      {
        name: 'process_cpu_seconds_total',
        help: 'Total user and system CPU time spent in seconds.',
        type: 'counter',
      },
      () => {
        const { user, system } = process.cpuUsage();
        return [[{}, (user + system) / 1e6]];
      },
    ),
    gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', () => process.memoryUsage.rss()),
    gauge('process_virtual_memory_bytes', 'Virtual memory size in bytes.', virtualMemory),
    gauge(
      'process_start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      () => startedAt,
    ),
    gauge('process_open_fds', 'Number of open file descriptors.', openFiles),
    gauge('process_max_fds', 'Maximum number of open file descriptors.', maxFiles),
    gauge(
      'nodejs_heap_size_used_bytes',
      'Process heap size used from Node.js in bytes.',
      () => process.memoryUsage().heapUsed,
    ),
  ];
}

function virtualMemory(): number | undefined {
  const pages = Number(attempt(() => readFileSync('/proc/self/statm', 'utf8'))?.split(' ')[0]);
  return Number.isFinite(pages) ? pages * PAGE : undefined;
}

function openFiles(): number | undefined {
  return attempt(() => readdirSync('/proc/self/fd').length);
}

function maxFiles(): number | undefined {
  const text = attempt(() => readFileSync('/proc/self/limits', 'utf8')) ?? '';
  const limit = Number(/^Max open files\s+(\d+)/m.exec(text)?.[1]);
  return Number.isFinite(limit) ? limit : undefined;
}

/** A system without /proc has these numbers nowhere. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
