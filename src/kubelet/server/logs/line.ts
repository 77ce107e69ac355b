// One line of a container's log as runtimes write it: `time stream tags content`. Pure.
// Guarantees: what is no such line is told apart, never thrown; contents stay bytes.

interface LogEntry {
  /** RFC 3339 with nanoseconds, as the runtime wrote it. */
  readonly time: string;
  readonly stream: string;
  /** The program's line goes on in the next entry. */
  readonly partial: boolean;
  /** Without the end of the line. */
  readonly content: Buffer;
}

const SPACE = 0x20;
const NEWLINE = Buffer.from('\n');

/** `line` is without its newline. Undefined when it is no entry. */
export function parseLogLine(line: Buffer): LogEntry | undefined {
  const first = line.indexOf(SPACE);
  const second = first === -1 ? -1 : line.indexOf(SPACE, first + 1);
  if (second === -1) return undefined;
  const stream = line.toString('latin1', first + 1, second);
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  // An empty content may come without the space before it.
  const third = line.indexOf(SPACE, second + 1);
  const tags = line.toString('latin1', second + 1, third === -1 ? line.length : third);
  const [tag] = tags.split(':');
  if (tag !== 'P' && tag !== 'F') return undefined;
  return {
    time: line.toString('latin1', 0, first),
    stream,
    partial: tag === 'P',
    content: third === -1 ? Buffer.alloc(0) : line.subarray(third + 1),
  };
}

/** Whether this line ends one of the program's lines; what cannot be read counts as one. */
export const endsLine = (line: Buffer) => parseLogLine(line)?.partial !== true;

interface LogFilter {
  readonly timestamps: boolean;
  /** Milliseconds since 1970. */
  readonly sinceMs: number | undefined;
  readonly stream: 'stdout' | 'stderr' | undefined;
}

/** Turns entries into what the reader asked for; remembers where a line was left open. */
export class LogFormatter {
  readonly #filter: LogFilter;
  #atLineStart = true;

  constructor(filter: LogFilter) {
    this.#filter = filter;
  }

  /** Nothing for entries that are filtered out and for lines that cannot be read. */
  format(line: Buffer): readonly Buffer[] {
    const entry = parseLogLine(line);
    const { timestamps, sinceMs, stream } = this.#filter;
    if (entry === undefined || (stream !== undefined && entry.stream !== stream)) return [];
    if (sinceMs !== undefined && Date.parse(entry.time) < sinceMs) return [];
    const prefix = timestamps && this.#atLineStart ? [Buffer.from(`${entry.time} `)] : [];
    this.#atLineStart = !entry.partial;
    return [...prefix, entry.content, ...(entry.partial ? [] : [NEWLINE])];
  }
}
