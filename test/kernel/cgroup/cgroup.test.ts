// The contract on this machine's control groups, and the limits as the kernel's own files show them.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openCgroups } from '../../../src/kernel/cgroup/adapter.js';
import { type Hierarchy, parseHierarchies, versionOf } from '../../../src/kernel/cgroup/hierarchy.js';
import { cgroupContract } from '../../support/contracts/cgroup.js';
import { describeWith } from '../../support/requires.js';

const hierarchies = parseHierarchies(readFileSync('/proc/mounts', 'utf8'));
const group = `/trellis-test-limits-${process.pid}`;

describeWith({ root: true }, 'control groups of the kernel', () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  cgroupContract(async () => ({
    port: await openCgroups(),
    place: async (at) => {
      const child = spawn('sleep', ['1000']);
      children.push(child);
      for (const { mountPoint } of hierarchies)
        writeFileSync(path.join(mountPoint, at, 'cgroup.procs'), String(child.pid));
      return child.pid ?? 0;
    },
  }));

  test('limits are in the files of every hierarchy, and the group is in none after it is removed', async () => {
    const port = await openCgroups();
    expect(port.version).toBe(versionOf(hierarchies));
    const unified = hierarchies.find(({ kind }) => kind === 'v2')?.mountPoint ?? '';
    const handedDown = () =>
      port.version === 'hybrid' ? readFileSync(path.join(unified, 'cgroup.subtree_control'), 'utf8') : '';
    const before = handedDown();
    const limits = { cpuShares: 512, cpuQuotaUs: 20_000, memoryLimitBytes: 64 * 1024 * 1024, pidsLimit: 20 };
    await port.create(group, limits);
    const shown = (controller: string, file: string) => {
      const holds = ({ kind, controllers }: Hierarchy) =>
        port.version === 'v2' ? kind === 'v2' : controllers.includes(controller);
      const mountPoint = hierarchies.find(holds)?.mountPoint ?? '';
      return readFileSync(path.join(mountPoint, group, file), 'utf8').trim();
    };
    const files =
      port.version === 'v2'
        ? { cpu: ['cpu.weight', '20'], memory: ['memory.max', '67108864'], pids: ['pids.max', '20'] }
        : {
            cpu: ['cpu.cfs_quota_us', '20000'],
            memory: ['memory.limit_in_bytes', '67108864'],
            pids: ['pids.max', '20'],
          };
    for (const [controller, [file = '', text]] of Object.entries(files))
      expect([file, shown(controller, file)]).toEqual([file, text]);
    expect(handedDown()).toBe(before); // beside v1, v2's controllers are not ours to hand out
    await port.update(group, { pidsLimit: -1 });
    expect(shown('pids', 'pids.max')).toBe('max');
    await port.remove(group);
    for (const { mountPoint } of hierarchies) expect(existsSync(path.join(mountPoint, group))).toBe(false);
  });
});
