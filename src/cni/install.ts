// Copies our plugin executables to where runtimes look for them.
// Guarantees: a plugin is there, old or new, at every moment; nothing changes when anything of another owner is in the way.
import {
  copyFile,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../base/errorMessage.js';
import { CniError } from './error.js';

/** The one executable; each plugin is a link to it. */
const EXECUTABLE = 'trellis-cni';

interface InstallOptions {
  /** Where the build put them. */
  readonly from: string;
  readonly to: string;
  /** Replace files of other owners too. */
  readonly force?: boolean;
}

type InstallAction = 'installed' | 'replaced' | 'unchanged';

interface InstalledFile {
  readonly name: string;
  readonly action: InstallAction;
  /** What it points to, for a link. */
  readonly link?: string;
}

/** What is at a path: nothing, a link, or a file. */
type Found =
  | { kind: 'nothing' }
  | { kind: 'link'; target: string }
  | { kind: 'file'; inode: number; bytes: Buffer };

export async function installPlugins({ from, to, force = false }: InstallOptions): Promise<InstalledFile[]> {
  const names = await pluginNames(from);
  await mkdir(to, { recursive: true, mode: 0o755 });
  const foreign: string[] = [];
  for (const name of names) if (!(await isOurs(to, name))) foreign.push(name);
  if (foreign.length > 0 && !force) {
    const message = `${to} holds ${foreign.join(', ')} of another owner; nothing was installed (--force replaces them)`;
    throw new CniError('INSTALL_REFUSED', message);
  }
  const source = await look(path.join(from, EXECUTABLE));
  const done: InstalledFile[] = [];
  for (const name of names) done.push(await installOne({ from, to, name, source }));
  return done;
}

async function pluginNames(from: string): Promise<string[]> {
  const names = await readdir(from).catch((cause: unknown) => {
    throw new CniError(
      'INSTALL_REFUSED',
      `${from} holds no plugins (npm run build makes them): ${messageOf(cause)}`,
      { cause },
    );
  });
  if (!names.includes(EXECUTABLE))
    throw new CniError('INSTALL_REFUSED', `${from} has no ${EXECUTABLE}; npm run build makes it`);
  // The executable first: a link must never be there before what it points to.
  return [EXECUTABLE, ...names.filter((name) => name !== EXECUTABLE && !name.startsWith('.')).sort()];
}

// Ours is a link to our executable, and a file that names our executable inside, as ours does.
async function isOurs(dir: string, name: string): Promise<boolean> {
  const found = await look(path.join(dir, name));
  if (found.kind === 'nothing') return true;
  if (found.kind === 'link') return path.basename(found.target) === EXECUTABLE;
  return found.bytes.includes(EXECUTABLE);
}

async function look(file: string): Promise<Found> {
  const info = await lstat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (info === undefined) return { kind: 'nothing' };
  if (info.isSymbolicLink()) return { kind: 'link', target: await readlink(file) };
  if (info.isFile()) return { kind: 'file', inode: info.ino, bytes: await readFile(file) };
  throw new CniError('INSTALL_REFUSED', `${file} is neither a file nor a link`);
}

interface One {
  readonly from: string;
  readonly to: string;
  readonly name: string;
  /** The executable in `from`, to know its hard links by. */
  readonly source: Found;
}

async function installOne({ from, to, name, source }: One): Promise<InstalledFile> {
  const wanted = await look(path.join(from, name));
  const there = await look(path.join(to, name));
  const file = path.join(to, name);
  const executable = path.join(to, EXECUTABLE);
  const isHardLink =
    name !== EXECUTABLE && wanted.kind === 'file' && source.kind === 'file' && wanted.inode === source.inode;
  const same = isHardLink ? await isSameFile(file, executable) : isEqual(wanted, there);
  const shown = wanted.kind === 'link' ? { link: wanted.target } : isHardLink ? { link: EXECUTABLE } : {};
  if (same) return { name, action: 'unchanged', ...shown };
  const fresh = path.join(to, `.${name}.${process.pid}`);
  try {
    if (wanted.kind === 'link') await symlink(wanted.target, fresh);
    else if (isHardLink) await link(executable, fresh);
    else await copyFile(path.join(from, name), fresh);
    await rename(fresh, file);
  } finally {
    // Renaming a hard link onto itself does nothing, so there may be something to remove after success too.
    await rm(fresh, { force: true });
  }
  return { name, action: there.kind === 'nothing' ? 'installed' : 'replaced', ...shown };
}

function isEqual(a: Found, b: Found): boolean {
  if (a.kind === 'link' && b.kind === 'link') return a.target === b.target;
  return a.kind === 'file' && b.kind === 'file' && a.bytes.equals(b.bytes);
}

async function isSameFile(a: string, b: string): Promise<boolean> {
  if ((await look(a)).kind !== 'file') return false;
  const [one, other] = await Promise.all([stat(a), stat(b)]);
  return one.ino === other.ino && one.dev === other.dev;
}
