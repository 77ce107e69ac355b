// Links, addresses and routes made by the core, read back by another implementation of rtnetlink: the npm package netlink.
// Guarantees: what is compared was decoded by code that shares nothing with the core, nor with iproute2.
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

interface Seen {
  readonly links: readonly { readonly name: string }[];
  readonly addresses: readonly { readonly address: string }[];
  readonly routes: readonly { readonly destination: string }[];
}

const READER = fileURLToPath(new URL('../../support/netlinkReader.mjs', import.meta.url));
const MAC = '02:00:00:00:00:01';
const namespaces = netNsPerTest();

/** The package cannot open a socket in another namespace, so it runs in it. */
const read = (ns: TestNetNs) => ns.json<Seen>(process.execPath, READER);

async function setUp() {
  const ns = await namespaces.make();
  const route = namespaces.closing(await openRoute(ns.path));
  await route.apply([
    { do: 'add', kind: 'link', name: 'br0', type: 'bridge', up: true },
    {
      do: 'add',
      kind: 'link',
      name: 'eth0',
      type: 'veth',
      peer: { name: 'port' },
      mtu: 1300,
      mac: MAC,
      up: true,
    },
    { do: 'change', kind: 'link', name: 'port', master: 'br0', up: true },
    { do: 'add', kind: 'address', dev: 'eth0', address: '10.0.0.1/24' },
    { do: 'add', kind: 'address', dev: 'eth0', address: 'fd00::1/64', flags: ['nodad'] },
  ]);
  return { ns, route };
}

describeWith({ root: true, tools: ['nsenter'] }, 'an independent reader', () => {
  test('sees the links with their mtu, hardware address and bridge', async () => {
    const { ns } = await setUp();
    const { links } = await read(ns);
    expect(links.find(({ name }) => name === 'eth0')).toEqual({
      name: 'eth0',
      up: true,
      mtu: 1300,
      mac: MAC,
    });
    expect(links.find(({ name }) => name === 'port')).toMatchObject({ up: true, master: 'br0' });
  });

  test('sees the addresses with their prefix', async () => {
    const { ns } = await setUp();
    const { addresses } = await read(ns);
    expect(addresses).toContainEqual({ dev: 'eth0', address: '10.0.0.1/24' });
    expect(addresses).toContainEqual({ dev: 'eth0', address: `fd00${'0'.repeat(27)}1/64` });
  });

  test('sees the routes with gateway, device, metric, protocol and scope, and no longer once they are deleted', async () => {
    const { ns, route } = await setUp();
    await route.apply([
      { do: 'add', kind: 'route', destination: '10.1.0.0/16', gateway: '10.0.0.2', metric: 50 },
      {
        do: 'add',
        kind: 'route',
        destination: '10.2.0.0/24',
        dev: 'eth0',
        scope: 'link',
        protocol: 'static',
      },
      { do: 'add', kind: 'route', destination: '0.0.0.0/0', gateway: '10.0.0.3' },
    ]);
    const { routes } = await read(ns);
    expect(routes).toContainEqual(
      expect.objectContaining({ destination: '10.1.0.0/16', gateway: '10.0.0.2', dev: 'eth0', metric: 50 }),
    );
    expect(routes).toContainEqual({
      destination: '10.2.0.0/24',
      dev: 'eth0',
      protocol: 'STATIC',
      scope: 'LINK',
    });
    expect(routes).toContainEqual(
      expect.objectContaining({ destination: 'default/0', gateway: '10.0.0.3', scope: 'UNIVERSE' }),
    );
    await route.apply([{ do: 'delete', kind: 'route', destination: '10.1.0.0/16' }]);
    const left = (await read(ns)).routes.map(({ destination }) => destination);
    expect(left).toEqual(expect.arrayContaining(['10.2.0.0/24', 'default/0']));
    expect(left).not.toContain('10.1.0.0/16');
  });
});
