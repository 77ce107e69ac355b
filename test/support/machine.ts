// What can be seen on the machine that a program may leave behind, as lists of words that can be compared.
// Guarantees: what changes by itself (threads of the kernel, the test's own processes, counters) is left out.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

export interface MachineState {
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
  readonly cgroups: readonly string[];
  readonly namespaces: readonly string[];
  readonly links: readonly string[];
  readonly routes: readonly string[];
  readonly nft: readonly string[];
  readonly iptables: readonly string[];
  readonly files: readonly string[];
}

/** Places outside a data directory where containers, networks and daemons leave things. */
const DIRECTORIES = ['/run', '/var/lib', '/var/log', '/var/run', '/etc', '/opt', '/dev/shm'];
/** Deep enough for every runtime's state; the package manager's own databases are not ours to look at. */
const MAX_DEPTH = 4;
const NOT_OURS = ['/var/lib/dpkg', '/var/lib/apt', '/run/user', '/run/systemd', '/run/udev', '/var/run'];

/** `netns` is where the cluster's network lives. */
export async function lookAtMachine(netns: string): Promise<MachineState> {
  const inside = async (tool: string, ...args: string[]) =>
    lines((await execute('nsenter', [`--net=${netns}`, tool, ...args])).stdout);
  return {
    processes: processes(),
    mounts: lines(readFileSync('/proc/self/mountinfo', 'utf8')).map((line) =>
      line.split(' ').slice(3, 5).join(' '),
    ),
    cgroups: walk('/sys/fs/cgroup', { directoriesOnly: true }),
    namespaces: existsSync('/run/netns') ? readdirSync('/run/netns').sort() : [],
    links: (await inside('ip', '-o', 'link', 'show')).map(
      (line) => line.split(': ')[1]?.split('@')[0] ?? line,
    ),
    routes: await inside('ip', 'route', 'show', 'table', 'all'),
    nft: await inside('nft', 'list', 'ruleset'),
    iptables: (await inside('iptables-save')).filter(
      (line) => !line.startsWith('#') && !line.startsWith(':'),
    ),
    files: DIRECTORIES.filter((dir) => !NOT_OURS.includes(dir)).flatMap((dir) =>
      walk(dir, { directoriesOnly: false }),
    ),
  };
}

/** What is in the second but not in the first, and the other way round; empty when they are the same. */
export function differences(before: MachineState, after: MachineState): string[] {
  return (Object.keys(before) as (keyof MachineState)[]).flatMap((kind) => {
    const [was, is] = [new Set(before[kind]), new Set(after[kind])];
    return [
      ...[...is].filter((word) => !was.has(word)).map((word) => `${kind}: ${word} is left`),
      ...[...was].filter((word) => !is.has(word)).map((word) => `${kind}: ${word} is gone`),
    ];
  });
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** Programs that a cluster runs; whatever else the machine does meanwhile is not looked at. */
function processes(): string[] {
  const known = /containerd|runc|\bpause\b|\bhttpd\b|cli\/main\.js|trellis/;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
        return known.test(words) && !/vitest|esbuild|rolldown/.test(words) ? [`${pid} ${words}`] : [];
      } catch {
        return []; // ended meanwhile
      }
    });
}

function walk(top: string, options: { directoriesOnly: boolean }, depth = 0): string[] {
  if (depth > MAX_DEPTH || NOT_OURS.includes(top)) return [];
  let names: string[];
  try {
    names = readdirSync(top);
  } catch {
    return [];
  }
  return names.sort().flatMap((name) => {
    const file = path.join(top, name);
    const isDirectory = statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
    const self = isDirectory || !options.directoriesOnly ? [file] : [];
    return isDirectory ? [...self, ...walk(file, options, depth + 1)] : self;
  });
}
