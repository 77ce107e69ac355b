// Queueing disciplines and classes made by the core are read back with `tc -j`, and those of `tc` by the core.
// Guarantees: rates, bursts and limits agree in both directions.
import { expect, test } from 'vitest';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

interface TcObject {
  kind?: string;
  handle: string;
  root?: boolean;
  parent?: string;
  options?: Record<string, unknown>;
}

const namespaces = netNsPerTest();

async function setUp() {
  const ns = await namespaces.make();
  const route = namespaces.closing(await openRoute(ns.path));
  await route.apply([{ do: 'add', kind: 'link', name: 'eth0', peer: { name: 'peer' }, up: true }]);
  const show = async (what: string) =>
    (await ns.json<TcObject[]>('tc', '-j', what, 'show', 'dev', 'eth0')).filter(
      ({ kind }) => kind !== 'noqueue',
    );
  return { ns, route, show };
}

const RATE = 1_250_000; // 10 Mbit/s in bytes

describeWith({ root: true, tools: ['tc', 'ip', 'nsenter'] }, 'traffic control', () => {
  test('tbf: tc shows what the core made', async () => {
    const { route, show } = await setUp();
    await route.apply([
      {
        do: 'add',
        kind: 'qdisc',
        dev: 'eth0',
        handle: '1:',
        tbf: { rate: RATE, burst: 20_000, limit: 60_000 },
      },
    ]);
    expect(await show('qdisc')).toMatchObject([
      { kind: 'tbf', handle: '1:', root: true, options: { rate: RATE, burst: 20_000 } },
    ]);
  });

  test('tbf above 4 GB/s: the wide rate travels too', async () => {
    const { route, show } = await setUp();
    const rate = 5_000_000_000;
    await route.apply([
      { do: 'add', kind: 'qdisc', dev: 'eth0', tbf: { rate, burst: 10_000_000, limit: 20_000_000 } },
    ]);
    expect(await show('qdisc')).toMatchObject([{ kind: 'tbf', options: { rate } }]);
    expect(await route.qdiscs({ dev: 'eth0' })).toMatchObject([{ type: 'tbf', tbf: { rate } }]);
  });

  test('tbf: the core tells what tc made, changes and deletes it', async () => {
    const { ns, route } = await setUp();
    await ns.run(
      'tc',
      ...'qdisc add dev eth0 root handle 1: tbf rate 10mbit burst 20000 limit 60000'.split(' '),
    );
    const tbf = { rate: RATE, burst: 20_000, limit: 60_000 };
    expect(await route.qdiscs({ dev: 'eth0' })).toEqual([
      { kind: 'qdisc', dev: expect.any(Number) as number, type: 'tbf', handle: '1:', parent: 'root', tbf },
    ]);
    const changed = { ...tbf, rate: RATE * 2 };
    await route.apply([{ do: 'replace', kind: 'qdisc', dev: 'eth0', handle: '1:', tbf: changed }]);
    expect(await route.qdiscs({ dev: 'eth0' })).toMatchObject([{ tbf: { rate: RATE * 2 } }]);
    await route.apply([{ do: 'delete', kind: 'qdisc', dev: 'eth0', handle: '1:' }]);
    expect(await route.qdiscs({ dev: 'eth0' })).toMatchObject([{ type: 'noqueue' }]);
  });

  test('htb with classes: tc shows what the core made', async () => {
    const { ns, route, show } = await setUp();
    await route.apply([
      { do: 'add', kind: 'qdisc', dev: 'eth0', handle: '1:', type: 'htb', htb: { defaultClass: 0x20 } },
      { do: 'add', kind: 'class', dev: 'eth0', handle: '1:1', htb: { rate: RATE } },
      {
        do: 'add',
        kind: 'class',
        dev: 'eth0',
        parent: '1:1',
        handle: '1:20',
        htb: { rate: RATE / 10, ceil: RATE, burst: 15_000, cburst: 30_000, priority: 3, quantum: 3000 },
      },
    ]);
    expect(await show('qdisc')).toMatchObject([{ kind: 'htb', handle: '1:', options: { default: '0x20' } }]);
    // tc 6.1 prints classes as text whatever it is asked for.
    const classes = await ns.run('tc', '-d', 'class', 'show', 'dev', 'eth0');
    expect(classes).toMatch(
      /class htb 1:20 parent 1:1 .*prio 3 quantum 3000 rate 1Mbit ceil 10Mbit .*burst 15000b.* cburst 30000b/,
    );
  });

  test('htb with classes: the core tells what tc made, and deletes a class', async () => {
    const { ns, route } = await setUp();
    await ns.run('tc', ...'qdisc add dev eth0 root handle 1: htb default 20'.split(' '));
    await ns.run(
      'tc',
      ...'class add dev eth0 parent 1: classid 1:20 htb rate 1mbit ceil 10mbit burst 15000 cburst 30000 quantum 3000'.split(
        ' ',
      ),
    );
    expect(await route.qdiscs({ dev: 'eth0' })).toMatchObject([
      { type: 'htb', htb: { defaultClass: 0x20, r2q: 10 } },
    ]);
    expect(await route.classes({ dev: 'eth0' })).toMatchObject([
      {
        kind: 'class',
        type: 'htb',
        handle: '1:20',
        parent: 'root',
        htb: { rate: RATE / 10, ceil: RATE, burst: 15_000, cburst: 30_000, quantum: 3000 },
      },
    ]);
    await route.apply([{ do: 'delete', kind: 'class', dev: 'eth0', handle: '1:20' }]);
    expect(await route.classes({ dev: 'eth0' })).toEqual([]);
  });

  test('ingress: made and told both ways', async () => {
    const { ns, route, show } = await setUp();
    await route.apply([{ do: 'add', kind: 'qdisc', dev: 'eth0', type: 'ingress' }]);
    expect((await show('qdisc')).map(({ kind, handle }) => ({ kind, handle }))).toEqual([
      { kind: 'ingress', handle: 'ffff:' },
    ]);
    await route.apply([{ do: 'delete', kind: 'qdisc', dev: 'eth0', type: 'ingress' }]);
    expect(await show('qdisc')).toEqual([]);
    await ns.run('tc', 'qdisc', 'add', 'dev', 'eth0', 'ingress');
    expect(await route.qdiscs({ dev: 'eth0' })).toContainEqual(
      expect.objectContaining({ type: 'ingress', handle: 'ffff:', parent: 'ingress' }),
    );
  });
});
