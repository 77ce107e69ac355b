// What every NftPort does: sets and their elements.
import { describe, expect, test } from 'vitest';
import * as x from '../../../../src/kernel/nftables/expressions.js';
import type { NftPort, NftRequest, NftSet } from '../../../../src/kernel/nftables/port.js';
import {
  addService,
  chain,
  elementsOf,
  input,
  makeSet,
  networks,
  refusals,
  rule,
  services,
  t,
  table,
} from './requests.js';

export function setContract(open: () => Promise<NftPort>): void {
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
}
