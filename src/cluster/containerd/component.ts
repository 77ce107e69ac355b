// containerd as a component of the cluster: its configuration written to fit this machine, and how it is run.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { makePassableDir, makePrivateDir, writePrivate } from '../files.js';
import { PAUSE_IMAGE } from '../images/builtin.js';
import type { Layout } from '../layout.js';
import type { Component } from '../supervisor.js';
import { containerdConfig } from './config.js';
import { askMachine } from './machine.js';

export const containerdConfigFile = (layout: Layout): string =>
  path.join(layout.containerdConfigDir, 'config.toml');
export const registryConfigDir = (layout: Layout): string => path.join(layout.containerdConfigDir, 'certs.d');

export async function containerdComponent(options: {
  readonly layout: Layout;
  readonly cniBinDir: string;
}): Promise<Component> {
  const { layout, cniBinDir } = options;
  for (const dir of [layout.containerdConfigDir, layout.containerdRoot]) await makePrivateDir(dir);
  await makePassableDir(layout.containerdState);
  await mkdir(registryConfigDir(layout), { recursive: true, mode: 0o700 });
  const config = containerdConfig({
    root: layout.containerdRoot,
    state: layout.containerdState,
    socketPath: layout.containerdSocket,
    sandboxImage: PAUSE_IMAGE,
    cniBinDir,
    cniConfDir: layout.cniConfigDir,
    registryConfigDir: registryConfigDir(layout),
    ...(await askMachine(layout.containerdRoot)),
  });
  await writePrivate(containerdConfigFile(layout), config);
  return {
    name: 'containerd',
    command: ['containerd', '--config', containerdConfigFile(layout)],
    speaks: false,
  };
}
