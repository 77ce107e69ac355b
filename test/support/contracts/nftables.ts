// What every NftPort does, the kernel's and the in-memory one alike.
// Guarantees: the same tests with the same expectations run against both.
import { describe, expect, test } from 'vitest';
import { KernelError } from '../../../src/kernel/error.js';
import * as x from '../../../src/kernel/nftables/expressions.js';
import type { NftPort, NftRequest, NftSet } from '../../../src/kernel/nftables/port.js';

const t = { family: 'inet', table: 't' } as const;
const table: NftRequest = { do: 'add', kind: 'table', family: 'inet', name: 't' };
const chain = (name: string): NftRequest => ({ do: 'add', kind: 'chain', ...t, name });
const input: NftRequest = {
  do: 'add',
  kind: 'chain',
  ...t,
  name: 'input',
  type: 'filter',
  hook: 'input',
  priority: 0,
  policy: 'accept',
};
const rule = (name: string, ...parts: x.Part[]): NftRequest => ({
  do: 'add',
  kind: 'rule',
  ...t,
  chain: name,
  expressions: x.rule(...parts),
});
const services: NftSet = {
  ...t,
  name: 'services',
  type: ['ipv4_addr', 'inet_proto', 'inet_service'],
  mapType: ['verdict'],
};
const networks: NftSet = { ...t, name: 'networks', type: ['ipv6_addr'], flags: ['interval'] };
const makeSet = (set: NftSet): NftRequest => ({ do: 'add', kind: 'set', ...set });
const elementsOf = ({ family, table: inTable, name, type, mapType, flags }: NftSet) => ({
  kind: 'element' as const,
  family,
  table: inTable,
  set: name,
  type,
  ...(mapType === undefined ? {} : { mapType }),
  ...(flags === undefined ? {} : { flags }),
});
const addService = (key: string, verdict: 'accept' | 'drop' | `goto ${string}`): NftRequest => ({
  do: 'add',
  ...elementsOf(services),
  elements: [{ key, verdict }],
});

/** The codes of a refused commit by request, as [index, code]. */
async function refusals(work: Promise<unknown>): Promise<[number | undefined, string][]> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof KernelError)) throw error ?? new Error('nothing was refused');
  return error.failures.map(({ index, code }) => [index, code]);
}

