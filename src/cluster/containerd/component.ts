// containerd as a component of the cluster: its configuration written to fit this machine, and how it is run.
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, statfs } from 'node:fs/promises';
import path from 'node:path';
import { makePrivateDir, writePrivate } from '../files.js';
import { PAUSE_IMAGE } from '../images/builtin.js';
import type { Layout } from '../layout.js';
import type { Component } from '../supervisor.js';
import { containerdConfig } from './config.js';

const OVERLAYFS_MAGIC = 0x794c7630;
const CAP_SYS_RESOURCE = 24n;

export const containerdConfigFile = (layout: Layout): string =>
  path.join(layout.containerdConfigDir, 'config.toml');
export const registryConfigDir = (layout: Layout): string => path.join(layout.containerdConfigDir, 'certs.d');

export async function containerdComponent(options: {
  readonly layout: Layout;
  readonly cniBinDir: string;
}): Promise<Component> {
  const { layout, cniBinDir } = options;
  for (const dir of [layout.containerdConfigDir, layout.containerdRoot, layout.containerdState])
    await makePrivateDir(dir);
  await mkdir(registryConfigDir(layout), { recursive: true, mode: 0o700 });
  const config = containerdConfig({
    root: layout.containerdRoot,
    state: layout.containerdState,
    socketPath: layout.containerdSocket,
    sandboxImage: PAUSE_IMAGE,
    cniBinDir,
    cniConfDir: layout.cniConfigDir,
    registryConfigDir: registryConfigDir(layout),
    snapshotter: (await statfs(layout.containerdRoot)).type === OVERLAYFS_MAGIC ? 'native' : 'overlayfs',
    restrictOomScoreAdj: !mayRaiseLimits(readFileSync('/proc/self/status', 'utf8')),
    disableApparmor: !existsSync('/sys/kernel/security/apparmor'),
  });
  await writePrivate(containerdConfigFile(layout), config);
  return {
    name: 'containerd',
    command: ['containerd', '--config', containerdConfigFile(layout)],
    speaks: false,
  };
}

/** Whether the process with this /proc/<pid>/status has CAP_SYS_RESOURCE. Pure. */
export function mayRaiseLimits(status: string): boolean {
  const effective = BigInt(`0x${/^CapEff:\s+([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  return ((effective >> CAP_SYS_RESOURCE) & 1n) === 1n;
}
