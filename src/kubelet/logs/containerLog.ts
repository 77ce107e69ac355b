// The log files of one run of a container on disk: the current one and what rotation made of it.
// Guarantees: nothing outside the directory of the pods' logs is touched; success also when all is gone already.
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { isMissing } from '../volumes/files.js';

export async function removeContainerLog(logPath: string, podLogsDir: string): Promise<void> {
  if (!logPath.startsWith(`${podLogsDir}/`)) return;
  const directory = path.dirname(logPath);
  const base = path.basename(logPath);
  const names = await readdir(directory).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  for (const name of names)
    if (name === base || name.startsWith(`${base}.`)) await rm(path.join(directory, name), { force: true });
}
