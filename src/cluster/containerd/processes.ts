// The processes of the machine, and which of them a containerd of ours has left. All but readProcesses is pure.
// Guarantees: a process counts as ours by our own socket or configuration among its arguments, never by its name alone.
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly argv: readonly string[];
}

/** Processes that end meanwhile are left out. */
export async function readProcesses(): Promise<readonly Process[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      try {
        const [stat, cmdline] = await Promise.all([
          readFile(`/proc/${pid}/stat`, 'utf8'),
          readFile(`/proc/${pid}/cmdline`, 'utf8'),
        ]);
        return { pid, parent: parentOf(stat), argv: cmdline.split('\0').slice(0, -1) };
      } catch {
        return undefined; // ended between listing and reading, which is all that can go wrong there
      }
    }),
  );
  return found.filter((one) => one !== undefined);
}

/** The program's name, in brackets, may itself hold blanks and brackets. */
export const parentOf = (stat: string): number =>
  Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);

const follows = (argv: readonly string[], flag: string, value: string): boolean =>
  argv.some((arg, i) => (arg === flag && argv[i + 1] === value) || arg === `${flag}=${value}`);

/** A shim that reports to the containerd of this socket. */
export const isShimOf = ({ argv }: Process, socketPath: string): boolean =>
  basename(argv[0] ?? '').startsWith('containerd-shim') && follows(argv, '-address', socketPath);

/** A containerd that runs with this configuration. */
export const isDaemonOf = ({ argv }: Process, configPath: string): boolean =>
  basename(argv[0] ?? '') === 'containerd' &&
  (follows(argv, '--config', configPath) || follows(argv, '-c', configPath));

/** The processes whose ancestor is one of these, without them. */
export function descendantsOf(all: readonly Process[], roots: readonly number[]): readonly Process[] {
  const children = groupByParent(all);
  const seen = new Set(roots);
  const found: Process[] = [];
  for (const waiting = [...roots]; waiting.length > 0; )
    for (const child of children.get(waiting.pop() ?? 0) ?? []) {
      if (seen.has(child.pid)) continue;
      seen.add(child.pid);
      found.push(child);
      waiting.push(child.pid);
    }
  return found;
}

function groupByParent(all: readonly Process[]): Map<number, Process[]> {
  const groups = new Map<number, Process[]>();
  for (const one of all) groups.set(one.parent, [...(groups.get(one.parent) ?? []), one]);
  return groups;
}