export function nftContract(open: () => Promise<NftPort>): void {
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

  describe('sets', () => {
    test('are listed with what they were made with', async () => {
      const nft = await open();
      const affinity: NftSet = {
        ...t,
        name: 'affinity',
        type: ['ipv4_addr'],
        flags: ['timeout', 'dynamic'],
        size: 1000,
        comment: 'who went where',
      };
      await nft.commit([table, makeSet(services), makeSet(networks), makeSet(affinity)]);
      expect((await nft.sets(t)).map(({ handle: _, ...rest }) => rest)).toEqual([
        { kind: 'set', ...services },
        { kind: 'set', ...networks },
        { kind: 'set', ...affinity },
      ]);
      expect(await nft.sets({ name: 'networks' })).toHaveLength(1);
    });

    test('refuse another type, and deletion while they are looked up', async () => {
      const nft = await open();
      await nft.commit([
        table,
        chain('a'),
        makeSet(networks),
        rule('a', x.inSet('networks', 'ip6 saddr'), x.drop),
      ]);
      expect(
        await refusals(
          nft.commit([
            { ...makeSet(networks), do: 'create' } as NftRequest,
            makeSet({ ...networks, type: ['inet_service'] }),
            { do: 'delete', kind: 'set', ...t, name: 'networks' },
            { do: 'delete', kind: 'set', ...t, name: 'missing' },
          ]),
        ),
      ).toEqual([
        [0, 'EEXIST'],
        [1, 'EEXIST'],
        [2, 'EBUSY'],
        [3, 'ENOENT'],
      ]);
      await nft.commit([makeSet(networks)]);
    });
  });

  describe('elements', () => {
    test('of a verdict map come and go', async () => {
      const nft = await open();
      await nft.commit([
        table,
        chain('svc-1'),
        makeSet(services),
        {
          do: 'add',
          ...elementsOf(services),
          elements: [
            { key: '10.96.0.1 . tcp . 80', verdict: 'goto svc-1', comment: 'web' },
            { key: '10.96.0.1 . 17 . 53', verdict: 'drop' },
          ],
        },
      ]);
      const listed = await nft.elements({ ...t, set: 'services' });
      expect(listed.sort((a, b) => a.key.localeCompare(b.key))).toEqual([
        { key: '10.96.0.1 . tcp . 80', verdict: 'goto svc-1', comment: 'web' },
        { key: '10.96.0.1 . udp . 53', verdict: 'drop' },
      ]);
      const gone: NftRequest = {
        do: 'delete',
        ...elementsOf(services),
        elements: [{ key: '10.96.0.1 . udp . 53' }],
      };
      await nft.commit([gone]);
      expect(await nft.elements({ ...t, set: 'services' })).toHaveLength(1);
      expect(await refusals(nft.commit([gone]))).toEqual([[0, 'ENOENT']]);
    });

    test('adding the same again is fine, other data or create is EEXIST', async () => {
      const nft = await open();
      const one = addService('10.96.0.1 . tcp . 80', 'accept');
      await nft.commit([table, makeSet(services), one, one]);
      expect(
        await refusals(
          nft.commit([{ ...one, do: 'create' } as NftRequest, addService('10.96.0.1 . tcp . 80', 'drop')]),
        ),
      ).toEqual([
        [0, 'EEXIST'],
        [1, 'EEXIST'],
      ]);
    });

    test('of an interval set are prefixes, ranges and single addresses', async () => {
      const nft = await open();
      const keys = ['::/8', 'fd00::1', 'fd00::5-fd00::9', 'fd01::/16', 'fd02::/16', 'ff00::/8'];
      await nft.commit([
        table,
        makeSet(networks),
        { do: 'add', ...elementsOf(networks), elements: keys.map((key) => ({ key })) },
      ]);
      expect((await nft.elements({ ...t, set: 'networks' })).map(({ key }) => key)).toEqual(keys);
      expect(
        await refusals(
          nft.commit([{ do: 'add', ...elementsOf(networks), elements: [{ key: 'fd01:2::/32' }] }]),
        ),
      ).toEqual([[0, 'EEXIST']]);
      await nft.commit([
        { do: 'delete', ...elementsOf(networks), elements: [{ key: 'fd01::/16' }, { key: 'ff00::/8' }] },
      ]);
      expect((await nft.elements({ ...t, set: 'networks' })).map(({ key }) => key)).toEqual([
        '::/8',
        'fd00::1',
        'fd00::5-fd00::9',
        'fd02::/16',
      ]);
    });

    test('of a concatenation may be ranges in every part', async () => {
      const nft = await open();
      const policy: NftSet = {
        ...t,
        name: 'policy',
        type: ['ipv4_addr', 'inet_proto', 'inet_service'],
        flags: ['interval'],
      };
      const key = '10.0.0.0/24 . tcp . 8000-8080';
      await nft.commit([
        table,
        makeSet(policy),
        { do: 'add', ...elementsOf(policy), elements: [{ key, comment: 'web' }] },
      ]);
      expect(await nft.elements({ ...t, set: 'policy' })).toEqual([{ key, comment: 'web' }]);
      await nft.commit([{ do: 'delete', ...elementsOf(policy), elements: [{ key }] }]);
      expect(await nft.elements({ ...t, set: 'policy' })).toEqual([]);
    });

    test('of a map have data', async () => {
      const nft = await open();
      const map: NftSet = {
        ...t,
        name: 'endpoints',
        type: ['inet_service'],
        mapType: ['ipv4_addr', 'inet_service'],
      };
      await nft.commit([
        table,
        makeSet(map),
        { do: 'add', ...elementsOf(map), elements: [{ key: '80', data: '10.0.0.1 . 8080' }] },
      ]);
      expect(await nft.elements({ ...t, set: 'endpoints' })).toEqual([
        { key: '80', data: '10.0.0.1 . 8080' },
      ]);
    });

    test('keep to the size and the timeouts of their set', async () => {
      const nft = await open();
      const small: NftSet = { ...t, name: 'small', type: ['mark'], size: 1 };
      const timed: NftSet = { ...t, name: 'timed', type: ['ether_addr'], flags: ['timeout'] };
      await nft.commit([
        table,
        makeSet(small),
        makeSet(timed),
        { do: 'add', ...elementsOf(timed), elements: [{ key: '02:00:00:00:00:01', timeoutMs: 60_000 }] },
      ]);
      expect(
        await refusals(
          nft.commit([
            { do: 'add', ...elementsOf(small), elements: [{ key: '1' }, { key: '0x2' }] },
            { do: 'add', ...elementsOf(small), elements: [{ key: '3', timeoutMs: 1000 }] },
          ]),
        ),
      ).toEqual([
        [0, 'ENFILE'],
        [1, 'EINVAL'],
      ]);
      const [one] = await nft.elements({ ...t, set: 'timed' });
      expect(one).toMatchObject({ key: '02:00:00:00:00:01', timeoutMs: 60_000 });
      expect(one?.expiresMs).toBeGreaterThan(50_000);
    });

    test('go only to chains that are there and regular', async () => {
      const nft = await open();
      await nft.commit([table, input, makeSet(services)]);
      expect(
        await refusals(
          nft.commit([
            addService('10.96.0.1 . tcp . 80', 'goto missing'),
            addService('10.96.0.2 . tcp . 80', 'goto input'),
          ]),
        ),
      ).toEqual([
        [0, 'ENOENT'],
        [1, 'EOPNOTSUPP'],
      ]);
    });

    test('of a missing set are ENOENT', async () => {
      const nft = await open();
      await nft.commit([table]);
      expect(await refusals(nft.elements({ ...t, set: 'missing' }))).toEqual([[undefined, 'ENOENT']]);
      expect(await refusals(nft.commit([addService('10.96.0.1 . tcp . 80', 'drop')]))).toEqual([
        [0, 'ENOENT'],
      ]);
    });
  });

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
}
