// Ends what a containerd of ours left behind when it, or all of Trellis, was killed: processes, mounts, namespaces.
// Guarantees: only what belongs to the given directories and socket is touched; may be repeated; root and state stay as directories.
import { readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { basename, isAbsolute, join, normalize } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterError } from '../error.js';
import { mountsBelow, unmountBelow } from '../mounts.js';
import { runcRoot } from './config.js';
import { descendantsOf, isDaemonOf, isShimOf, readProcesses } from './processes.js';

interface RemainsOptions {
  readonly root: string;
  readonly state: string;
  readonly socketPath: string;
  /** When given, a containerd that still runs with it is ended first. */
  readonly configPath?: string;
}

interface Remains {
  readonly killed: readonly number[];
  readonly unmounted: readonly string[];
}

const ROUNDS = 200;
const PAUSE_MS = 25;
const CGROUPS = '/sys/fs/cgroup/';

/** Rejects when processes do not end or a mount cannot be detached. */
export async function killRemains(options: RemainsOptions): Promise<Remains> {
  const top = [options.root, options.state].map((directory) => normalize(directory).replace(/\/+$/, ''));
  if (top.some((directory) => !isAbsolute(directory) || directory === ''))
    throw new ClusterError('BAD_OPTION', `${top.join(' and ')} must be absolute paths other than /`);
  const groups = await containerGroups(options.state);
  const killed = await killAll(options, groups);
  const unmounted = await detach(top);
  for (const group of groups) await rmdir(group).catch(() => undefined); // the owner of the tree above removes what is busy
  for (const socket of await shimSockets(options.state)) await rm(socket, { force: true });
  await rm(join(options.state, 'io.containerd.grpc.v1.cri', 'netns'), { recursive: true, force: true });
  return { killed, unmounted };
}

async function killAll(options: RemainsOptions, groups: readonly string[]): Promise<number[]> {
  const killed = new Set<number>();
  for (let round = 0; round < ROUNDS; round++) {
    const left = await findProcesses(options, groups);
    if (left.length === 0) return [...killed];
    for (const pid of left) {
      killed.add(pid);
      kill(pid);
    }
    await sleep(PAUSE_MS);
  }
  const left = await findProcesses(options, groups);
  throw new ClusterError('REMAINS', `processes of containers do not end: ${left.join(', ')}`);
}

/** Daemon first, so that it starts nothing anew; then shims; then all that came of them, also where a shim is gone. */
async function findProcesses(options: RemainsOptions, groups: readonly string[]): Promise<readonly number[]> {
  const all = await readProcesses();
  const { configPath, socketPath } = options;
  const daemons = configPath === undefined ? [] : all.filter((one) => isDaemonOf(one, configPath));
  const shims = all.filter((one) => isShimOf(one, socketPath)).map(({ pid }) => pid);
  const inside = descendantsOf(all, shims).map(({ pid }) => pid);
  const grouped = (await Promise.all(groups.map(pidsOf))).flat();
  const pids = [...daemons.map(({ pid }) => pid), ...inside, ...shims, ...grouped];
  return [...new Set(pids)].filter((pid) => pid !== process.pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The control groups of the containers that runc knows of; each is named like its container. */
async function containerGroups(state: string): Promise<readonly string[]> {
  const groups: string[] = [];
  for (const directory of await grandchildren(runcRoot(state))) {
    const text = await unlessMissing(readFile(join(directory, 'state.json'), 'utf8'));
    if (text === undefined) continue;
    groups.push(...parseGroups(text, basename(directory)));
  }
  return groups;
}

/** From runc's state.json. What is not a control group of that very container is left out. Pure. */
export function parseGroups(text: string, id: string): readonly string[] {
  let paths: unknown;
  try {
    paths = (JSON.parse(text) as { cgroup_paths?: unknown }).cgroup_paths;
  } catch {
    return []; // half-written when the machine or runc was stopped
  }
  return Object.values(paths ?? {}).filter(
    (one): one is string =>
      typeof one === 'string' && one.startsWith(CGROUPS) && normalize(one) === one && basename(one) === id,
  );
}

async function pidsOf(group: string): Promise<number[]> {
  const text = await unlessMissing(readFile(join(group, 'cgroup.procs'), 'utf8'));
  return (text ?? '')
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0);
}

async function detach(directories: readonly string[]): Promise<readonly string[]> {
  const mountinfo = await readFile('/proc/self/mountinfo', 'utf8');
  const points = directories.flatMap((directory) => mountsBelow(mountinfo, directory));
  for (const directory of directories) await unmountBelow(directory);
  return points;
}

/** Shims listen outside of our directories; each bundle says where: in a file of its own, or since 2.0 among other words. */
async function shimSockets(state: string): Promise<readonly string[]> {
  const bundles = await grandchildren(join(state, 'io.containerd.runtime.v2.task'));
  const files = bundles.flatMap((bundle) => [join(bundle, 'address'), join(bundle, 'bootstrap.json')]);
  const texts = await Promise.all(files.map((file) => unlessMissing(readFile(file, 'utf8'))));
  return texts.flatMap((text) => parseShimSocket(text ?? '') ?? []);
}

/** From a bundle's `address` or `bootstrap.json`. What is not a socket of a shim is left out. Pure. */
export const parseShimSocket = (text: string): string | undefined =>
  /(?:^|")unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)(?:"|\s*$)/.exec(text)?.[1];

async function grandchildren(directory: string): Promise<readonly string[]> {
  const lists = await Promise.all((await children(directory)).map(children));
  return lists.flat();
}

const children = async (directory: string): Promise<readonly string[]> =>
  ((await unlessMissing(readdir(directory))) ?? []).map((name) => join(directory, name));

async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (['ENOENT', 'ENODEV', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw error;
  }
}
