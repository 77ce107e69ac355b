// The lean gRPC client of the creates benchmark, against Node's own HTTP/2: what it says is a gRPC call.
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { GrpcWire, grpcCall } from '../../../../bench/apiserver/grpcWire.js';
import { issue, makeAuthority } from '../../../../src/cluster/pki/authority.js';

let server: Http2SecureServer | undefined;
afterEach(() => server?.close());

test('makes calls one after the other over one connection, and tells a refusal from an answer', async () => {
  const ca = await makeAuthority('ca', Date.now());
  const own = await issue(ca, { commonName: 'localhost', hosts: ['127.0.0.1'] }, Date.now());
  const heard: unknown[] = [];
  server = createSecureServer({ cert: own.cert, key: own.key });
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const body = Buffer.concat(chunks);
      heard.push([
        headers[':method'],
        headers[':path'],
        headers['content-type'],
        headers['te'],
        body.toString('latin1'),
      ]);
      if (body.includes('refuse')) return stream.respond({ 'grpc-status': '7' }, { endStream: true });
      stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      return stream.end(Buffer.from([0, 0, 0, 0, 0]));
    });
  });
  const { port } = await new Promise<AddressInfo>((resolve) => {
    server?.listen(0, '127.0.0.1', () => resolve(server?.address() as AddressInfo));
  });
  const tls = { ca: ca.cert, cert: own.cert, key: own.key };
  const wire = await GrpcWire.open({ tls } as never, port);
  const call = (text: string) => wire.ask(grpcCall('/etcdserverpb.KV/Put', Buffer.from(text)));
  expect(await call('one')).toEqual({ status: 200, bytes: 5 });
  expect(await call('two')).toEqual({ status: 200, bytes: 5 });
  expect((await call('refuse')).status).toBe(500);
  wire.close();
  const request = ['POST', '/etcdserverpb.KV/Put', 'application/grpc', 'trailers'];
  expect(heard).toEqual([
    [...request, '\0\0\0\0\x03one'],
    [...request, '\0\0\0\0\x03two'],
    [...request, '\0\0\0\0\x06refuse'],
  ]);
});
