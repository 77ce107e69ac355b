// Control groups of the real kernel, through the files of every hierarchy that is mounted.
// Guarantees: a group is made, limited and removed in all hierarchies alike; nobody kills the group this process is in.
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KernelError } from '../error.js';
import { type Hierarchy, parseHierarchies, versionOf } from './hierarchy.js';
import { planWrites } from './limits.js';
import { segmentsOf } from './path.js';
import type { CgroupPort, CgroupResources } from './port.js';

const V2_CONTROLLERS = ['cpuset', 'cpu', 'memory', 'pids', 'io', 'hugetlb'];
const KILL_ROUNDS = 500;
const REMOVE_ROUNDS = 50;
const PAUSE_MS = 10;

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

/** Does the work; an errno of the file system becomes a KernelError unless it is one of those that are fine. */
async function attempt<T>(
  operation: string,
  work: () => Promise<T>,
  ...fine: string[]
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const { code, errno, message } = error as NodeJS.ErrnoException;
    if (code === undefined || errno === undefined) throw error;
    if (fine.includes(code)) return undefined;
    const failure = { code, message: `${operation}: ${message}`, operation, kernel: '', errno: -errno };
    throw new KernelError([failure], { cause: error });
  }
}

/** Rejects when no control groups are mounted. */
export async function openCgroups(): Promise<CgroupPort> {
  const hierarchies = parseHierarchies(await readFile('/proc/mounts', 'utf8'));
  const version = versionOf(hierarchies);
  if (version === undefined) throw KernelError.invalid('no control groups are mounted on this machine');
  return new KernelCgroups(version, hierarchies);
}

class KernelCgroups implements CgroupPort {
  readonly #hierarchies: readonly Hierarchy[];

  constructor(
    readonly version: CgroupPort['version'],
    hierarchies: readonly Hierarchy[],
  ) {
    this.#hierarchies = hierarchies;
  }

  async create(path: string, resources: CgroupResources = {}): Promise<void> {
    const segments = segmentsOf(path);
    // A machine of v1 has a dozen hierarchies, which know nothing of one another.
    const handDown = this.version === 'v2';
    await Promise.all(this.#hierarchies.map((hierarchy) => makeGroup({ hierarchy, segments, handDown })));
    await this.update(path, resources);
  }

  async update(path: string, resources: CgroupResources): Promise<void> {
    const segments = segmentsOf(path);
    const kind = this.version === 'v2' ? 'v2' : 'v1';
    for (const { controller, file, text, isOptional } of planWrites(resources, kind)) {
      const hierarchy = this.#hierarchies.find(
        (one) => one.kind === kind && (kind === 'v2' || one.controllers.includes(controller)),
      );
      if (hierarchy === undefined && isOptional) continue;
      if (hierarchy === undefined)
        throw KernelError.invalid(`${path} cannot have ${file}: the controller ${controller} is not mounted`);
      const target = join(hierarchy.mountPoint, ...segments, file);
      // A file of a control group is opened for writing only: creating one is not what is meant when it is missing.
      const fine = isOptional ? ['ENOENT'] : [];
      await attempt(`set ${file} of ${path}`, () => writeFile(target, text, { flag: 'r+' }), ...fine);
    }
  }

