// The API of a cluster on this machine, as its administrator.
import type { Client } from '../client/client.js';
import { transportOf } from '../client/kubeconfig.js';
import { openClient } from '../client/typedClient.js';
import type { Layout } from './layout.js';

/** What was opened for the work ends with it. */
export async function asAdmin<T>(layout: Layout, work: (client: Client) => Promise<T>): Promise<T> {
  const client = openClient(await transportOf(layout.adminKubeconfig));
  try {
    return await work(client);
  } finally {
    client.close();
  }
}
