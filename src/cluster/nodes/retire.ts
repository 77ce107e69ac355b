// Nodes that a cluster no longer has: their objects and their data.
// Guarantees: data is removed only after the cluster has forgotten the node, so that what fails is done by the next start.
import { readdir, rm } from 'node:fs/promises';
import { NODES, PODS } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import { withApi } from '../api.js';
import type { Layout } from '../layout.js';
import type { Settings } from '../settings.js';
import { localNodes, placeOf } from './localNode.js';

/** Called when the control plane answers; nothing of these nodes runs. Their pods are made anew elsewhere. */
export async function retireNodes(layout: Layout, settings: Settings): Promise<void> {
  const kept = new Set(localNodes(layout, settings).map(({ name }) => name));
  const found = await readdir(layout.nodesDir).catch((): string[] => []);
  for (const name of found.filter((one) => !kept.has(one))) {
    await withApi(layout.adminKubeconfig, (client) => forget(client, name));
    await rm(placeOf(layout, name).layout.dataDir, { recursive: true, force: true });
  }
}

/** At once: a collector would give a node that was deleted time to come back. */
async function forget(client: Client, node: string): Promise<void> {
  await unlessGone(client.of(NODES).delete({ name: node }));
  const { items } = await client.of(PODS).list({ fieldSelector: `spec.nodeName=${node}` });
  for (const { metadata } of items)
    await unlessGone(client.of(PODS).delete(metadata, { gracePeriodSeconds: 0 }));
}

async function unlessGone(deletion: Promise<void>): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!ApiError.is(error, 'NotFound')) throw error;
  });
}
