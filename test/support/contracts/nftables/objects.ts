// What every NftPort does: tables, chains and rules.
import { describe, expect, test } from 'vitest';
import * as x from '../../../../src/kernel/nftables/expressions.js';
import type { NftPort, NftRequest } from '../../../../src/kernel/nftables/port.js';
import {
  addService,
  chain,
  elementsOf,
  input,
  makeSet,
  refusals,
  rule,
  services,
  t,
  table,
} from './requests.js';

export function objectContract(open: () => Promise<NftPort>): void {
  describe('tables and chains', () => {
    test('are listed with what they were made with', async () => {
      const nft = await open();
      await nft.commit([
        { do: 'create', kind: 'table', family: 'ip6', name: 'other', comment: 'not ours' },
        table,
        { ...input, comment: 'the way in' } as NftRequest,
        chain('regular'),
      ]);
      expect((await nft.tables()).map(({ handle: _, ...rest }) => rest)).toEqual([
        { kind: 'table', family: 'ip6', name: 'other', comment: 'not ours' },
        { kind: 'table', family: 'inet', name: 't' },
      ]);
      expect(await nft.tables({ family: 'ip6' })).toHaveLength(1);
      expect(await nft.chains({ table: 't' })).toEqual([
        {
          kind: 'chain',
          ...t,
          name: 'input',
          type: 'filter',
          hook: 'input',
          priority: 0,
          policy: 'accept',
          handle: 1,
          comment: 'the way in',
        },
        { kind: 'chain', ...t, name: 'regular', handle: 2 },
      ]);
      expect(await nft.chains({ table: 'other' })).toEqual([]);
    });

    test('adding again changes nothing but a policy; creating again is EEXIST', async () => {
      const nft = await open();
      await nft.commit([table, input, table, input, { ...input, policy: 'drop' } as NftRequest]);
      expect((await nft.chains())[0]?.policy).toBe('drop');
      expect(await refusals(nft.commit([{ ...table, do: 'create' } as NftRequest]))).toEqual([[0, 'EEXIST']]);
      expect(await refusals(nft.commit([{ ...input, do: 'create' } as NftRequest]))).toEqual([[0, 'EEXIST']]);
      expect(await refusals(nft.commit([{ ...input, type: 'nat' } as NftRequest]))).toEqual([[0, 'EEXIST']]);
    });

    test('a chain that something goes to is EBUSY; its own rules go with it', async () => {
      const nft = await open();
      await nft.commit([table, chain('a'), chain('b'), rule('a', x.jump('b')), rule('b', x.accept)]);
      const deleteB: NftRequest = { do: 'delete', kind: 'chain', ...t, name: 'b' };
      expect(await refusals(nft.commit([deleteB]))).toEqual([[0, 'EBUSY']]);
      await nft.commit([{ do: 'flush', kind: 'chain', ...t, name: 'a' }, deleteB]);
      expect((await nft.chains()).map(({ name }) => name)).toEqual(['a']);
    });

    test('a chain that a verdict map goes to is EBUSY', async () => {
      const nft = await open();
      await nft.commit([table, chain('a'), makeSet(services), addService('10.96.0.1 . tcp . 80', 'goto a')]);
      const deleteA: NftRequest = { do: 'delete', kind: 'chain', ...t, name: 'a' };
      expect(await refusals(nft.commit([deleteA]))).toEqual([[0, 'EBUSY']]);
      await nft.commit([{ do: 'flush', kind: 'set', ...t, name: 'services' }, deleteA]);
    });

    test('flushing a ruleset takes every table, or those of a family', async () => {
      const nft = await open();
      await nft.commit([
        table,
        { do: 'add', kind: 'table', family: 'ip', name: 'a' },
        { do: 'add', kind: 'table', family: 'ip', name: 'b' },
      ]);
      await nft.commit([{ do: 'flush', kind: 'ruleset', family: 'ip' }]);
      expect((await nft.tables()).map(({ name }) => name)).toEqual(['t']);
      await nft.commit([{ do: 'flush', kind: 'ruleset' }]);
      expect(await nft.tables()).toEqual([]);
    });
  });

  describe('rules', () => {
    const comments = async (nft: NftPort) =>
      (await nft.rules({ ...t, chain: 'a' })).map(({ comment }) => comment);
    const named = (comment: string, where: object = {}): NftRequest =>
      ({ ...rule('a', x.counter), comment, ...where }) as NftRequest;

    test('stand where they were put', async () => {
      const nft = await open();
      await nft.commit([table, chain('a'), named('one'), named('three')]);
      const [one, three] = await nft.rules();
      await nft.commit([
        named('two', { after: one?.handle }),
        named('zero', { do: 'insert' }),
        named('two and a half', { do: 'insert', before: three?.handle }),
        named('four'),
      ]);
      expect(await comments(nft)).toEqual(['zero', 'one', 'two', 'two and a half', 'three', 'four']);
    });

    test('are replaced and deleted by handle', async () => {
      const nft = await open();
      await nft.commit([table, chain('a'), named('one'), named('two'), named('three')]);
      const [one, two] = await nft.rules();
      if (one === undefined || two === undefined) throw new Error('rules are missing');
      await nft.commit([
        named('new', { do: 'replace', handle: two.handle }),
        { do: 'delete', kind: 'rule', ...t, chain: 'a', handle: one.handle },
      ]);
      expect(await comments(nft)).toEqual(['new', 'three']);
      expect(
        await refusals(nft.commit([{ do: 'delete', kind: 'rule', ...t, chain: 'a', handle: one.handle }])),
      ).toEqual([[0, 'ENOENT']]);
    });

    test('are deleted by what they say, the first of those that say the same', async () => {
      const nft = await open();
      const counted = (chainName: string) => rule(chainName, x.dport(80), x.counter, x.drop);
      await nft.commit([
        table,
        chain('a'),
        counted('a'),
        rule('a', x.accept),
        counted('a'),
        rule('a', x.drop),
      ]);
      const handles = async () => (await nft.rules()).map(({ handle }) => handle);
      const before = await handles();
      const deletion = (...parts: x.Part[]): NftRequest => ({
        do: 'delete',
        kind: 'rule',
        ...t,
        chain: 'a',
        expressions: x.rule(...parts),
      });
      const same = deletion(x.dport(80), x.counter, x.drop);
      await nft.commit([same]);
      expect(await handles()).toEqual(before.slice(1));
      expect(await refusals(nft.commit([same, deletion(x.dport(81), x.drop)]))).toEqual([[1, 'ENOENT']]);
      expect(await refusals(nft.commit([same, same]))).toEqual([[1, 'ENOENT']]);
      expect(await handles()).toEqual(before.slice(1));
      await nft.commit([deletion(x.accept), same]);
      expect(await handles()).toEqual(before.slice(3));
    });

    test('are listed by table and chain, with their expressions as given', async () => {
      const nft = await open();
      const expressions = x.rule(
        x.nfproto('ip'),
        x.ipDaddr('10.96.0.0/12'),
        x.l4proto('tcp'),
        x.dport(80),
        x.ctState('new', 'established'),
        x.setMarkBits(0x4000),
        x.fibType(['daddr'], 'local'),
        x.jump('b'),
      );
      await nft.commit([
        table,
        chain('a'),
        chain('b'),
        { do: 'add', kind: 'rule', ...t, chain: 'a', expressions, comment: 'all of it' },
        rule('b', x.drop),
      ]);
      const [listed] = await nft.rules({ ...t, chain: 'a' });
      expect(listed).toEqual({
        kind: 'rule',
        ...t,
        chain: 'a',
        handle: 3,
        expressions,
        comment: 'all of it',
      });
      expect(await nft.rules({ table: 't' })).toHaveLength(2);
      expect(await nft.rules({ table: 'no' })).toEqual([]);
    });

    test('refer only to what is there', async () => {
      const nft = await open();
      await nft.commit([table, input, chain('a')]);
      expect(
        await refusals(
          nft.commit([
            rule('a', x.jump('missing')),
            rule('a', x.inSet('missing', 'ip saddr')),
            rule('missing', x.drop),
            rule('a', x.jump('input')),
            { ...rule('a', x.drop), after: 999 } as NftRequest,
          ]),
        ),
      ).toEqual([
        [0, 'ENOENT'],
        [1, 'ENOENT'],
        [2, 'ENOENT'],
        [3, 'EOPNOTSUPP'],
        [4, 'ENOENT'],
      ]);
      expect(await nft.rules()).toEqual([]);
    });

    test('that run in a circle are EMLINK', async () => {
      const nft = await open();
      await nft.commit([
        table,
        input,
        chain('a'),
        chain('b'),
        rule('input', x.jump('a')),
        rule('a', x.jump('b')),
      ]);
      expect(await refusals(nft.commit([rule('b', x.jump('a'))]))).toEqual([[0, 'EMLINK']]);
    });

    test('take their anonymous map with them', async () => {
      const nft = await open();
      const choice = { set: '__map%d', setId: 7 };
      const numbers = { ...t, name: '__map%d', type: ['integer'], mapType: ['verdict'] } as const;
      await nft.commit([
        table,
        chain('a'),
        chain('b'),
        { do: 'add', kind: 'set', ...numbers, flags: ['anonymous', 'constant'], id: 7 },
        {
          do: 'add',
          ...elementsOf(numbers),
          setId: 7,
          elements: [
            { key: '0', verdict: 'goto b' },
            { key: '1', verdict: 'accept' },
          ],
        },
        rule('a', x.numgenVmap(2, choice)),
      ]);
      const [only] = await nft.rules();
      expect(only?.expressions[1]).toEqual({ lookup: { set: '__map0', sreg: 1, dreg: 0 } });
      expect(await nft.elements({ ...t, set: '__map0' })).toHaveLength(2);
      await nft.commit([{ do: 'flush', kind: 'chain', ...t, name: 'a' }]);
      expect(await nft.sets()).toEqual([]);
    });
  });
}
