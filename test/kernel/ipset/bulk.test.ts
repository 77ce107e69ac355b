// Very many entries: all arrive, failures are told by the caller's own numbers, the event loop keeps turning.
import { expect, test } from 'vitest';
import type { KernelError } from '../../../src/kernel/error.js';
import { openIpset } from '../../../src/kernel/ipset/adapter.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const entry = (i: number) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255},tcp:${1 + (i % 60_000)}`;
const entriesTo = (count: number) => Array.from({ length: count }, (_, i) => entry(i));

describeWith({ root: true, tools: ['ipset'] }, 'ipset in bulk', () => {
  const namespaces = netNsPerTest();
  const make = async () => {
    const ns = await namespaces.make();
    const port = namespaces.closing(await openIpset(ns.path));
    await port.apply([{ do: 'add', kind: 'set', name: 's', type: 'hash:ip,port', maxelem: 1_000_000 }]);
    return { ns, port };
  };

  test('adds, lists, tests and deletes 10,000 entries', async () => {
    const { ns, port } = await make();
    const entries = entriesTo(10_000);
    await port.apply([{ do: 'add', kind: 'entry', set: 's', entries }]);
    const lines = (await ns.run('ipset', 'save', 's')).trim().split('\n').slice(1);
    expect(lines.map((line) => line.slice('add s '.length)).sort()).toEqual([...entries].sort());
    expect((await port.get('s'))?.entries.map((listed) => listed.entry).sort()).toEqual([...entries].sort());
    expect((await port.test('s', entries)).every(Boolean)).toBe(true);
    await port.apply([{ do: 'delete', kind: 'entry', set: 's', entries }]);
    expect(await port.get('s')).toMatchObject({ numentries: 0 });
  });

  test('tells each of many refused entries by its number and does all the others', async () => {
    const { port } = await make();
    const entries = entriesTo(10_000);
    const taken = entries.filter((_, i) => i % 3 === 0);
    await port.apply([{ do: 'add', kind: 'entry', set: 's', entries: taken }]);
    const error = await port.apply([{ do: 'add', kind: 'entry', set: 's', entries }]).then(
      () => undefined,
      (refused: KernelError) => refused,
    );
    expect(error?.failures.map((failure) => [failure.code, failure.index, failure.entry])).toEqual(
      taken.map((_, i) => ['EEXIST', 0, i * 3]),
    );
    expect(error?.failures[1]?.operation).toBe(`add entry s ${entry(3)}`);
    expect(await port.get('s')).toMatchObject({ numentries: 10_000 });
  });

  test('adds a quarter of a million entries in one request while the event loop keeps turning', async () => {
    const { port } = await make();
    const entries = entriesTo(250_000);
    let turns = 0;
    const turn = () => {
      turns++;
      timer = setImmediate(turn);
    };
    let timer = setImmediate(turn);
    await port.apply([{ do: 'add', kind: 'entry', set: 's', entries }]);
    clearImmediate(timer);
    expect(await port.listHeaders()).toMatchObject([{ numentries: 250_000 }]);
    // About 6 MB of JSON in slices of 64 KiB; done in one go there would be a turn or two.
    expect(turns).toBeGreaterThan(50);
  });

  test('takes a million entries in one request', async () => {
    const { port } = await make();
    await port.apply([{ do: 'add', kind: 'set', name: 'small', type: 'bitmap:port', range: '0-99' }]);
    const entries = Array.from({ length: 1_000_000 }, (_, i) => String(i % 100));
    await port.apply([{ do: 'add', kind: 'entry', set: 'small', entries, existsOk: true }]);
    expect(await port.get('small')).toMatchObject({ numentries: 100 });
  });
});
