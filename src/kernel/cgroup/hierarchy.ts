// Where control groups are mounted, read from /proc/mounts and /proc/self/cgroup. Pure.
// Guarantees: each controller is found once, at its first mount; a v2 hierarchy has an empty list of v1 controllers.
import type { CgroupVersion } from './port.js';

export interface Hierarchy {
  readonly mountPoint: string;
  readonly kind: 'v1' | 'v2';
  /** Of v1: `cpu`, `memory`; a named one without controllers has `name=systemd`. */
  readonly controllers: readonly string[];
}

const unescapeOctal = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

// Options of a v1 mount that are neither controllers nor a name.
const MOUNT_OPTIONS = new Set([
  'rw',
  'ro',
  'nosuid',
  'nodev',
  'noexec',
  'relatime',
  'noatime',
  'nodiratime',
  'strictatime',
  'sync',
  'seclabel',
  'xattr',
  'clone_children',
  'noprefix',
  'cpuset_v2_mode',
  'none',
  'favordynmods',
]);
const isController = (option: string): boolean =>
  !MOUNT_OPTIONS.has(option) && (!option.includes('=') || option.startsWith('name='));

export function parseHierarchies(mounts: string): readonly Hierarchy[] {
  const found: Hierarchy[] = [];
  const seen = new Set<string>();
  for (const line of mounts.split('\n')) {
    const [, mountPoint, type, options] = line.split(' ');
    if (mountPoint === undefined || options === undefined) continue;
    if (type !== 'cgroup' && type !== 'cgroup2') continue;
    const controllers = type === 'cgroup' ? options.split(',').filter(isController) : [];
    const key = `${type} ${controllers.join()}`;
    if (seen.has(key)) continue; // mounted a second time elsewhere
    seen.add(key);
    found.push({ mountPoint: unescapeOctal(mountPoint), kind: type === 'cgroup' ? 'v1' : 'v2', controllers });
  }
  return found;
}

/** undefined when no control groups are mounted at all. */
export function versionOf(hierarchies: readonly Hierarchy[]): CgroupVersion | undefined {
  const v2 = hierarchies.some(({ kind }) => kind === 'v2');
  const v1 = hierarchies.some(
    ({ kind, controllers }) => kind === 'v1' && controllers.some((name) => !name.startsWith('name=')),
  );
  if (v1) return v2 ? 'hybrid' : 'v1';
  return v2 ? 'v2' : undefined;
}
