// What RoutePort promises, as tests that the fake and the real kernel both pass.
// Guarantees: whatever is asked here behaves the same in both.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RouteEvent, RoutePort } from '../../../src/kernel/route/port.js';
import { until } from '../until.js';

export function routeContract(
  name: string,
  open: () => Promise<{ port: RoutePort; dispose(): Promise<void> }>,
): void {
  describe(`${name}: the contract of rtnetlink`, () => {
    let port: RoutePort;
    let dispose: () => Promise<void>;
    beforeEach(async () => {
      ({ port, dispose } = await open());
    });
    afterEach(() => dispose());

    const names = async () => (await port.links()).map((link) => link.name).sort();
    const bridge = (link = 'br0') => ({ do: 'add', kind: 'link', name: link, type: 'bridge' }) as const;

    test('starts with a loopback that is down', async () => {
      expect(await port.links()).toMatchObject([{ index: 1, name: 'lo', loopback: true, up: false }]);
      expect(await port.addresses()).toEqual([]);
      expect(await port.rules({ family: 'inet' })).toMatchObject([
        { priority: 0, table: 'local' },
        { priority: 32766, table: 'main' },
        { priority: 32767, table: 'default' },
      ]);
    });

    test('adds, finds, changes, renames and deletes links', async () => {
      await port.apply([
        { ...bridge(), mtu: 1400 },
        { do: 'change', kind: 'link', name: 'br0', up: true, alias: 'x' },
        { do: 'change', kind: 'link', name: 'br0', newName: 'br1' },
      ]);
      expect(await port.link('br0')).toBeUndefined();
      expect(await port.link('br1')).toMatchObject({ type: 'bridge', mtu: 1400, up: true, alias: 'x' });
      await port.apply([{ do: 'delete', kind: 'link', name: 'br1' }]);
      expect(await names()).toEqual(['lo']);
    });

    test('makes both ends of a veth pair and takes both away', async () => {
      await port.apply([
        bridge(),
        { do: 'add', kind: 'link', name: 'a', peer: { name: 'b' }, master: 'br0' },
      ]);
      const [a, b, br0] = [await port.link('a'), await port.link('b'), await port.link('br0')];
      expect(a).toMatchObject({ type: 'veth', master: br0?.index });
      expect(b).toMatchObject({ type: 'veth', parent: a?.index });
      await port.apply([{ do: 'delete', kind: 'link', name: 'b' }]);
      expect(await names()).toEqual(['br0', 'lo']);
    });

    test('refuses what exists and what is missing, by index, and does the rest', async () => {
      const failed = port.apply([
        bridge(),
        bridge(),
        { do: 'delete', kind: 'link', name: 'gone' },
        { do: 'add', kind: 'address', dev: 'gone', address: '10.0.0.1/24' },
        { do: 'delete', kind: 'address', dev: 'br0', address: '10.0.0.1/24' },
        { do: 'delete', kind: 'route', destination: '10.0.0.0/8' },
        { do: 'delete', kind: 'rule', priority: 5, table: 5 },
        { do: 'delete', kind: 'neighbour', dev: 'br0', address: '10.0.0.9' },
        bridge('br1'),
      ]);
      await expect(failed).rejects.toMatchObject({
        name: 'KernelError',
        code: 'EEXIST',
        errno: 17,
        index: 1,
        operation: 'add link br0',
        failures: [
          { code: 'EEXIST', index: 1 },
          { code: 'ENODEV', index: 2 },
          { code: 'ENODEV', index: 3 },
          { code: 'EADDRNOTAVAIL', index: 4 },
          { code: 'ESRCH', index: 5 },
          { code: 'ENOENT', index: 6 },
          { code: 'ENOENT', index: 7 },
        ],
      });
      expect(await names()).toEqual(['br0', 'br1', 'lo']);
    });

    test('forgives what existsOk and missingOk say', async () => {
      await port.apply([
        bridge(),
        { ...bridge(), existsOk: true },
        { do: 'delete', kind: 'link', name: 'gone', missingOk: true },
        { do: 'delete', kind: 'address', dev: 'gone', address: '10.0.0.1/24', missingOk: true },
        { do: 'delete', kind: 'route', destination: '10.0.0.0/8', missingOk: true },
      ]);
    });

    test('keeps addresses with their link', async () => {
      await port.apply([
        bridge(),
        { do: 'add', kind: 'address', dev: 'br0', address: '10.0.0.1/24' },
        { do: 'add', kind: 'address', dev: 'br0', address: 'fd00::1/64', flags: ['nodad'] },
        { do: 'replace', kind: 'address', dev: 'br0', address: '10.0.0.1/24' },
      ]);
      const texts = async (filter?: Parameters<RoutePort['addresses']>[0]) =>
        (await port.addresses(filter)).map(({ address }) => address);
      expect(await texts({ dev: 'br0' })).toEqual(['10.0.0.1/24', 'fd00::1/64']);
      expect(await texts({ family: 'inet6' })).toEqual(['fd00::1/64']);
      await port.apply([{ do: 'delete', kind: 'link', name: 'br0' }]);
      expect(await texts()).toEqual([]);
    });

    test('keeps routes by destination and table', async () => {
      const route = { kind: 'route', destination: '10.1.0.0/16', type: 'blackhole', table: 77 } as const;
      await port.apply([
        { do: 'add', ...route },
        { do: 'replace', ...route },
      ]);
      await expect(port.apply([{ do: 'add', ...route }])).rejects.toMatchObject({ code: 'EEXIST' });
      expect(await port.routes({ table: 77, family: 'inet' })).toMatchObject([
        { destination: '10.1.0.0/16', type: 'blackhole', table: 77, family: 'inet' },
      ]);
      expect(await port.routes({ table: 78 })).toEqual([]);
      await port.apply([{ do: 'delete', ...route }]);
      expect(await port.routes({ table: 77 })).toEqual([]);
    });

    test('keeps rules in the order of their priorities', async () => {
      await port.apply([
        { do: 'add', kind: 'rule', priority: 200, source: '10.0.0.0/8', table: 5 },
        { do: 'add', kind: 'rule', priority: 100, mark: 1, mask: 1, table: 6 },
      ]);
      expect((await port.rules({ family: 'inet' })).map(({ priority }) => priority)).toEqual([
        0, 100, 200, 32766, 32767,
      ]);
      await expect(
        port.apply([{ do: 'add', kind: 'rule', priority: 100, mark: 1, mask: 1, table: 6 }]),
      ).rejects.toMatchObject({ code: 'EEXIST' });
      await port.apply([{ do: 'delete', kind: 'rule', priority: 100, mark: 1, mask: 1, table: 6 }]);
      expect((await port.rules({ family: 'inet' })).map(({ priority }) => priority)).toEqual([
        0, 200, 32766, 32767,
      ]);
    });

    test('keeps neighbours and forwarding entries apart', async () => {
      const mac = '02:00:00:00:00:09';
      await port.apply([
        { ...bridge(), up: true },
        { do: 'add', kind: 'neighbour', dev: 'br0', address: '10.0.0.9', mac },
        { do: 'add', kind: 'link', name: 'vx', vxlan: { vni: 5, port: 4789 }, up: true },
        { do: 'add', kind: 'neighbour', family: 'bridge', dev: 'vx', mac, address: '192.168.0.9' },
      ]);
      const ours = async (filter: Parameters<RoutePort['neighbours']>[0]) =>
        (await port.neighbours(filter)).filter((entry) => entry.mac === mac);
      expect(await ours({ dev: 'br0' })).toMatchObject([
        { address: '10.0.0.9', family: 'inet', state: 'permanent' },
      ]);
      expect(await ours({ family: 'bridge', dev: 'vx' })).toMatchObject([
        { address: '192.168.0.9', family: 'bridge' },
      ]);
      await expect(
        port.apply([{ do: 'add', kind: 'neighbour', dev: 'br0', address: '10.0.0.9', mac }]),
      ).rejects.toMatchObject({ code: 'EEXIST' });
    });

    test('keeps queueing disciplines and classes', async () => {
      await port.apply([
        { do: 'add', kind: 'link', name: 'a', peer: { name: 'b' }, up: true },
        { do: 'add', kind: 'qdisc', dev: 'a', handle: '1:', type: 'htb', htb: { defaultClass: 1 } },
        { do: 'add', kind: 'class', dev: 'a', handle: '1:1', htb: { rate: 125_000 } },
      ]);
      expect(await port.qdiscs({ dev: 'a' })).toMatchObject([{ type: 'htb', handle: '1:', parent: 'root' }]);
      expect(await port.classes({ dev: 'a' })).toMatchObject([{ handle: '1:1', htb: { rate: 125_000 } }]);
      await port.apply([{ do: 'delete', kind: 'class', dev: 'a', handle: '1:1' }]);
      expect(await port.classes({ dev: 'a' })).toEqual([]);
    });

    test('tells changes to those who watch their kind, until they close', async () => {
      const seen: RouteEvent[] = [];
      const watch = port.watch(['rule'], (events) => seen.push(...events));
      await port.apply([bridge(), { do: 'add', kind: 'rule', priority: 9, table: 9 }]);
      await port.apply([{ do: 'delete', kind: 'rule', priority: 9, table: 9 }]);
      await until(() => expect(seen).toHaveLength(2));
      expect(seen).toMatchObject([
        { event: 'new', object: { kind: 'rule', priority: 9 } },
        { event: 'delete', object: { kind: 'rule', priority: 9 } },
      ]);
      watch.close();
      await port.apply([{ do: 'add', kind: 'rule', priority: 9, table: 9 }]);
      expect(seen).toHaveLength(2);
    });

    test('refuses calls after close', async () => {
      port.close();
      await expect(port.links()).rejects.toMatchObject({ code: 'CLOSED' });
      await expect(port.apply([bridge()])).rejects.toMatchObject({ code: 'CLOSED' });
    });
  });
}
