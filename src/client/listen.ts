// The port of a small HTTP server: opened, told, and closed with every connection it has.
// Guarantees: a port that cannot be had rejects with the system's own error; nothing is left open after close.
import type http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Listening {
  /** The one it listens on, which matters when 0 was asked for. */
  readonly port: number;
  close(): Promise<void>;
}

export async function listen(
  server: http.Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // All addresses are those of both families, as in Kubernetes' own programs; without a host Node takes what there is.
    server.listen(host === '0.0.0.0' ? { port } : { host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
