// The configuration files of the components, as `--config` gave them, in the cluster's directory.
// Guarantees: what a file says stays in force for later starts, until another is given; what reads a file is loaded only
// where there is one.
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { KubeletConfig } from '../kubelet/config.js';
import type { ConfigOverrides } from '../proxy/config.js';
import type { SchedulerConfiguration } from '../scheduler/configuration/configuration.js';
import { makePrivateDir, readIfThere, writePrivate } from './files.js';
import type { Layout } from './layout.js';

const FILES = {
  KubeletConfiguration: 'kubelet.yaml',
  KubeProxyConfiguration: 'proxy.yaml',
  KubeSchedulerConfiguration: 'scheduler.yaml',
};
export type ComponentKind = keyof typeof FILES;

/** What another file said before is gone. */
export async function saveComponents(
  layout: Layout,
  components: ReadonlyMap<ComponentKind, string>,
): Promise<void> {
  await makePrivateDir(layout.configDir);
  for (const kind of Object.keys(FILES) as ComponentKind[]) {
    const text = components.get(kind);
    const file = fileOf(layout, kind);
    if (text === undefined) await rm(file, { force: true });
    else await writePrivate(file, text);
  }
}

/** A node of the same machine is configured as the machine itself is. */
export async function shareComponents(from: Layout, to: Layout): Promise<void> {
  const kinds = Object.keys(FILES) as ComponentKind[];
  const texts = await Promise.all(kinds.map((kind) => readIfThere(fileOf(from, kind))));
  const given = kinds.flatMap((kind, at): [ComponentKind, string][] => {
    const text = texts[at];
    return text === undefined ? [] : [[kind, text]];
  });
  await saveComponents(to, new Map(given));
}

const fileOf = (layout: Layout, kind: ComponentKind) => path.join(layout.configDir, FILES[kind]);

type Readers = typeof import('./configuration.js');

async function saved<T>(
  layout: Layout,
  kind: ComponentKind,
  read: (readers: Readers, text: string) => T,
): Promise<T | Record<string, never>> {
  const text = await readIfThere(fileOf(layout, kind));
  return text === undefined ? {} : read(await import('./configuration.js'), text);
}

export const savedKubelet = (layout: Layout): Promise<Partial<KubeletConfig>> =>
  saved(layout, 'KubeletConfiguration', ({ kubeletOf }, text) => kubeletOf(text));
/** Of the section of the mode that the cluster has settled. */
export const savedProxy = (layout: Layout, mode: ConfigOverrides['mode']): Promise<ConfigOverrides> =>
  saved(layout, 'KubeProxyConfiguration', ({ proxyOf }, text) => proxyOf(text, mode));
export const savedScheduler = (layout: Layout): Promise<Partial<SchedulerConfiguration>> =>
  saved(layout, 'KubeSchedulerConfiguration', ({ schedulerOf }, text) => schedulerOf(text));
