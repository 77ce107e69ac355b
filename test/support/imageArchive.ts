// A container image made here, of the static busybox: no registry is needed.
// Guarantees: an archive that both `podman load` and `ctr images import` take; the same input gives the same image.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export const BUSYBOX = '/bin/busybox';
export const IMAGE = 'localhost/trellis/busybox:test';
const APPLETS = ['sh', 'sleep', 'ping', 'nc', 'ip', 'cat', 'echo'];

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

function pack(from: string, to: string): void {
  execFileSync('tar', ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '-C', from, '-cf', to, '.']);
}

/** Writes the archive into a folder and returns its path. The image sleeps, so it also serves as the pause image. */
export function makeImageArchive(directory: string): string {
  const [root, image] = [path.join(directory, 'image-root'), path.join(directory, 'image')];
  for (const name of ['bin', 'etc', 'proc', 'sys', 'dev', 'tmp'])
    mkdirSync(path.join(root, name), { recursive: true });
  mkdirSync(image);
  copyFileSync(BUSYBOX, path.join(root, 'bin', 'busybox'));
  for (const applet of APPLETS) symlinkSync('busybox', path.join(root, 'bin', applet));
  pack(root, path.join(image, 'layer.tar'));
  const config = JSON.stringify({
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: { Cmd: ['/bin/sleep', '100000'], Env: ['PATH=/bin'] },
    rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(readFileSync(path.join(image, 'layer.tar')))}`] },
  });
  const configName = `${sha256(config)}.json`;
  writeFileSync(path.join(image, configName), config);
  const manifest = [{ Config: configName, RepoTags: [IMAGE], Layers: ['layer.tar'] }];
  writeFileSync(path.join(image, 'manifest.json'), JSON.stringify(manifest));
  const archive = path.join(directory, 'image.tar');
  pack(image, archive);
  return archive;
}
