// Files of the data directory: private, and never half written.
// Guarantees: a crash leaves the old contents or the new; directories are 0700 unless others must pass, files 0600.
import { chmod, mkdir, open, readFile, rename, rmdir } from 'node:fs/promises';

export async function makePrivateDir(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await chmod(dir, 0o700);
}

/** Who knows the way may pass, and nobody may look around: as containerd keeps its own state. */
export async function makePassableDir(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o711 });
  await chmod(dir, 0o711);
}

export async function writePrivate(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}.tmp`;
  const handle = await open(draft, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}

export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Leaves a directory that others use; success also when it is gone. */
export async function removeIfEmpty(dir: string): Promise<void> {
  await rmdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code ?? '')) throw error;
  });
}
