// Nodes that a cluster no longer has: their objects and their data.
// Guarantees: data is removed only after the cluster has forgotten the node, so that what fails is done by the next start.
import { readdir, rm } from 'node:fs/promises';
import { NODES } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import { withApi } from '../api.js';
import type { Layout } from '../layout.js';
import type { Settings } from '../settings.js';
import { localNodes, placeOf } from './localNode.js';

/** Called when the control plane answers; nothing of these nodes runs. Their pods are made anew elsewhere. */
export async function retireNodes(layout: Layout, settings: Settings): Promise<void> {
  const kept = new Set(localNodes(layout, settings).map(({ name }) => name));
  const found = await readdir(layout.nodesDir).catch((): string[] => []);
  for (const name of found.filter((one) => !kept.has(one))) {
    await withApi(layout.adminKubeconfig, (client) => client.of(NODES).delete({ name })).catch(
      (error: unknown) => {
        if (!ApiError.is(error, 'NotFound')) throw error;
      },
    );
    await rm(placeOf(layout, name).layout.dataDir, { recursive: true, force: true });
  }
}
