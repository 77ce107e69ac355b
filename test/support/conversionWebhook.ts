// A conversion webhook on a loopback port: v1 has spec.address "host:port", v2 has spec.host and spec.port.
// Guarantees: real HTTPS; every question is remembered; closed by close().
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeTestPki } from './testPki.js';

// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
type Data = any;

interface Review {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly Data[];
}

interface ConversionWebhook {
  readonly url: string;
  readonly port: number;
  readonly caBundle: string;
  /** What it was asked, in order. */
  readonly asked: Review[];
  /** What becomes of an answer before it is sent; it may wait, throw or answer text. */
  change: (review: Data, request: Review) => Data;
  /** For spec.conversion. */
  conversion(more?: object): object;
  close(): Promise<void>;
}

function converted(object: Data, desiredAPIVersion: string): Data {
  const { address, host, port, ...rest } = object.spec ?? {};
  const isOlder = desiredAPIVersion.endsWith('/v1');
  const [name, number] = isOlder ? [host, port] : String(address ?? ':').split(':');
  const spec = isOlder ? { address: `${name}:${number}` } : { host: name, port: Number(number) };
  return { ...object, apiVersion: desiredAPIVersion, spec: { ...rest, ...spec } };
}

export async function startConversionWebhook(): Promise<ConversionWebhook> {
  const pki = await makeTestPki();
  const asked: Review[] = [];
  const webhook: { change: ConversionWebhook['change'] } = { change: (review) => review };
  const answer = async (text: string): Promise<{ status: number; body: string }> => {
    const { apiVersion, kind, request } = JSON.parse(text) as Data;
    asked.push(request);
    const convertedObjects = request.objects.map((object: Data) =>
      converted(object, request.desiredAPIVersion),
    );
    const response = { uid: request.uid, result: { status: 'Success' }, convertedObjects };
    const changed = await webhook.change({ apiVersion, kind, response }, request);
    if (typeof changed === 'number') return { status: changed, body: 'out of order' };
    return { status: 200, body: typeof changed === 'string' ? changed : JSON.stringify(changed) };
  };
  const server = https.createServer(await pki.server(), async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { status, body } = await answer(Buffer.concat(parts).toString());
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `https://127.0.0.1:${port}/convert`;
  const caBundle = Buffer.from(pki.ca).toString('base64');
  return Object.assign(webhook, {
    url,
    port,
    caBundle,
    asked,
    conversion: (more: object = {}) => ({
      strategy: 'Webhook',
      webhook: { clientConfig: { url, caBundle }, conversionReviewVersions: ['v1'], ...more },
    }),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  });
}
