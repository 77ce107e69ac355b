// What travels through the proxy in either direction, byte by byte.
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type Forwarded, forward } from '../../../../src/apiserver/subresources/forward.js';

const servers: net.Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Asks a server that answers with these bytes whatever it is asked; answers what it got, too. */
async function ask(answer: string, sent: Partial<Forwarded> = {}) {
  let received = '';
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      received += data.toString('latin1');
      if (received.includes('\r\n\r\n')) socket.end(answer);
    });
  });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const target = {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    what: 'pod "web"',
    isProxied: true,
    reach: { allowLoopback: true },
  };
  const request = {
    method: 'GET',
    path: '/',
    headers: {},
    signal: AbortSignal.timeout(10_000),
    upgrade: false,
  };
  const response = await forward(target, { ...request, ...sent });
  const pieces: Uint8Array[] = [];
  for await (const piece of Buffer.isBuffer(response.body) ? [response.body] : response.body)
    pieces.push(piece);
  const headers = received
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(':')[0]?.toLowerCase());
  response.tunnel?.socket.destroy();
  return { response, text: Buffer.concat(pieces).toString(), received, headers };
}

describe('an answer', () => {
  test.each([
    [
      'says two lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    ],
    ['says its length twice', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\nhello'],
    ['ends its lines otherwise', 'HTTP/1.1 200 OK\nContent-Length: 5\n\nhello'],
    [
      'switches protocols unasked',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
    ],
  ])('that %s is none', async (_, answer) => {
    await expect(ask(answer)).rejects.toMatchObject({ code: 503 });
  });
  test('loses what belongs to its connection', async () => {
    const { response, text } = await ask(
      'HTTP/1.1 200 OK\r\nConnection: x-own, close\r\nX-Own: a\r\nX-Other: b\r\nKeep-Alive: timeout=5\r\n' +
        'Proxy-Authenticate: Basic\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    );
    expect(response.headers).toEqual({ 'x-other': 'b' });
    expect(text).toBe('hello');
  });
});

describe('a request', () => {
  test('loses credentials and what belongs to its connection', async () => {
    const { headers } = await ask('HTTP/1.1 204 No Content\r\n\r\n', {
      headers: {
        authorization: 'Bearer a',
        'proxy-authorization': 'Basic b',
        'impersonate-user': 'c',
        connection: 'keep-alive, X-Own',
        'x-own': 'd',
        te: 'trailers',
        'keep-alive': 'timeout=5',
        'x-other': 'e',
        upgrade: 'h2c',
      },
    });
    for (const gone of ['authorization', 'proxy-authorization', 'impersonate-user', 'x-own', 'te', 'upgrade'])
      expect(headers).not.toContain(gone);
    expect(headers).toContain('x-other');
  });
  test('for a WebSocket loses the token among its subprotocols', async () => {
    const { response, received } = await ask(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      {
        upgrade: true,
        headers: {
          connection: 'keep-alive, Upgrade',
          upgrade: 'websocket',
          'sec-websocket-protocol': 'base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io',
        },
      },
    );
    expect(response.status).toBe(101);
    expect(received.toLowerCase()).toContain('sec-websocket-protocol: v5.channel.k8s.io\r\n');
    expect(received).not.toContain('c2VjcmV0');
  });
});
