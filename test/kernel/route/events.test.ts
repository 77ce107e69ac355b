// A watch tells every change of links, addresses, routes, rules and neighbours, in the kernel's order.
// Guarantees: nothing after watch() is missed; nothing comes after close(); a namespace's events are its own.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import type { RouteEvent } from '../../../src/kernel/route/port.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

const namespaces = netNsPerTest();

/** "new link eth0": short words for what an event says. */
function inWords(event: RouteEvent): string {
  if (event.event === 'lost') return 'lost';
  const { object } = event;
  const which =
    object.kind === 'link'
      ? object.name
      : object.kind === 'address'
        ? object.address
        : object.kind === 'route'
          ? object.destination
          : object.kind === 'rule'
            ? String(object.priority)
            : object.kind === 'neighbour'
              ? object.address
              : object.handle;
  return `${event.event} ${object.kind} ${which}`;
}

async function watching(kinds: Parameters<Awaited<ReturnType<typeof openRoute>>['watch']>[0]) {
  const ns = await namespaces.make();
  const route = namespaces.closing(await openRoute(ns.path));
  const seen: string[] = [];
  const watch = route.watch(kinds, (events) => seen.push(...events.map(inWords)));
  return { ns, route, seen, watch };
}

describeWith({ root: true, tools: ['ip', 'nsenter'] }, 'events', () => {
  test('tells what ip does', async () => {
    const { ns, seen } = await watching(['link', 'address', 'route', 'rule', 'neighbour']);
    const ip = (words: string) => ns.run('ip', ...words.split(' '));
    await ip('link add eth0 type veth peer name eth1');
    await ip('link set eth1 up');
    await ip('link set eth0 up');
    await ip('addr add 10.0.0.1/24 dev eth0');
    await ip('route add 10.1.0.0/16 via 10.0.0.2');
    await ip('rule add priority 77 table 5');
    await ip('neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev eth0');
    await ip('neigh del 10.0.0.9 dev eth0');
    await ip('rule del priority 77');
    await ip('route del 10.1.0.0/16');
    await ip('addr del 10.0.0.1/24 dev eth0');
    await ip('link del eth0');
    await until(() => expect(seen).toContain('delete link eth0'));
    const wanted = [
      'new link eth0',
      'new address 10.0.0.1/24',
      'new route 10.1.0.0/16',
      'new rule 77',
      'new neighbour 10.0.0.9',
      'delete rule 77',
      'delete route 10.1.0.0/16',
      'delete address 10.0.0.1/24',
      'delete link eth0',
    ];
    expect(
      seen.filter((words) => wanted.includes(words)).filter((w, i, all) => all.indexOf(w) === i),
    ).toEqual(wanted);
  });

  test('keeps to its kinds and its namespace', async () => {
    const { route, seen } = await watching(['rule']);
    const elsewhere = await watching(['rule', 'link']);
    await elsewhere.route.apply([{ do: 'add', kind: 'rule', priority: 5, table: 5 }]);
    await route.apply([
      { do: 'add', kind: 'link', name: 'br0', type: 'bridge' },
      { do: 'add', kind: 'rule', priority: 6, table: 5 },
    ]);
    await until(() => expect(elsewhere.seen).toEqual(['new rule 5']));
    await until(() => expect(seen).toEqual(['new rule 6']));
  });

  test('is silent after close, which may be called twice', async () => {
    const { route, seen, watch } = await watching(['rule']);
    await route.apply([{ do: 'add', kind: 'rule', priority: 5, table: 5 }]);
    await until(() => expect(seen).toHaveLength(1));
    watch.close();
    watch.close();
    await route.apply([{ do: 'add', kind: 'rule', priority: 6, table: 5 }]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen).toHaveLength(1);
  });

  test('drops what waits to be delivered when it is closed', async () => {
    const { ns, route, seen, watch } = await watching(['link']);
    const heard: string[] = [];
    route.watch(['link'], (events) => heard.push(...events.map(inWords)));
    // The thread that delivers stands still meanwhile, so the events wait.
    for (const address of ['02:00:00:00:00:01', '02:00:00:00:00:02'])
      execFileSync('nsenter', [`--net=${ns.path}`, 'ip', 'link', 'set', 'lo', 'address', address]);
    watch.close();
    await until(() => expect(heard).toEqual(['new link lo', 'new link lo']));
    expect(seen).toEqual([]);
  });

  test('keeps up with 5,000 changes, or says that it lost some', async () => {
    const { route, seen } = await watching(['route']);
    await route.apply([{ do: 'change', kind: 'link', name: 'lo', up: true }]);
    await route.apply(
      Array.from({ length: 5000 }, (_, i) => ({
        do: 'add' as const,
        kind: 'route' as const,
        destination: `10.${i >> 8}.${i & 255}.0/24`,
        type: 'blackhole' as const,
      })),
    );
    await until(() => {
      const count = seen.filter((words) => words.startsWith('new route 10.')).length;
      expect(count === 5000 || seen.includes('lost')).toBe(true);
    });
  });

  test('refuses a kind it does not know', async () => {
    const { route } = await watching(['link']);
    expect(() => route.watch(['weather' as 'link'], () => undefined)).toThrow(/no events of kind 'weather'/);
  });
});
