// Log lines as Kubernetes' components write them: severity, date, time, process, component, message, fields; or as JSON.
// Guarantees: one line an entry; values are quoted, so that hostile text cannot forge a line.
import { Option } from 'commander';
import { LOG_FORMATS, type Log, type LogFields, type LogFormat } from '../api/log.js';

type Severity = 'D' | 'I' | 'W' | 'E';

export interface LogOptions {
  readonly component: string;
  /** Lines below it are left out. */
  readonly level?: 'debug' | 'info';
  readonly format?: LogFormat | undefined;
  write?(line: string): void;
  now?(): Date;
}

/** From this verbosity on, what Kubernetes' components are told by `-v`, everything is logged. */
const DEBUG_VERBOSITY = 4;

export const levelOf = (verbosity: number | string | undefined): 'debug' | 'info' =>
  Number(verbosity ?? 0) >= DEBUG_VERBOSITY ? 'debug' : 'info';

/** By the name that Kubernetes' components have for it. Without a default: a file may say it, too. */
export const loggingFormatOption = (): Option =>
  new Option('--logging-format <format>', 'how the log is written (default: text)').choices(LOG_FORMATS);

export function makeLog(options: LogOptions): Log {
  const {
    component,
    level = 'info',
    format = 'text',
    write = (line) => void process.stderr.write(line),
    now = () => new Date(),
  } = options;
  const written = format === 'json' ? formatJson : formatLine;
  const make = (bound: LogFields): Log => {
    const entry = (severity: Severity) => (message: string, fields?: LogFields) =>
      write(written({ severity, at: now(), component, message, fields: { ...bound, ...fields } }));
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

function formatLine({ severity, at, component, message, fields }: Line): string {
  const [date = '', time = ''] = at.toISOString().slice(5, 23).split('T');
  const pairs = Object.entries(fields).map(([key, value]) => ` ${key}=${JSON.stringify(plain(value))}`);
  return `${severity}${date.replace('-', '')} ${time} ${component}] ${JSON.stringify(message)}${pairs.join('')}\n`;
}

/** With the names of k8s.io/component-base: `ts` in milliseconds, `v` of all but errors, `err` for what went wrong. */
function formatJson({ severity, at, component, message, fields }: Line): string {
  const own = {
    ts: at.getTime(),
    logger: component,
    msg: message,
    ...(severity === 'E' ? {} : { v: severity === 'D' ? DEBUG_VERBOSITY : 0 }),
  };
  const given = Object.entries(fields).map(([key, value]) => [key === 'error' ? 'err' : key, plain(value)]);
  // Its own names first, and a field of the same name does not change them.
  return `${JSON.stringify({ ...own, ...Object.fromEntries(given), ...own })}\n`;
}

function plain(value: unknown): unknown {
  return value instanceof Error ? value.message : (value ?? null);
}
