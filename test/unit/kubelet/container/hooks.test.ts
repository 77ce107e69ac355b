// Hooks over HTTP against servers on loopback.
// Guarantees: a hook has run when it was answered, and has failed when it was not.
import net, { type AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { RuntimeService } from '../../../../src/cri/runtime.js';
import { runHook } from '../../../../src/kubelet/container/hooks.js';
import { noEvents } from '../../../../src/kubelet/events.js';
import { podOf } from '../support.js';

const servers: net.Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

function answering(text: string): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = [];
  const server = net.createServer((socket) => {
    socket.once('data', (bytes) => {
      asked.push(bytes.toString().split('\r\n')[0] ?? '');
      socket.end(text);
    });
  });
  servers.push(server);
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve({ port: (server.address() as AddressInfo).port, asked })),
  );
}

const hook = (port: number) =>
  runHook(
    { runtime: {} as RuntimeService, events: noEvents },
    { httpGet: { path: 'echo?msg=hook', port } },
    { pod: podOf(), container: { name: 'main' }, containerId: 'a', podIp: '127.0.0.1' },
  );

test.each([
  ['an answer', 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok'],
  ['an answer that is an error', 'HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n\r\n'],
  ['an answer without carriage returns', 'HTTP/1.0 200 OK\nA: b\n\nok'],
])('%s: the hook has run', async (_, text) => {
  const { port, asked } = await answering(text);
  await hook(port);
  expect(asked).toEqual(['GET /echo?msg=hook HTTP/1.1']);
});

test('no answer: the hook has failed', async () => {
  const { port } = await answering('');
  await expect(hook(port)).rejects.toThrow('socket hang up');
});
