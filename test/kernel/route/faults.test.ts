// What the kernel refuses and what makes no sense: clear errors, by index, with nothing left behind.
// Guarantees: an INVALID request stops its batch before anything is sent; a refused one does not stop the others.
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Channel } from '../../../src/kernel/channel.js';
import { createNetNs, removeNetNs } from '../../../src/kernel/netns.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import type { Request } from '../../../src/kernel/route/port.js';
import { makeNetNs, netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const namespaces = netNsPerTest();

async function setUp() {
  const ns = await namespaces.make();
  const route = namespaces.closing(await openRoute(ns.path));
  return { ns, route };
}

const openDescriptors = () => readdirSync('/proc/self/fd').length;
const threads = () => readdirSync('/proc/self/task').length;

/** Requests no type would let through; each is found before anything is sent. */
const NONSENSE: { request: object; says: RegExp }[] = [
  { request: {}, says: /'do' must be one of add, replace, change, delete/ },
  { request: { do: 'add', kind: 'planet' }, says: /'kind' must be one of link, address/ },
  { request: { do: 'make', kind: 'link', name: 'a' }, says: /'do' must be one of/ },
  {
    request: { do: 'add', kind: 'link', name: 'abcdefghijklmnop', type: 'bridge' },
    says: /1 to 15 bytes.*has 16/,
  },
  { request: { do: 'add', kind: 'link', name: '', type: 'bridge' }, says: /1 to 15 bytes/ },
  {
    request: { do: 'add', kind: 'link', name: 'a/b', type: 'bridge' },
    says: /slash, colon, percent sign or space/,
  },
  { request: { do: 'add', kind: 'link', name: 'a\0b', type: 'bridge' }, says: /NUL/ },
  { request: { do: 'add', kind: 'link', name: 'br0' }, says: /needs a type/ },
  { request: { do: 'add', kind: 'link', type: 'bridge' }, says: /needs a name/ },
  {
    request: { do: 'add', kind: 'link', name: 'br0', type: 'bridge', colour: 1 },
    says: /unknown field 'colour'/,
  },
  {
    request: { do: 'add', kind: 'link', name: 'br0', type: 'bridge', mtu: -1 },
    says: /'mtu' must be a whole number/,
  },
  {
    request: { do: 'add', kind: 'link', name: 'br0', type: 'bridge', mtu: 1.5 },
    says: /'mtu' must be a whole/,
  },
  { request: { do: 'add', kind: 'link', name: 'br0', type: 'bridge', mtu: 2 ** 40 }, says: /to 4294967295/ },
  {
    request: { do: 'add', kind: 'link', name: 'br0', type: 'bridge', mac: '02:00' + ':zz' },
    says: /hardware address/,
  },
  {
    request: { do: 'add', kind: 'link', name: 'v', vxlan: { vni: 1, df: 'x' } },
    says: /'df' must be one of unset/,
  },
  { request: { do: 'add', kind: 'link', name: 'v', vxlan: { port: 1 } }, says: /needs its vni/ },
  {
    request: { do: 'add', kind: 'link', name: 'v', type: 'veth', peer: 'x' },
    says: /'peer' must be an object/,
  },
  { request: { do: 'delete', kind: 'link' }, says: /by its name or index/ },
  { request: { do: 'add', kind: 'address', dev: 'lo', address: '10.0.0.1/33' }, says: /prefix length/ },
  { request: { do: 'add', kind: 'address', dev: 'lo', address: 'fd00::1/129' }, says: /prefix length/ },
  { request: { do: 'add', kind: 'address', dev: 'lo', address: '10.0.0.256/24' }, says: /prefix length/ },
  { request: { do: 'add', kind: 'address', address: '10.0.0.1/24' }, says: /which link/ },
  {
    request: { do: 'add', kind: 'address', dev: 'lo', address: 'fd00::1/64', broadcast: '10.0.0.1' },
    says: /IPv4/,
  },
  {
    request: { do: 'add', kind: 'address', dev: 'lo', address: '10.0.0.1/8', flags: ['shiny'] },
    says: /'shiny'/,
  },
  { request: { do: 'add', kind: 'route', destination: '10.0.0.0/8' }, says: /gateway, a dev or nextHops/ },
  {
    request: { do: 'add', kind: 'route', destination: 'fd00::/8', gateway: '10.0.0.1' },
    says: /must be IPv6/,
  },
  {
    request: { do: 'add', kind: 'route', destination: '10.0.0.0/8', preferredSource: 'fd00::1', dev: 'lo' },
    says: /destination's family/,
  },
  {
    request: { do: 'add', kind: 'rule', source: '10.0.0.0/8', family: 'inet6', table: 1 },
    says: /rule's family/,
  },
  { request: { do: 'add', kind: 'neighbour', dev: 'lo', address: '10.0.0.1' }, says: /needs its mac/ },
  { request: { do: 'add', kind: 'qdisc', dev: 'lo', type: 'tbf' }, says: /rate and a burst/ },
  { request: { do: 'add', kind: 'class', dev: 'lo', handle: 'x' }, says: /handle like/ },
];

describeWith({ root: true, tools: ['ip', 'nsenter'] }, 'faults', () => {
  test.each(NONSENSE)('refuses $request', async ({ request, says }) => {
    const { ns } = await setUp();
    const channel = namespaces.closing(await Channel.open('route', ns.path));
    const fine = { do: 'add', kind: 'link', name: 'fine', type: 'bridge' };
    await expect(channel.apply([fine, request])).rejects.toMatchObject({
      name: 'KernelError',
      code: 'INVALID',
      index: 1,
      message: expect.stringMatching(says) as string,
    });
    // The good request before it was not done either.
    expect(await ns.json<object[]>('ip', '-j', 'link')).toHaveLength(1);
  });

  test('tells every refused request with its code, the kernel’s words and the operation, and does the others', async () => {
    const { route } = await setUp();
    const error = await route
      .apply([
        { do: 'add', kind: 'link', name: 'br0', type: 'bridge' },
        { do: 'add', kind: 'link', name: 'br0', type: 'bridge' },
        { do: 'add', kind: 'address', dev: 'nowhere', address: '10.0.0.1/24' },
        { do: 'delete', kind: 'route', destination: '10.0.0.0/8' },
        { do: 'add', kind: 'link', name: 'odd', type: 'no-such-type' },
        { do: 'add', kind: 'route', destination: '10.0.0.0/8', gateway: '10.9.9.9' },
        { do: 'add', kind: 'link', name: 'br1', type: 'bridge' },
      ])
      .then(
        () => undefined,
        (reason: unknown) => reason,
      );
    expect(error).toMatchObject({
      code: 'EEXIST',
      errno: 17,
      index: 1,
      operation: 'add link br0',
      message: expect.stringContaining('add link br0: File exists') as string,
      failures: [
        { code: 'EEXIST', index: 1 },
        { code: 'ENODEV', index: 2, operation: 'add address 10.0.0.1/24' },
        { code: 'ESRCH', index: 3 },
        { code: 'EOPNOTSUPP', index: 4, kernel: 'Unknown device type' },
        { code: 'ENETUNREACH', index: 5, kernel: 'Nexthop has invalid gateway' },
      ],
    });
    expect((await route.links()).map(({ name }) => name)).toEqual(['lo', 'br0', 'br1']);
  });

  test('existsOk and missingOk forgive just that', async () => {
    const { route } = await setUp();
    await route.apply([
      { do: 'add', kind: 'link', name: 'br0', type: 'bridge' },
      { do: 'add', kind: 'link', name: 'br0', type: 'bridge', existsOk: true },
      { do: 'delete', kind: 'link', name: 'gone', missingOk: true },
      { do: 'delete', kind: 'address', dev: 'br0', address: '10.0.0.1/24', missingOk: true },
      { do: 'delete', kind: 'address', dev: 'gone', address: '10.0.0.1/24', missingOk: true },
      { do: 'delete', kind: 'route', destination: '10.0.0.0/8', missingOk: true },
      { do: 'delete', kind: 'neighbour', dev: 'br0', address: '10.0.0.9', missingOk: true },
      { do: 'delete', kind: 'rule', priority: 9, table: 9, missingOk: true },
    ]);
    await expect(
      route.apply([{ do: 'add', kind: 'link', name: 'x', type: 'no-such-type', existsOk: true }]),
    ).rejects.toMatchObject({ code: 'EOPNOTSUPP' });
  });

  test('an opened namespace outlives its pin; one that is gone or is none cannot be opened', async () => {
    const ns = await makeNetNs();
    const route = await openRoute(ns.path);
    await ns.remove();
    await route.apply([{ do: 'add', kind: 'link', name: 'br0', type: 'bridge' }]);
    expect(await route.link('br0')).toBeDefined();
    route.close();
    await expect(openRoute(ns.path)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(openRoute('/etc/hostname')).rejects.toMatchObject({
      code: 'EINVAL',
      kernel: 'not a network namespace',
    });
    await expect(openRoute(2 ** 30)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('a peer for a namespace that is not there leaves no half pair', async () => {
    const { route } = await setUp();
    await expect(
      route.apply([{ do: 'add', kind: 'link', name: 'v0', peer: { name: 'p', netns: '/run/netns/none' } }]),
    ).rejects.toMatchObject({ code: 'ENOENT', index: 0 });
    expect(await route.links()).toHaveLength(1);
  });

  test('calls after close are refused, and calls under way are finished', async () => {
    const { route } = await setUp();
    const under = route.links();
    await new Promise((resolve) => setImmediate(resolve));
    route.close();
    expect(await under).toHaveLength(1);
    await expect(route.links()).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(route.apply([{ do: 'delete', kind: 'link', name: 'lo' }])).rejects.toMatchObject({
      code: 'CLOSED',
    });
    route.close();
  });

  test('creating a namespace twice, or where no directory is, leaves nothing', async () => {
    const ns = await namespaces.make();
    await expect(createNetNs(ns.path)).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await ns.json<object[]>('ip', '-j', 'link')).toHaveLength(1);
    await expect(createNetNs('/run/netns-no-such/x')).rejects.toMatchObject({ code: 'ENOENT' });
    await removeNetNs('/run/netns/never-made');
  });

  test('a million requests in one batch are done or refused one by one', { timeout: 120_000 }, async () => {
    const { route } = await setUp();
    const forgiven = { do: 'delete', kind: 'route', destination: '10.0.0.0/8', missingOk: true } as const;
    const requests: Request[] = new Array(1_000_000).fill(forgiven);
    requests[500_000] = { do: 'delete', kind: 'route', destination: '10.0.0.0/8' };
    requests[999_999] = { do: 'add', kind: 'link', name: 'last', type: 'bridge' };
    await expect(route.apply(requests)).rejects.toMatchObject({
      failures: [{ code: 'ESRCH', index: 500_000 }],
    });
    expect((await route.links()).map(({ name }) => name)).toEqual(['lo', 'last']);
  });

  test('10,000 cycles of open, create, delete and close leak no descriptor, thread or memory', {
    timeout: 120_000,
  }, async () => {
    const { ns, route } = await setUp();
    const cycle = async () => {
      const other = await openRoute(ns.path);
      const watch = other.watch(['link'], () => undefined);
      await other.apply([
        { do: 'add', kind: 'rule', priority: 10, table: 7 },
        { do: 'delete', kind: 'rule', priority: 10, table: 7 },
        { do: 'delete', kind: 'link', name: 'gone', missingOk: true },
      ]);
      watch.close();
      other.close();
    };
    const collect = globalThis.gc ?? (() => undefined);
    for (let i = 0; i < 1000; i++) await cycle();
    collect();
    const before = { descriptors: openDescriptors(), threads: threads(), rss: process.memoryUsage.rss() };
    for (let i = 0; i < 9000; i++) await cycle();
    collect();
    expect(openDescriptors()).toBeLessThanOrEqual(before.descriptors + 2);
    expect(threads()).toBeLessThanOrEqual(before.threads);
    expect(process.memoryUsage.rss() - before.rss).toBeLessThan(64 << 20);
    expect(await route.links()).toHaveLength(1);
  });
});
