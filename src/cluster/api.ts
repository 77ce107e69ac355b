// A client of a cluster's API, as the user of a kubeconfig.
import type { Client } from '../client/client.js';
import { transportOf } from '../client/kubeconfig.js';
import { openClient } from '../client/typedClient.js';

/** What was opened for the work ends with it. */
export async function withApi<T>(kubeconfig: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = openClient(await transportOf(kubeconfig));
  try {
    return await work(client);
  } finally {
    client.close();
  }
}
