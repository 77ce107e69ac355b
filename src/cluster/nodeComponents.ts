// What makes a machine a node, wherever its control plane runs: its directories and its processes.
import { mkdir } from 'node:fs/promises';
import { containerdComponent } from './containerd/component.js';
import { makePrivateDir } from './files.js';
import type { Layout } from './layout.js';
import { makeRunDir } from './state.js';
import { ownComponent, type StartOptions } from './supervision.js';
import type { Component } from './supervisor.js';

export async function prepareNodeDirs(layout: Layout): Promise<void> {
  await makeRunDir(layout);
  for (const dir of [layout.logDir, layout.kubeletDir]) await makePrivateDir(dir);
  for (const dir of [layout.manifestDir, layout.cniConfigDir, layout.podLogDir]) {
    await mkdir(dir, { recursive: true, mode: 0o700 });
  }
}

/** The runtime, and the agent that uses it. */
export async function nodeComponents(
  options: StartOptions,
  nodeIps: readonly string[],
): Promise<readonly [Component, Component]> {
  const { layout, cniBinDir } = options;
  return [await containerdComponent({ layout, cniBinDir }), ownComponent(options, 'agent', nodeIps)];
}
