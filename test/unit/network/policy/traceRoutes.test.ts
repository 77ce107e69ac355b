// What a node answers about traces: its three calls and nothing else, and only of what can be a packet.
import http from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Listening, listen } from '../../../../src/client/listen.js';
import { TRACE_PATH, traceRoutes } from '../../../../src/network/policy/traceRoutes.js';

const PROBE = { protocol: 'tcp', from: '10.0.0.1', fromPort: 61000, to: '10.0.0.2', toPort: 80 };
const WAY = { decisions: [], end: { what: 'left' }, isStale: false } as const;

let server: Listening;
beforeAll(async () => {
  const routes = traceRoutes({
    tracer: { begin: async () => 'id-1', end: async () => WAY },
    table: 'policies',
    netnsOf: async ({ name }) => {
      throw new Error(`no pod ${name}`);
    },
  });
  const handle: http.RequestListener = (request, response) => {
    if (!routes(request, response)) response.writeHead(404).end('not found');
  };
  server = await listen(http.createServer(handle), { host: '127.0.0.1', port: 0 });
});
afterAll(() => server.close());

const ask = async (path: string, body: unknown, method = 'POST') => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const url = `http://127.0.0.1:${server.port}${path}`;
  const answer = await fetch(url, { method, ...(method === 'POST' ? { body: text } : {}) });
  return { status: answer.status, text: await answer.text() };
};

test('answers its calls', async () => {
  expect(await ask(`${TRACE_PATH}/begin`, { probe: PROBE })).toEqual({ status: 200, text: '{"id":"id-1"}' });
  const { text } = await ask(`${TRACE_PATH}/end?x`, { id: 'id-1' });
  expect(JSON.parse(text)).toEqual({ ...WAY, table: 'policies' });
  const send = await ask(`${TRACE_PATH}/send`, { probe: PROBE, pod: { namespace: 'a', name: 'x' } });
  expect(send).toEqual({ status: 500, text: 'no pod x\n' });
});

test.each([
  ['another path', '/network-policy', { probe: PROBE }, 404],
  ['another call', `${TRACE_PATH}/constructor`, { probe: PROBE }, 404],
  ['no JSON', `${TRACE_PATH}/begin`, '{', 400],
  ['no object', `${TRACE_PATH}/begin`, 'null', 400],
  ['no packet', `${TRACE_PATH}/begin`, {}, 400],
  ['a protocol that has no ports', `${TRACE_PATH}/begin`, { probe: { ...PROBE, protocol: 'icmp' } }, 400],
  ['an address that is none', `${TRACE_PATH}/begin`, { probe: { ...PROBE, from: 'host' } }, 400],
  ['a port that is none', `${TRACE_PATH}/begin`, { probe: { ...PROBE, toPort: 65536 } }, 400],
  ['a long body', `${TRACE_PATH}/begin`, 'x'.repeat(5000), 400],
])('refuses %s', async (_, path, body, status) => {
  expect((await ask(path, body)).status).toBe(status);
});

test('knows no other method', async () => {
  expect((await ask(`${TRACE_PATH}/begin`, undefined, 'GET')).status).toBe(404);
});
