// One file or directory of a volume, bound where no link that a container plants can lead it astray.
// Guarantees: what is mounted was opened inside the volume, element by element, without following a link.
import { constants } from 'node:fs';
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  realpath,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { KubeletError } from '../error.js';
import { codeOf, element, isMissing, isWithin, podDir } from './files.js';
import { bindMount, isMountPoint, unmount } from './mountTable.js';

const O_PATH = 0o10000000;
const FLAGS = O_PATH | constants.O_NOFOLLOW;

interface SubPathRequest {
  readonly rootDir: string;
  readonly podUid: string;
  readonly volume: string;
  readonly volumePath: string;
  readonly container: string;
  /** Which of the container's volumeMounts this is. */
  readonly index: number;
  readonly subPath: string;
}

/** The elements of a subPath; refuses absolute ones and those that go up. */
export function subPathElements(subPath: string): readonly string[] {
  if (subPath.startsWith('/')) throw refused(`error SubPath \`${subPath}\` must not be an absolute path`);
  const elements = subPath.split('/').filter((name) => name !== '' && name !== '.');
  if (elements.includes('..') || subPath.includes('\0'))
    throw refused(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
  return elements;
}

/** Answers the bind mount's path on the host; a directory that is not there is made. Taken away with the pod's directory. */
export async function bindSubPath(request: SubPathRequest): Promise<string> {
  const { podUid, volume, container, index, subPath } = request;
  const rootDir = await realpath(request.rootDir);
  const elements = subPathElements(subPath);
  const base = await realpath(request.volumePath);
  const handle = await openOrMake(base, elements).catch((cause) => {
    const words = `failed to prepare subPath for volumeMount "${volume}" of container "${container}"`;
    throw new KubeletError('CreateContainerConfigError', words, { cause });
  });
  try {
    const dir = path.join(podDir(rootDir, podUid), 'volume-subpaths', element(volume), element(container));
    const target = path.join(dir, String(index));
    const source = await handle.stat();
    await mkdir(dir, { recursive: true, mode: 0o750 });
    if (await isMountPoint(target)) {
      const bound = await stat(target);
      if (bound.dev === source.dev && bound.ino === source.ino) return target;
      await unmount(target);
    }
    await makeTarget(target, source.isDirectory());
    await bindMount(`/proc/${process.pid}/fd/${handle.fd}`, target);
    return target;
  } finally {
    await handle.close();
  }
}

/** Links inside the volume may be used as long as they end inside it; the walk itself then meets none. */
async function openOrMake(base: string, elements: readonly string[]): Promise<FileHandle> {
  const { existing, rest } = await resolveExisting(base, elements);
  let handle = await openExisting(base, existing);
  try {
    const { mode } = await stat(base);
    for (const name of rest) {
      const isMade = await mkdir(below(handle, name), { mode: mode & 0o777 }).then(
        () => true,
        (error) => {
          if (codeOf(error) !== 'EEXIST') throw error;
          return false;
        },
      );
      handle = await step(handle, name);
      // By chmod, since what mkdir gives is cut by the umask; by the descriptor, since the name may lead elsewhere by now.
      if (isMade) await chmod(`/proc/self/fd/${handle.fd}`, mode & 0o3777);
    }
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The text of a file inside the volume, its first `limit` bytes at most; undefined when there is none. */
export async function readInside(
  volumePath: string,
  file: string,
  limit: number,
): Promise<string | undefined> {
  const base = await realpath(volumePath);
  const { existing, rest } = await resolveExisting(base, subPathElements(file));
  if (rest.length > 0) return undefined;
  const found = await openExisting(base, existing);
  try {
    if (!(await found.stat()).isFile()) throw refused(`${file} is not a file`);
    // By the descriptor: whatever is at that path by now, this is the file that was looked at.
    const readable = await open(`/proc/self/fd/${found.fd}`, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const { buffer, bytesRead } = await readable.read(Buffer.alloc(limit + 1), 0, limit + 1, 0);
      if (bytesRead > limit) throw refused(`${file} is larger than ${limit} bytes`);
      return buffer.subarray(0, bytesRead).toString('utf8');
    } finally {
      await readable.close();
    }
  } finally {
    await found.close();
  }
}

/** Element by element, without following a link; the path has none as long as nobody puts one there meanwhile. */
async function openExisting(base: string, existing: string): Promise<FileHandle> {
  if (!isWithin(existing, base)) throw refused(`subpath leads out of the volume: ${existing}`);
  const names = path
    .relative(base, existing)
    .split('/')
    .filter((name) => name !== '');
  let handle = await open(base, FLAGS | constants.O_DIRECTORY);
  try {
    for (const name of names) handle = await step(handle, name);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The real path of the longest beginning that exists, and the elements after it. */
async function resolveExisting(
  base: string,
  elements: readonly string[],
): Promise<{ readonly existing: string; readonly rest: readonly string[] }> {
  for (let length = elements.length; length > 0; length--) {
    try {
      const existing = await realpath(path.join(base, ...elements.slice(0, length)));
      return { existing, rest: elements.slice(length) };
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return { existing: base, rest: elements };
}

/** Opens an entry of an open directory. A link there was put after we looked: refused. The parent is closed. */
async function step(parent: FileHandle, name: string): Promise<FileHandle> {
  const child = await open(below(parent, name), FLAGS);
  if ((await child.stat()).isSymbolicLink()) {
    await child.close();
    throw refused(`${name} became a symbolic link`);
  }
  await parent.close();
  return child;
}

const below = (parent: FileHandle, name: string) => `/proc/self/fd/${parent.fd}/${name}`;

/** What is mounted over must be of the same sort; one left from an earlier run may not be. */
async function makeTarget(target: string, directory: boolean): Promise<void> {
  const found = await lstat(target).catch((error) => {
    if (!isMissing(error)) throw error;
  });
  if (found?.isDirectory() === directory) return;
  if (found !== undefined) await (found.isDirectory() ? rmdir(target) : unlink(target));
  if (directory) await mkdir(target, { mode: 0o750 });
  else await writeFile(target, '', { flag: 'wx', mode: 0o640 });
}

const refused = (message: string) => new KubeletError('CreateContainerConfigError', message);
