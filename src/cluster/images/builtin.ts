// The two images that a cluster carries with it: `pause` for sandboxes, `busybox` for a first pod without a network.
// Guarantees: a program that would not run alone in its image is refused, with what to install.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../kernel/projectRoot.js';
import { ClusterError } from '../error.js';
import { isStaticProgram } from './elf.js';
import { buildImage, type OciImage, ociArchitecture } from './image.js';
import type { TarEntry } from './tar.js';

/** The registry's name in references of these images. */
export const REGISTRY = 'trellis.local';
export const PAUSE_IMAGE = `${REGISTRY}/pause:latest`;
export const BUSYBOX_IMAGE = `${REGISTRY}/busybox:latest`;

const BUSYBOX_PATHS = ['/bin/busybox', '/usr/bin/busybox'] as const;
const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
// As Kubernetes' own pause: nobody in particular, so that a sandbox holds no rights.
const PAUSE_USER = '65535:65535';

/** `program` is our static pause program, unless told the one that the build made. */
export async function pauseImage(program = join(projectRoot(), 'build/Release/pause')): Promise<OciImage> {
  const content = await readStatic([program], 'run "npm run build"');
  return buildImage({
    name: 'pause',
    tags: ['latest'],
    architecture: ociArchitecture(process.arch),
    entries: [{ kind: 'file', path: 'pause', mode: 0o755, content: content.bytes }],
    run: { Entrypoint: ['/pause'], Env: [PATH], User: PAUSE_USER, WorkingDir: '/' },
  });
}

/** Of the host's static busybox, with all its applets; tagged `latest` and with its version. */
export async function busyboxImage(paths: readonly string[] = BUSYBOX_PATHS): Promise<OciImage> {
  const { path, bytes } = await readStatic(paths, 'install the package busybox-static');
  const run = async (...args: string[]) => (await promisify(execFile)(path, args)).stdout;
  const version = /BusyBox v(\d+(?:\.\d+)*)/.exec(await run('--help'))?.[1];
  const applets = (await run('--list')).split('\n').filter((name) => name !== '' && name !== 'busybox');
  return buildImage({
    name: 'busybox',
    tags: version === undefined ? ['latest'] : ['latest', version],
    architecture: ociArchitecture(process.arch),
    entries: busyboxEntries(bytes, applets),
    run: { Cmd: ['sh'], Env: [PATH] },
  });
}

/** The root file system of the busybox image. */
export function busyboxEntries(busybox: Uint8Array, applets: readonly string[]): readonly TarEntry[] {
  const directory = (path: string, mode = 0o755) => ({ kind: 'directory', path, mode }) as const;
  const text = (path: string, content: string) =>
    ({ kind: 'file', path, content: Buffer.from(content) }) as const;
  return [
    directory('bin'),
    { kind: 'file', path: 'bin/busybox', mode: 0o755, content: busybox },
    ...[...applets]
      .sort()
      .map((name) => ({ kind: 'symlink', path: `bin/${name}`, target: 'busybox' }) as const),
    directory('dev'),
    directory('etc'),
    text('etc/group', 'root:x:0:\nnobody:x:65534:\n'),
    text('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n'),
    directory('home'),
    directory('proc'),
    directory('root', 0o700),
    directory('sys'),
    directory('tmp', 0o1777),
    directory('usr'),
    directory('usr/bin'),
    { kind: 'symlink', path: 'usr/bin/env', target: '../../bin/busybox' }, // for scripts' first lines
    directory('usr/sbin'),
    directory('var'),
    { kind: 'symlink', path: 'var/run', target: '../run' },
    directory('run'),
  ];
}

/** The first of the paths that is there, provided that it is static. */
async function readStatic(
  paths: readonly string[],
  advice: string,
): Promise<{ readonly path: string; readonly bytes: Buffer }> {
  for (const path of paths) {
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw new ClusterError('MISSING_PROGRAM', `${path} cannot be read: ${error.message}`, { cause: error });
    });
    if (bytes === undefined) continue;
    if (isStaticProgram(bytes)) return { path, bytes };
    throw new ClusterError('MISSING_PROGRAM', `${path} is not a static program; ${advice}`);
  }
  throw new ClusterError('MISSING_PROGRAM', `${paths.join(' or ')} is missing; ${advice}`);
}
