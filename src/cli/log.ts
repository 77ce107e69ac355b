// Log lines as Kubernetes' components write them: severity, date, time, process, component, message, fields.
// Guarantees: one line an entry; values are quoted, so that hostile text cannot forge a line.
import type { Log, LogFields } from '../api/log.js';

type Severity = 'D' | 'I' | 'W' | 'E';

export interface LogOptions {
  readonly component: string;
  /** Lines below it are left out. */
  readonly level?: 'debug' | 'info';
  write?(line: string): void;
  now?(): Date;
}

export function makeLog(options: LogOptions): Log {
  const {
    component,
    level = 'info',
    write = (line) => void process.stderr.write(line),
    now = () => new Date(),
  } = options;
  const make = (bound: LogFields): Log => {
    const entry = (severity: Severity) => (message: string, fields?: LogFields) =>
      write(formatLine({ severity, at: now(), component, message, fields: { ...bound, ...fields } }));
    return {
      debug: level === 'debug' ? entry('D') : () => {},
      info: entry('I'),
      warn: entry('W'),
      error: entry('E'),
      with: (fields) => make({ ...bound, ...fields }),
    };
  };
  return make({});
}

interface Line {
  readonly severity: Severity;
  readonly at: Date;
  readonly component: string;
  readonly message: string;
  readonly fields: LogFields;
}

export function formatLine({ severity, at, component, message, fields }: Line): string {
  const [date = '', time = ''] = at.toISOString().slice(5, 23).split('T');
  const pairs = Object.entries(fields).map(([key, value]) => ` ${key}=${JSON.stringify(plain(value))}`);
  return `${severity}${date.replace('-', '')} ${time} ${component}] ${JSON.stringify(message)}${pairs.join('')}\n`;
}

function plain(value: unknown): unknown {
  return value instanceof Error ? value.message : (value ?? null);
}
