// Serves images to the container runtime over HTTPS, read-only.
// Guarantees: it listens where it is told and nowhere else; close() ends its connections, too.
import { createServer } from 'node:https';
import type { PemPair } from '../../api/certificates/keyPair.js';
import { type Listening, listen } from '../../client/listen.js';
import type { OciImage } from '../images/image.js';
import { answer } from './answer.js';

export async function openRegistry(options: {
  readonly images: readonly OciImage[];
  /** PEM. */
  readonly tls: PemPair;
  readonly host: string;
  readonly port: number;
}): Promise<Listening> {
  const { images, tls, host, port } = options;
  const server = createServer({ ...tls, minVersion: 'TLSv1.2' }, (request, response) => {
    request.resume(); // a body is never wanted
    const [path = ''] = (request.url ?? '').split('?');
    const { method = '', headers } = request;
    const { status, headers: said, body } = answer(images, { method, path, range: headers.range });
    response.writeHead(status, { ...said, 'Content-Length': body.length });
    response.end(method === 'HEAD' ? undefined : body);
  });
  return listen(server, { host, port });
}
