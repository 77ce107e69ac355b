// What the pod network handed to containers that are gone: addresses and published ports are given back.
// Guarantees: only attachments of this cluster's network are looked at; one that cannot be undone does not stop the rest.
import { Cni } from '../cni/cni.js';
import { loadNetworks } from '../cni/load.js';
import type { Layout } from './layout.js';

/** Called when no container of the cluster runs any more. */
export async function collectAttachments(options: {
  readonly layout: Layout;
  readonly cniBinDir: string;
}): Promise<void> {
  const { networks } = await loadNetworks(options.layout.cniConfigDir);
  const cni = new Cni({ binDirs: [options.cniBinDir] });
  for (const list of networks) await cni.gc(list, []);
}
