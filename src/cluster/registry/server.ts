// Serves images to the container runtime over HTTPS, read-only.
// Guarantees: it listens where it is told and nowhere else; close() ends its connections, too.
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { OciImage } from '../images/image.js';
import { answer } from './answer.js';

export interface Registry {
  /** The one it listens on, which matters when 0 was asked for. */
  readonly port: number;
  close(): Promise<void>;
}

export async function openRegistry(options: {
  readonly images: readonly OciImage[];
  /** PEM. */
  readonly tls: { readonly cert: string; readonly key: string };
  readonly host: string;
  readonly port: number;
}): Promise<Registry> {
  const { images, tls, host, port } = options;
  const server = createServer({ ...tls, minVersion: 'TLSv1.2' }, (request, response) => {
    request.resume(); // a body is never wanted
    const [path = ''] = (request.url ?? '').split('?');
    const { method = '', headers } = request;
    const { status, headers: said, body } = answer(images, { method, path, range: headers.range });
    response.writeHead(status, { ...said, 'Content-Length': body.length });
    response.end(method === 'HEAD' ? undefined : body);
  });
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
