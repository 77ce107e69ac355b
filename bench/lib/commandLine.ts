// What `npm run bench` was asked for. Pure.
// Guarantees: an unknown name or flag is refused in words that say what there is.
import { parseArgs } from 'node:util';

export interface Asked {
  readonly names: readonly string[];
  readonly json: string | undefined;
  readonly runs: string | undefined;
  readonly scale: string | undefined;
  readonly docs: boolean;
  readonly fail: boolean;
}

export class UsageError extends Error {}

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  json: { type: 'string' },
  runs: { type: 'string' },
  scale: { type: 'string' },
  docs: { type: 'boolean' },
  'no-fail': { type: 'boolean' },
} as const;

/** Undefined when help was asked for. `known` are the names of all benchmarks, as group/name. */
export function parseCommandLine(args: readonly string[], known: readonly string[]): Asked | undefined {
  const { values, positionals } = parsed(args);
  if (values.help === true) return undefined;
  const unknown = positionals.filter((name) => selected([name], known).length === 0);
  if (unknown.length > 0)
    throw new UsageError(`no benchmark is called ${unknown.join(', ')}; there are: ${known.join(', ')}`);
  if (values.runs !== undefined && !/^[1-9]\d*$/.test(values.runs))
    throw new UsageError('--runs must be a whole number of at least 1');
  if (values.scale !== undefined && !(Number(values.scale) > 0 && Number(values.scale) <= 1))
    throw new UsageError('--scale must be a share such as 0.1');
  if (values.scale !== undefined && values.docs === true)
    throw new UsageError('--docs wants the whole size: leave --scale out');
  const { json, runs, scale } = values;
  return {
    names: positionals,
    json,
    runs,
    scale,
    docs: values.docs === true,
    fail: values['no-fail'] !== true,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** Those of the known names that are meant: all of them when none is. */
export function selected(names: readonly string[], known: readonly string[]): string[] {
  const isMeant = (name: string) => names.some((one) => name === one || name.startsWith(`${one}/`));
  return known.filter((name) => names.length === 0 || isMeant(name));
}

export const usage = (known: readonly string[]) => `usage: npm run bench -- [name ...] [options]

Measures this machine, beside peers where there are any, and says of each goal whether it was met.
A name is a group (native) or one benchmark of it (native/routes); without a name everything runs, which takes
more than an hour. Most benchmarks need root.

  --runs N      runs of every figure, in place of each benchmark's own number
  --scale S     share of the nodes and pods in the large benchmarks, such as 0.1, for a quick look
  --json FILE   writes the figures as JSON
  --docs        writes the tables of whole groups into README.md and docs
  --no-fail     ends with 0 also when a goal was missed
  -h, --help    shows this

Exit code: 0 when every goal was met, 1 when one was missed or a benchmark failed, 2 for a wrong command line.

Benchmarks:
${known.map((name) => `  ${name}`).join('\n')}
`;
