// What the pod network handed to containers that are gone: addresses and published ports are given back.
// Guarantees: only what belongs to sandboxes of this cluster is looked at; nothing is left of them where libcni keeps results.
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { DEFAULT_CACHE_DIR } from '../cni/cache.js';
import { Cni } from '../cni/cni.js';
import { loadNetworks } from '../cni/load.js';
import { removeIfEmpty } from './files.js';
import type { Layout } from './layout.js';

/** The network that containerd itself makes for every sandbox's `lo`. */
const LOOPBACK = { network: 'cni-loopback', ifName: 'lo' };

/** Called when no container of the cluster runs any more. */
export async function collectAttachments(options: {
  readonly layout: Layout;
  readonly cniBinDir: string;
}): Promise<void> {
  const { layout, cniBinDir } = options;
  const { networks } = await loadNetworks(layout.cniConfigDir);
  const cni = new Cni({ binDirs: [cniBinDir] });
  const sandboxes = new Set(await sandboxesOf(layout));
  for (const { network, containerId } of await cni.cache.list())
    if (network === layout.network) sandboxes.add(containerId);
  for (const list of networks) await cni.gc(list, []);
  for (const containerId of sandboxes)
    await cni.cache.remove(LOOPBACK.network, { containerId, ifName: LOOPBACK.ifName });
  // containerd's libcni has no setting for the place; it is left as it was found when nobody else uses it. A node of
  // another cluster may have its own laid over it, which would go with the directory.
  await removeIfEmpty(path.join(DEFAULT_CACHE_DIR, 'results'));
  if (!(await hasOthers(layout))) await removeIfEmpty(DEFAULT_CACHE_DIR);
}

/** Whether another cluster runs on this machine. */
async function hasOthers({ runDir, id }: Layout): Promise<boolean> {
  const clusters = await readdir(path.dirname(runDir)).catch((): string[] => []);
  return clusters.some((name) => name !== id);
}

async function sandboxesOf({ containerdState }: Layout): Promise<string[]> {
  return readdir(path.join(containerdState, 'io.containerd.grpc.v1.cri', 'sandboxes')).catch(() => []);
}
