import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { joinStream } from '../../../../src/kubelet/server/streaming.js';
import { until } from '../../../support/until.js';

const servers: net.Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listening(server: net.Server): Promise<number> {
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Both ends of a connection, and a streaming server that counts who comes. */
async function scene() {
  const accepted = new Promise<net.Socket>((resolve) => {
    servers.push(net.createServer(resolve));
  });
  const door = servers.pop() as net.Server;
  const near = net.connect(await listening(door), '127.0.0.1');
  const far = await accepted;
  const streams = new Set<net.Socket>();
  const port = await listening(
    net.createServer((socket) => {
      streams.add(socket);
      socket.on('error', () => {}).resume();
      socket.on('close', () => streams.delete(socket));
    }),
  );
  const request = Object.assign(new http.IncomingMessage(far), { method: 'POST' });
  const join = () =>
    joinStream({ request, socket: far, head: Buffer.alloc(0), url: `http://127.0.0.1:${port}/exec/x` });
  return { near, far, streams, join };
}

test('a caller who has gone before the runtime is asked opens nothing there', async () => {
  const { near, far, streams, join } = await scene();
  near.destroy();
  far.destroy();
  await once(far, 'close');
  await expect(join()).rejects.toMatchObject({ status: 499 });
  expect(streams.size).toBe(0);
});

test('one who goes while the runtime is silent takes that connection along', async () => {
  const { far, streams, join } = await scene();
  const joined = join();
  joined.catch(() => {});
  await until(() => expect(streams.size).toBe(1));
  far.destroy();
  await until(() => expect(streams.size).toBe(0));
  await expect(joined).rejects.toMatchObject({ status: 502 });
});
