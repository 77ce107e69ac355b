// What every NftPort does: transactions, nonsense, events.
import { describe, expect, test } from 'vitest';
import * as x from '../../../../src/kernel/nftables/expressions.js';
import type { NftEvent, NftPort, NftRequest } from '../../../../src/kernel/nftables/port.js';
import { until } from '../../until.js';
import {
  addService,
  chain,
  elementsOf,
  makeSet,
  networks,
  refusals,
  rule,
  services,
  t,
  table,
} from './requests.js';

export function transactionContract(open: () => Promise<NftPort>): void {
  describe('a transaction', () => {
    test('is done whole or not at all', async () => {
      const nft = await open();
      await nft.commit([table, chain('a')]);
      const before = await nft.generation();
      expect(
        await refusals(
          nft.commit([
            chain('b'),
            rule('b', x.drop),
            { do: 'delete', kind: 'chain', ...t, name: 'missing' },
            rule('a', x.accept),
            { do: 'delete', kind: 'table', family: 'ip', name: 'missing' },
          ]),
        ),
      ).toEqual([
        [2, 'ENOENT'],
        [4, 'ENOENT'],
      ]);
      expect((await nft.chains()).map(({ name }) => name)).toEqual(['a']);
      expect(await nft.rules()).toEqual([]);
      expect(await nft.generation()).toBe(before);
    });

    test('can be made to hold for one generation only', async () => {
      const nft = await open();
      await nft.commit([table]);
      const generation = await nft.generation();
      await nft.commit([chain('a')], { generation });
      expect(await nft.generation()).toBe(generation + 1);
      expect(await refusals(nft.commit([chain('b')], { generation }))).toEqual([[undefined, 'ERESTART']]);
      expect(await refusals(nft.commit([], { generation }))).toEqual([[undefined, 'ERESTART']]);
      expect((await nft.chains()).map(({ name }) => name)).toEqual(['a']);
      await nft.commit([], { generation: generation + 1 });
    });

    test.each([false, true])('destroys what may be gone already (emulated: %s)', async (emulate) => {
      const nft = await open();
      const destroy = { do: 'destroy' as const, emulate };
      const requests: NftRequest[] = [
        {
          ...destroy,
          ...elementsOf(services),
          elements: [{ key: '10.96.0.1 . tcp . 80' }, { key: '10.96.0.9 . tcp . 1' }],
        },
        { ...destroy, kind: 'rule', ...t, chain: 'a', handle: 4 },
        { ...destroy, kind: 'rule', ...t, chain: 'a', handle: 999 },
        { ...destroy, kind: 'set', ...t, name: 'networks' },
        { ...destroy, kind: 'set', ...t, name: 'missing' },
        { ...destroy, kind: 'chain', ...t, name: 'b' },
        { ...destroy, kind: 'chain', ...t, name: 'missing' },
        { ...destroy, kind: 'table', family: 'ip', name: 'missing' },
      ];
      const setup: NftRequest[] = [
        table,
        chain('a'),
        chain('b'),
        makeSet(services),
        rule('a', x.accept),
        makeSet(networks),
        addService('10.96.0.1 . tcp . 80', 'goto b'),
      ];
      await nft.commit(setup);
      await nft.commit(requests);
      expect((await nft.chains()).map(({ name }) => name)).toEqual(['a']);
      expect((await nft.sets()).map(({ name }) => name)).toEqual(['services']);
      expect(await nft.elements({ ...t, set: 'services' })).toEqual([]);
      expect(await nft.rules()).toEqual([]);
      await nft.commit([{ ...destroy, kind: 'table', family: 'inet', name: 't' }]);
      expect(await nft.tables()).toEqual([]);
    });
  });

  describe('what makes no sense', () => {
    const cases: [string, NftRequest][] = [
      ['a name over 255 bytes', chain('n'.repeat(256))],
      ['an empty name', chain('')],
      ['a comment over 128 bytes', { ...rule('a', x.drop), comment: 'c'.repeat(129) } as NftRequest],
      ['an address of the other family', addService('fd00::1 . tcp . 80', 'drop')],
      ['a key with a part missing', addService('10.0.0.1 . tcp', 'drop')],
      ['a port over 65535', addService('10.0.0.1 . tcp . 65536', 'drop')],
      ['a range in a set without intervals', addService('10.0.0.0/8 . tcp . 80', 'drop')],
      [
        'a verdict where there is no verdict map',
        { do: 'add', ...elementsOf(networks), elements: [{ key: '::', verdict: 'drop' }] },
      ],
      [
        'a missing verdict',
        { do: 'add', ...elementsOf(services), elements: [{ key: '10.0.0.1 . tcp . 80' }] },
      ],
      [
        'a range that ends before it begins',
        { do: 'add', ...elementsOf(networks), elements: [{ key: 'fd00::2-fd00::1' }] },
      ],
      ['no elements', { do: 'add', ...elementsOf(networks), elements: [] }],
    ];
    test.each(cases)('%s is INVALID, and nothing of its batch is done', async (_, wrong) => {
      const nft = await open();
      expect(await refusals(nft.commit([table, wrong]))).toEqual([[1, 'INVALID']]);
      expect(await nft.tables()).toEqual([]);
    });

    test('a call after close is CLOSED', async () => {
      const nft = await open();
      nft.close();
      expect(await refusals(nft.commit([table]))).toEqual([[undefined, 'CLOSED']]);
      expect(await refusals(nft.tables())).toEqual([[undefined, 'CLOSED']]);
    });
  });

  describe('a watch', () => {
    test('tells what came and went, and ends with the generation', async () => {
      const nft = await open();
      const events: NftEvent[] = [];
      const watch = nft.watch((some) => events.push(...some));
      await nft.commit([table, chain('a'), makeSet(services), rule('a', x.drop)]);
      await nft.commit([{ do: 'flush', kind: 'ruleset' }]);
      const generation = await nft.generation();
      await until(() => expect(events.at(-1)).toMatchObject({ event: 'generation', generation }));
      const kinds = (event: string) =>
        events.flatMap((one) => ('object' in one && one.event === event ? [one.object.kind] : [])).sort();
      expect(kinds('new')).toEqual(['chain', 'rule', 'set', 'table']);
      expect(kinds('delete')).toEqual(['chain', 'rule', 'set', 'table']);
      expect(events.filter((one) => 'object' in one && one.object.kind === 'chain')).toMatchObject([
        { event: 'new', object: { kind: 'chain', ...t, name: 'a', handle: 1 } },
        { event: 'delete', object: { kind: 'chain', ...t, name: 'a', handle: 1 } },
      ]);
      watch.close();
      watch.close();
      const before = events.length;
      await nft.commit([table]);
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(events).toHaveLength(before);
    });

    test('tells nothing of a transaction that was refused', async () => {
      const nft = await open();
      await nft.commit([table]);
      const events: NftEvent[] = [];
      nft.watch((some) => events.push(...some));
      await refusals(nft.commit([chain('a'), rule('missing', x.drop)]));
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(events).toEqual([]);
    });
  });
}