  async remove(path: string): Promise<void> {
    await Promise.all(this.#directories(path).map((directory) => removeGroup(directory, path)));
  }

  async pids(path: string): Promise<readonly number[]> {
    const found = new Set<number>();
    for (const directory of this.#directories(path)) await collectPids(directory, found);
    return [...found].sort((a, b) => a - b);
  }

  async kill(path: string): Promise<void> {
    if ((await this.pids(path)).includes(process.pid))
      throw KernelError.invalid(`${path} holds this very process and is not killed by it`);
    // One write ends them all at once where v2 knows it; elsewhere a fork may run ahead of us, so we look again.
    for (const { kind, mountPoint } of this.#hierarchies)
      if (kind === 'v2')
        await attempt(
          `kill ${path}`,
          () => writeFile(join(mountPoint, path, 'cgroup.kill'), '1', { flag: 'r+' }),
          'ENOENT',
          'EOPNOTSUPP',
        );
    for (let round = 0; round < KILL_ROUNDS; round++) {
      const pids = await this.pids(path);
      if (pids.length === 0) return;
      for (const pid of pids) await attempt(`kill ${pid}`, async () => process.kill(pid, 'SIGKILL'), 'ESRCH');
      await sleep(PAUSE_MS);
    }
    const left = await this.pids(path);
    throw KernelError.invalid(`processes ${left.join(', ')} in ${path} do not end`);
  }

  async children(path: string): Promise<readonly string[]> {
    const names = new Set<string>();
    for (const directory of this.#directories(path))
      for (const name of await below(directory)) names.add(name);
    return [...names].sort();
  }

  #directories(path: string): string[] {
    const segments = segmentsOf(path);
    return this.#hierarchies.map(({ mountPoint }) => join(mountPoint, ...segments));
  }
}

/**
 * Groups on the way are made only when they are missing; a group exists only below one that is ready for it. Beside v1,
 * the hierarchy of v2 sets no limits, and its controllers are left to whoever runs the machine.
 */
async function makeGroup(options: {
  readonly hierarchy: Hierarchy;
  readonly segments: readonly string[];
  readonly handDown: boolean;
}): Promise<void> {
  const { hierarchy, segments, handDown } = options;
  if (segments.length === 0) return;
  const parent = join(hierarchy.mountPoint, ...segments.slice(0, -1));
  const directory = join(hierarchy.mountPoint, ...segments);
  const make = async () => {
    if (hierarchy.kind === 'v2' && handDown) await delegate(parent);
    await mkdir(directory);
  };
  try {
    await make();
  } catch (error) {
    const code = error instanceof KernelError ? error.code : codeOf(error);
    if (code === 'ENOENT' && segments.length > 1) {
      await makeGroup({ ...options, segments: segments.slice(0, -1) });
      await attempt(`make the control group ${directory}`, make, 'EEXIST');
    } else if (code !== 'EEXIST')
      await attempt(`make the control group ${directory}`, () => Promise.reject(error));
  }
  if (hierarchy.controllers.includes('cpuset')) await inheritCpuset(hierarchy, segments);
}

/** A child of v2 has the controllers that its parent hands down. */
async function delegate(parent: string): Promise<void> {
  const read = async (file: string) =>
    ((await attempt(`read ${file}`, () => readFile(join(parent, file), 'utf8'))) ?? '').trim().split(' ');
  const [available, handed] = [await read('cgroup.controllers'), await read('cgroup.subtree_control')];
  for (const name of V2_CONTROLLERS)
    if (available.includes(name) && !handed.includes(name))
      await attempt(`hand ${name} down from ${parent}`, () =>
        writeFile(join(parent, 'cgroup.subtree_control'), `+${name}`, { flag: 'r+' }),
      );
}

/** A new group of v1 may run nowhere until it is told where. */
async function inheritCpuset(hierarchy: Hierarchy, segments: readonly string[]): Promise<void> {
  const directory = join(hierarchy.mountPoint, ...segments);
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    const read = async (from: string) =>
      ((await attempt(`read ${file}`, () => readFile(join(from, file), 'utf8'))) ?? '').trim();
    if ((await read(directory)) !== '') continue;
    const parent = join(directory, '..');
    // One that a crash left half made is finished on the way.
    if (segments.length > 1 && (await read(parent)) === '')
      await inheritCpuset(hierarchy, segments.slice(0, -1));
    const text = await read(parent);
    await attempt(`set ${file} of ${directory}`, () =>
      writeFile(join(directory, file), text, { flag: 'r+' }),
    );
  }
}

async function below(directory: string): Promise<string[]> {
  const entries = await attempt(
    `list ${directory}`,
    () => readdir(directory, { withFileTypes: true }),
    'ENOENT',
  );
  return (entries ?? []).filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

async function collectPids(directory: string, found: Set<number>): Promise<void> {
  const text = await attempt(
    `read ${directory}/cgroup.procs`,
    () => readFile(join(directory, 'cgroup.procs'), 'utf8'),
    'ENOENT',
    'ENODEV', // removed between opening and reading
  );
  // 0 stands for a process that is outside of our process namespace.
  for (const line of (text ?? '').split('\n')) if (Number(line) > 0) found.add(Number(line));
  for (const name of await below(directory)) await collectPids(join(directory, name), found);
}

/** From the leaves up. The kernel lets go of processes that have just ended a moment later. */
async function removeGroup(directory: string, path: string): Promise<void> {
  for (const name of await below(directory)) await removeGroup(join(directory, name), path);
  for (let round = 1; ; round++) {
    try {
      return await rmdir(directory);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return;
      if (codeOf(error) !== 'EBUSY' || round === REMOVE_ROUNDS)
        await attempt(`remove the control group ${path}`, () => Promise.reject(error as Error));
    }
    await sleep(PAUSE_MS);
  }
}
