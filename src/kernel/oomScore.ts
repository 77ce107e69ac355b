// How readily the kernel ends this process when memory runs out.
// Guarantees: a value that may not be set is told and stops nothing: a lower one takes a right that not everybody has.
import { writeFile } from 'node:fs/promises';

export async function setOomScoreAdj(
  value: number,
  log: { warn(message: string, fields: Record<string, unknown>): void },
): Promise<void> {
  await writeFile('/proc/self/oom_score_adj', String(value)).catch((error: unknown) =>
    log.warn('oomScoreAdj could not be set', { value, error }),
  );
}
