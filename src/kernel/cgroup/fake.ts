// Control groups in memory, for tests of the kubelet: a tree with limits and made-up processes.
// Guarantees: passes the contract of the real ones; `place` and `resourcesOf` are for the test.
import { KernelError } from '../error.js';
import { planWrites } from './limits.js';
import { segmentsOf } from './path.js';
import type { CgroupPort, CgroupResources } from './port.js';

interface Group {
  resources: CgroupResources;
  readonly pids: Set<number>;
}

export class FakeCgroups implements CgroupPort {
  readonly version = 'v1';
  readonly #groups = new Map<string, Group>();

  async create(path: string, resources: CgroupResources = {}): Promise<void> {
    const segments = segmentsOf(path);
    for (let depth = 1; depth <= segments.length; depth++) {
      const at = `/${segments.slice(0, depth).join('/')}`;
      if (!this.#groups.has(at)) this.#groups.set(at, { resources: {}, pids: new Set() });
    }
    await this.update(path, resources);
  }

  async update(path: string, resources: CgroupResources): Promise<void> {
    segmentsOf(path);
    if (planWrites(resources, 'v1').length === 0) return;
    const group = this.#groups.get(path);
    if (group === undefined) throw failure('ENOENT', `set the limits of ${path}`);
    group.resources = { ...group.resources, ...resources };
  }

  async remove(path: string): Promise<void> {
    for (const [at, group] of this.#below(path)) {
      if (group.pids.size > 0) throw failure('EBUSY', `remove the control group ${at}`);
      this.#groups.delete(at);
    }
  }

  async pids(path: string): Promise<readonly number[]> {
    return this.#below(path)
      .flatMap(([, { pids }]) => [...pids])
      .sort((a, b) => a - b);
  }

  async kill(path: string): Promise<void> {
    for (const [, { pids }] of this.#below(path)) pids.clear();
  }

  async children(path: string): Promise<readonly string[]> {
    const depth = segmentsOf(path).length;
    const names = this.#below(path).flatMap(([at]) => segmentsOf(at).slice(depth, depth + 1));
    return [...new Set(names)].sort();
  }

  /** Puts a made-up process into a group. */
  place(path: string, pid: number): void {
    const group = this.#groups.get(path);
    if (group === undefined) throw failure('ENOENT', `place ${pid} in ${path}`);
    group.pids.add(pid);
  }

  /** undefined when there is no such group. */
  resourcesOf(path: string): CgroupResources | undefined {
    return this.#groups.get(path)?.resources;
  }

  /** The group and all below it, deepest first. */
  #below(path: string): [string, Group][] {
    segmentsOf(path);
    return [...this.#groups]
      .filter(([at]) => at === path || at.startsWith(`${path}/`))
      .sort(([a], [b]) => b.length - a.length);
  }
}

const failure = (code: string, operation: string): KernelError =>
  new KernelError([{ code, message: `${operation}: ${code}`, operation, kernel: '', errno: 0 }]);
