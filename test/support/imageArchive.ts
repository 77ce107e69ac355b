// A container image made here, of the static busybox: no registry is needed.
// Guarantees: an archive that both `podman load` and `ctr images import` take; the same input gives the same image.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { busyboxEntries } from '../../src/cluster/images/builtin.js';
import { buildImage, ociArchitecture } from '../../src/cluster/images/image.js';
import { type TarEntry, writeTar } from '../../src/cluster/images/tar.js';

export const BUSYBOX = '/bin/busybox';
export const IMAGE = 'localhost/trellis/busybox:test';
/** A user whom the image's own file puts into a group. */
export const MEMBER = { uid: 4321, group: 50 };
const APPLETS = ['sh', 'sleep', 'ping', 'nc', 'ip', 'cat', 'echo'];

/** Writes the archive into a folder and returns its path. The image sleeps, so it also serves as the pause image. */
export function makeImageArchive(directory: string, name = IMAGE): string {
  const image = buildImage({
    name: 'busybox',
    tags: ['test'],
    architecture: ociArchitecture(process.arch),
    entries: busyboxEntries(readFileSync(BUSYBOX), APPLETS).map(withMember),
    run: { Cmd: ['/bin/sleep', '100000'], Env: ['PATH=/bin', `IMAGE=${name}`] },
  });
  const config = `${image.config.digest.replace('sha256:', '')}.json`;
  const manifest = [{ Config: config, RepoTags: [name], Layers: ['layer.tar'] }];
  const archive = path.join(directory, 'image.tar');
  writeFileSync(
    archive,
    writeTar([
      { kind: 'file', path: 'layer.tar', content: image.layer.bytes },
      { kind: 'file', path: config, content: image.config.bytes },
      { kind: 'file', path: 'manifest.json', content: Buffer.from(JSON.stringify(manifest)) },
    ]),
  );
  return archive;
}

function withMember(entry: TarEntry): TarEntry {
  const added: Readonly<Record<string, string>> = {
    'etc/passwd': `member:x:${MEMBER.uid}:${MEMBER.uid}:member:/home:/bin/sh\n`,
    'etc/group': `crew:x:${MEMBER.group}:member\n`,
  };
  const more = added[entry.path];
  if (entry.kind !== 'file' || more === undefined) return entry;
  return { ...entry, content: Buffer.concat([entry.content, Buffer.from(more)]) };
}
