// What this machine allows a containerd, asked of the machine itself. The readers of its answers are pure.
// Guarantees: the question leaves nothing behind.
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseHierarchies, versionOf } from '../../kernel/cgroup/hierarchy.js';
import { ociArchitecture } from '../images/image.js';
import type { ContainerdOptions } from './config.js';

const CAP_SYS_RESOURCE = 24n;

/** Whether a process of this /proc/<pid>/status may lower anyone's oom_score_adj. */
export function hasSysResource(status: string): boolean {
  const mask = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  return (BigInt(`0x${mask}`) & (1n << CAP_SYS_RESOURCE)) !== 0n;
}

/** `directory` is where containerd's root will be: what overlayfs can do depends on the file system below. */
export async function askMachine(
  directory: string,
): Promise<
  Pick<
    ContainerdOptions,
    'snapshotter' | 'architecture' | 'restrictOomScoreAdj' | 'disableApparmor' | 'disableHugetlb'
  >
> {
  return {
    architecture: ociArchitecture(process.arch),
    snapshotter: (await mountsOverlay(directory)) ? 'overlayfs' : 'native',
    restrictOomScoreAdj: !hasSysResource(await readFile('/proc/self/status', 'utf8')),
    disableApparmor: !(await hasApparmor()),
    disableHugetlb: !(await hasHugetlb()),
  };
}

/** In the hierarchies that runc uses: those of v1 where there are any, or v2 alone. */
async function hasHugetlb(): Promise<boolean> {
  const hierarchies = parseHierarchies(await readFile('/proc/mounts', 'utf8'));
  if (versionOf(hierarchies) !== 'v2')
    return hierarchies.some(({ controllers }) => controllers.includes('hugetlb'));
  const listed = await readFile(`${hierarchies[0]?.mountPoint}/cgroup.controllers`, 'utf8');
  return listed.split(/\s+/).includes('hugetlb');
}

/** containerd loads its profile with the parser, so the kernel's half alone is not enough. */
async function hasApparmor(): Promise<boolean> {
  try {
    const enabled = await readFile('/sys/module/apparmor/parameters/enabled', 'utf8');
    await access('/sbin/apparmor_parser');
    return enabled.startsWith('Y');
  } catch {
    return false; // either half is missing, or hidden from us, which comes to the same
  }
}

async function mountsOverlay(directory: string): Promise<boolean> {
  await mkdir(directory, { recursive: true });
  const probe = await mkdtemp(join(directory, '.overlay-'));
  const run = promisify(execFile);
  try {
    const [lower, upper, work, merged] = ['lower', 'upper', 'work', 'merged'].map((name) =>
      join(probe, name),
    );
    for (const path of [lower, upper, work, merged]) await mkdir(path as string);
    // The options separate their values by these.
    if (/[,:\\]/.test(probe)) return false;
    const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
    await run('mount', ['-t', 'overlay', '-o', options, 'trellis-probe', merged as string]);
    await run('umount', [merged as string]);
    return true;
  } catch {
    return false; // whatever the reason, containerd would meet it, too
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}
