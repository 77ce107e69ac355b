// What to do with the log files of one container when its log has grown: pure plan.
// Guarantees: never more than `maxFiles` files stay; what a crash left half done is cleaned or finished.

interface RotationPlan {
  /** Files of half-done work, of logs that exist compressed as well, and the oldest beyond the limit. */
  readonly remove: readonly string[];
  readonly compress: readonly string[];
}

const ROTATED = /\.(\d{8}-\d{6})(\.gz)?$/;

/** `names` are the files beside `log` in its directory, `log` itself among them. */
export function planRotation(log: string, names: readonly string[], maxFiles: number): RotationPlan {
  const own = names.filter((name) => name.startsWith(`${log}.`));
  const halfDone = own.filter((name) => name.endsWith('.tmp'));
  const rotated = own.filter((name) => ROTATED.test(name)).sort();
  // Compressed and plain together: the compressing was over, the removal was not.
  const doubled = rotated.filter((name) => !name.endsWith('.gz') && rotated.includes(`${name}.gz`));
  const kept = rotated.filter((name) => !doubled.includes(name));
  // The log itself and the one that it becomes now count as well.
  const excess = kept.slice(0, Math.max(0, kept.length - (maxFiles - 2)));
  const rest = kept.filter((name) => !excess.includes(name));
  return {
    remove: [...halfDone, ...doubled, ...excess],
    compress: rest.filter((name) => !name.endsWith('.gz')),
  };
}

/** `0.log` becomes `0.log.20260131-235959`, in UTC. */
export function rotatedName(log: string, nowMs: number): string {
  const [date = '', time = ''] = new Date(nowMs).toISOString().slice(0, 19).split('T');
  return `${log}.${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
}
