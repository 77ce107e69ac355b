// Paths of control groups, checked before they become paths of files. Pure.
// Guarantees: what passes stays below the root of its hierarchy and names a group other than the root.
import { KernelError } from '../error.js';

/** The names on the way down: `/kubepods/pod1` gives `kubepods` and `pod1`. */
export function segmentsOf(path: string): readonly string[] {
  const segments = path.split('/').slice(1);
  const sound = (name: string) =>
    name !== '' &&
    name !== '.' &&
    name !== '..' &&
    !name.includes('\0') &&
    !name.includes('\n') &&
    !name.startsWith('cgroup.');
  if (!path.startsWith('/') || segments.length === 0 || !segments.every(sound))
    throw KernelError.invalid(`${JSON.stringify(path)} is no path of a control group`);
  return segments;
}
