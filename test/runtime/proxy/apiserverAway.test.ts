// A proxy whose API server goes away for a while: the rules stay, and what changed meanwhile arrives afterwards.
import { once } from 'node:events';
import net from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { NftablesMode } from '../../../proxy-modes/nftables/mode.js';
import { silentLog } from '../../../src/api/log.js';
import { ENDPOINT_SLICES, SERVICES } from '../../../src/api/resources.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { openInformers } from '../../../src/client/sharedInformers.js';
import { openClient } from '../../../src/client/typedClient.js';
import { FakeNft } from '../../../src/kernel/nftables/fake.js';
import { NodeProxy } from '../../../src/proxy/proxy.js';
import { startTestApiServer } from '../../support/testApiServer.js';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A port that leads to another one, and can be closed and opened again. */
async function relayTo(port: number) {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((near) => {
    const far = net.connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy()).on('close', () => sockets.delete(socket));
      socket.pipe(other);
    }
  });
  const open = async (at: number) => {
    server.listen(at, '127.0.0.1');
    await once(server, 'listening');
  };
  await open(0);
  const { port: own } = server.address() as net.AddressInfo;
  const close = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  closers.push(close);
  return { port: own, close, open: () => open(own) };
}

const service = (name: string, ip: string) => ({
  metadata: { name, namespace: 'default' },
  spec: { clusterIP: ip, clusterIPs: [ip], ports: [{ port: 80 }] },
});
const slice = (name: string) => ({
  metadata: { name: `${name}-1`, namespace: 'default', labels: { 'kubernetes.io/service-name': name } },
  addressType: 'IPv4',
  ports: [{ name: '', port: 8080, protocol: 'TCP' }],
  endpoints: [{ addresses: ['10.244.0.2'] }],
});

test('keeps the rules while the API server is away, and follows what changed once it is back', async () => {
  const api = await startTestApiServer();
  closers.push(() => api.close());
  const relay = await relayTo(api.server.port);
  const admin = openClient(api.transport);
  const add = async (name: string, ip: string) => {
    await admin.of(SERVICES).create(service(name, ip));
    await admin.of(ENDPOINT_SLICES).create(slice(name));
  };
  await add('one', '10.96.0.1');
  const transport = openHttps({ server: `https://127.0.0.1:${relay.port}`, ca: api.pki.ca, ...api.admin });
  const client = openClient(transport);
  closers.push(() => client.close());
  const informers = openInformers(client);
  closers.push(() => informers.stop());
  const nft = new FakeNft();
  const mode = new NftablesMode({ nft, table: 't', families: ['ip'], traffic: {} });
  const proxy = new NodeProxy({ informers, nodeName: 'n1', mode, log: silentLog });
  closers.push(() => proxy.stop());
  await proxy.synced();
  const served = async () =>
    (await nft.elements({ family: 'ip', table: 't', set: 'service-ips' })).map(({ key }) => key).sort();
  expect(await served()).toEqual(['10.96.0.1 . tcp . 80']);

  await relay.close();
  await add('two', '10.96.0.2');
  await admin.of(SERVICES).delete({ namespace: 'default', name: 'one' });
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await served()).toEqual(['10.96.0.1 . tcp . 80']);

  await relay.open();
  await vi.waitFor(async () => expect(await served()).toEqual(['10.96.0.2 . tcp . 80']), { timeout: 60_000 });
  expect(proxy.metrics.failures).toBe(0);
}, 120_000);
