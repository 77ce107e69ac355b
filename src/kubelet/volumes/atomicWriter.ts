// Writes a volume's files so that a reader sees all of the old ones or all of the new ones, never a mixture.
// Guarantees: one rename switches; nothing is written when nothing changed; names that are gone disappear.
import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { isMissing } from './files.js';
import type { Payload } from './payload.js';

const DATA = '..data';
const NEW_DATA = '..data_tmp';

interface AtomicWrite {
  readonly dir: string;
  readonly payload: Payload;
  readonly now: Date;
  /** Called with the new directory before it becomes visible: sets its ownership. */
  readonly prepare?: (dir: string) => Promise<void>;
}

/** Answers whether anything was written. The layout is Kubernetes': `..data` links to a dated directory, names link through it. */
export async function writeAtomically({ dir, payload, now, prepare }: AtomicWrite): Promise<boolean> {
  const current = await currentDirectory(dir);
  const names = new Set([...payload.keys()].map((file) => file.split('/')[0] ?? file));
  if (current !== undefined && (await holds(path.join(dir, current), payload, prepare !== undefined))) {
    await tidy(dir, { names, keep: current });
    return false;
  }
  const next = `..${timestamp(now)}.${randomBytes(5).toString('hex')}`;
  const nextDir = path.join(dir, next);
  try {
    await mkdir(nextDir);
    await chmod(nextDir, 0o755);
    await writeFiles(nextDir, payload);
    await prepare?.(nextDir);
    await rm(path.join(dir, NEW_DATA), { force: true });
    await symlink(next, path.join(dir, NEW_DATA));
    await rename(path.join(dir, NEW_DATA), path.join(dir, DATA));
  } catch (error) {
    await rm(nextDir, { recursive: true, force: true });
    throw error;
  }
  await tidy(dir, { names, keep: next });
  return true;
}

async function currentDirectory(dir: string): Promise<string | undefined> {
  try {
    return path.basename(await readlink(path.join(dir, DATA)));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function writeFiles(dir: string, payload: Payload): Promise<void> {
  for (const [name, { data, mode, uid }] of payload) {
    const file = path.join(dir, name);
    await mkdir(path.dirname(file), { recursive: true, mode: 0o755 });
    await writeFile(file, data, { mode: 0o600, flag: 'wx' });
    if (uid !== undefined) await chown(file, uid, -1);
    await chmod(file, mode);
  }
}

/** Group bits may have been added for the pod's group: with `owned` only the bits that were asked for must be there. */
async function holds(dir: string, payload: Payload, owned: boolean): Promise<boolean> {
  try {
    const found = (await readdir(dir, { recursive: true, withFileTypes: true })).filter((one) =>
      one.isFile(),
    );
    if (found.length !== payload.size) return false;
    for (const [name, { data, mode }] of payload) {
      const file = path.join(dir, name);
      const bits = (await stat(file)).mode & 0o777;
      if (owned ? (bits & mode) !== mode : bits !== mode) return false;
      if (!(await readFile(file)).equals(data)) return false;
    }
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * After the switch: names link through it; links to what is gone go, and so do dated directories left by earlier writes
 * or a crash in the middle of one.
 */
async function tidy(
  dir: string,
  { names, keep }: { readonly names: ReadonlySet<string>; readonly keep: string },
): Promise<void> {
  const present = new Set(await readdir(dir));
  for (const name of names)
    if (!present.has(name)) await symlink(path.join(DATA, name), path.join(dir, name));
  for (const name of present) {
    if (name === DATA || name === keep || names.has(name)) continue;
    await rm(path.join(dir, name), { recursive: true, force: true });
  }
}

/** 2006_01_02_15_04_05 in the node's own time, as the directories of Kubernetes are called. */
function timestamp(now: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())];
  return [...day, two(now.getHours()), two(now.getMinutes()), two(now.getSeconds())].join('_');
}
