// What IpSetPort promises, as tests that the fake and the real kernel both pass.
// Guarantees: whatever is asked here behaves the same in both.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KernelError } from '../../../src/kernel/error.js';
import type { IpSetOptions, IpSetPort, IpSetRequest } from '../../../src/kernel/ipset/port.js';

const set = (name: string, options: IpSetOptions) => ({ do: 'add', kind: 'set', name, ...options }) as const;
const add = (name: string, ...entries: Extract<IpSetRequest, { kind: 'entry' }>['entries']) =>
  ({ do: 'add', kind: 'entry', set: name, entries }) as const;
const remove = (name: string, ...entries: string[]) =>
  ({ do: 'delete', kind: 'entry', set: name, entries }) as const;

/** Set options, entries as they are given, and as they are listed when that differs. */
const ROUND_TRIPS: readonly [IpSetOptions, string[], string[]?][] = [
  [{ type: 'hash:ip' }, ['10.0.0.1', '10.0.0.2']],
  [{ type: 'hash:ip', netmask: 24 }, ['10.0.0.1', '10.0.1.1'], ['10.0.0.0', '10.0.1.0']],
  [{ type: 'hash:ip', family: 'inet6' }, ['fd00::1', 'FD00:0::2'], ['fd00::1', 'fd00::2']],
  [{ type: 'hash:ip' }, ['10.0.0.0/30'], ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3']],
  [{ type: 'hash:ip,port' }, ['10.0.0.1,tcp:80', '10.0.0.1,udp:53', '10.0.0.1,sctp:7']],
  [
    { type: 'hash:ip,port' },
    ['10.0.0.1,81', '10.0.0.1,udp:5-6'],
    ['10.0.0.1,tcp:81', '10.0.0.1,udp:5', '10.0.0.1,udp:6'],
  ],
  [{ type: 'hash:ip,port', family: 'inet6' }, ['fd00::1,tcp:80']],
  [{ type: 'hash:ip,port,ip' }, ['10.0.0.1,tcp:80,10.0.0.1']],
  [{ type: 'hash:ip,port,ip', family: 'inet6' }, ['fd00::1,udp:80,fd00::2']],
  [{ type: 'hash:ip,port,net' }, ['10.0.0.1,udp:53,10.1.2.3/16'], ['10.0.0.1,udp:53,10.1.0.0/16']],
  [{ type: 'hash:ip,port,net', family: 'inet6' }, ['fd00::1,tcp:80,fd01::/64']],
  [{ type: 'hash:net' }, ['10.0.0.0/8', '192.168.1.1']],
  [{ type: 'hash:net' }, ['10.0.0.1-10.0.0.4'], ['10.0.0.1', '10.0.0.2/31', '10.0.0.4']],
  [{ type: 'hash:net', family: 'inet6' }, ['fd00::/8', 'fd01::1']],
  [{ type: 'hash:net,port' }, ['10.0.0.0/8,tcp:443']],
  [{ type: 'hash:net,port', family: 'inet6' }, ['fd00::/64,tcp:443']],
  [{ type: 'hash:net,iface' }, ['10.0.0.0/8,eth0', '0.0.0.0/0,physdev:eth1']],
  [{ type: 'bitmap:port', range: '1-65535' }, ['80', '8000-8002'], ['80', '8000', '8001', '8002']],
];

export function ipsetContract(
  name: string,
  open: () => Promise<{ port: IpSetPort; dispose(): Promise<void> }>,
): void {
  describe(`${name}: the contract of ipset`, () => {
    let port: IpSetPort;
    let dispose: () => Promise<void>;
    beforeEach(async () => {
      ({ port, dispose } = await open());
    });
    afterEach(() => dispose());

    const texts = async (of: string) => (await port.get(of))?.entries.map(({ entry }) => entry).sort();
    const failing = async (requests: readonly IpSetRequest[]) => {
      const error = await port.apply(requests).then(
        () => {
          throw new Error('nothing was refused');
        },
        (refused: KernelError) => refused,
      );
      return error.failures.map(({ code, index, entry }) => [code, index, entry]);
    };

    test.each(ROUND_TRIPS)('keeps entries of %j: %j', async (options, entries, listed) => {
      await port.apply([set('s', options), add('s', ...entries)]);
      expect(await port.get('s')).toMatchObject({
        ...options,
        name: 's',
        numentries: (listed ?? entries).length,
      });
      expect(await texts('s')).toEqual([...(listed ?? entries)].sort());
      if (listed === undefined) expect(await port.test('s', entries)).toEqual(entries.map(() => true));
      await port.apply([remove('s', ...entries)]);
      expect(await texts('s')).toEqual([]);
    });

    test('lists options, headers and every set; a list comes last', async () => {
      await port.apply([
        set('l', { type: 'list:set', size: 4 }),
        set('h', { type: 'hash:ip', hashsize: 2048, maxelem: 10, timeout: 0, comment: true, counters: true }),
        add('h', '10.0.0.1'),
      ]);
      expect(await port.list()).toMatchObject([
        {
          name: 'h',
          type: 'hash:ip',
          family: 'inet',
          hashsize: 2048,
          maxelem: 10,
          timeout: 0,
          comment: true,
          counters: true,
          references: 0,
          numentries: 1,
          entries: [{ entry: '10.0.0.1', timeout: 0, packets: 0, bytes: 0 }],
        },
        { name: 'l', type: 'list:set', size: 4, entries: [] },
      ]);
      expect((await port.listHeaders()).map((header) => ['entries' in header, header.name])).toEqual([
        [false, 'h'],
        [false, 'l'],
      ]);
      expect(await port.get('gone')).toBeUndefined();
    });

    test('keeps comments, timeouts and counters of entries', async () => {
      await port.apply([
        set('s', { type: 'hash:ip,port', timeout: 600, comment: true, counters: true }),
        add(
          's',
          { entry: '10.0.0.1,tcp:80', comment: 'default/svc:http ü', timeout: 0, packets: 3, bytes: 300 },
          { entry: '10.0.0.2,tcp:80', timeout: 1200 },
          '10.0.0.3,tcp:80',
        ),
      ]);
      const [first, second, third] =
        (await port.get('s'))?.entries.slice().sort((a, b) => a.entry.localeCompare(b.entry)) ?? [];
      expect(first).toEqual({
        entry: '10.0.0.1,tcp:80',
        comment: 'default/svc:http ü',
        timeout: 0,
        packets: 3,
        bytes: 300,
      });
      expect(second?.timeout).toBeGreaterThan(1190);
      expect(third?.timeout).toBeGreaterThan(590);
      expect(third?.timeout).toBeLessThanOrEqual(600);
    });

    test('replaces the comment of an entry that may exist', async () => {
      await port.apply([
        set('s', { type: 'hash:ip', comment: true }),
        add('s', { entry: '10.0.0.1', comment: 'old' }),
        { ...add('s', { entry: '10.0.0.1', comment: 'new' }, '10.0.0.2'), existsOk: true },
      ]);
      expect((await port.get('s'))?.entries).toContainEqual({ entry: '10.0.0.1', comment: 'new' });
    });

    test('looks hosts up in networks, and heeds nomatch', async () => {
      await port.apply([
        set('s', { type: 'hash:net' }),
        add('s', '10.0.0.0/8', { entry: '10.1.0.0/16', nomatch: true }),
      ]);
      expect(await port.test('s', ['10.0.0.1', '10.1.0.1', '11.0.0.1'])).toEqual([true, false, false]);
      expect((await port.get('s'))?.entries).toContainEqual({ entry: '10.1.0.0/16', nomatch: true });
    });

    test('refuses entries one by one and does all the others, in order', async () => {
      const failures = failing([
        set('s', { type: 'bitmap:port', range: '0-1000' }),
        add('s', '1', '1', '2', '2000', '3', '3', '4'),
        remove('s', '1', '9', '2'),
        add('gone', 'whatever', 'it is'),
        add('s', '5'),
      ]);
      expect(await failures).toEqual([
        ['EEXIST', 1, 1],
        ['IPSET_ERR_BITMAP_RANGE', 1, 3],
        ['EEXIST', 1, 5],
        ['ENOENT', 2, 1],
        ['ENOENT', 3, undefined],
      ]);
      expect(await texts('s')).toEqual(['3', '4', '5']);
    });

    test('finishes entries behind a refused one before what comes after them', async () => {
      expect(
        await failing([
          set('a', { type: 'hash:ip' }),
          set('b', { type: 'hash:ip' }),
          add('a', '10.0.0.1', '10.0.0.1', '10.0.0.2'),
          { do: 'swap', kind: 'set', name: 'a', with: 'b' },
          add('a', '10.0.0.3'),
        ]),
      ).toEqual([['EEXIST', 2, 1]]);
      expect(await texts('a')).toEqual(['10.0.0.3']);
      expect(await texts('b')).toEqual(['10.0.0.1', '10.0.0.2']);
    });

    test('allows what exists and what is missing where it is asked to', async () => {
      await port.apply([set('s', { type: 'hash:ip' }), add('s', '10.0.0.1')]);
      await port.apply([
        { ...set('s', { type: 'hash:ip' }), existsOk: true },
        { ...add('s', '10.0.0.1', '10.0.0.2'), existsOk: true },
        { ...remove('s', '10.0.0.1', '10.0.0.9'), missingOk: true },
        { ...remove('gone', '10.0.0.9'), missingOk: true },
        { do: 'delete', kind: 'set', name: 'gone', missingOk: true },
      ]);
      expect(await texts('s')).toEqual(['10.0.0.2']);
      expect(await failing([set('s', { type: 'hash:ip' })])).toEqual([['EEXIST', 0, undefined]]);
      expect(await failing([{ ...set('s', { type: 'hash:ip', maxelem: 5 }), existsOk: true }])).toEqual([
        ['IPSET_ERR_TYPE_MISMATCH', 0, undefined],
      ]);
    });

    test('renames, swaps, flushes and deletes sets', async () => {
      await port.apply([
        set('a', { type: 'hash:ip' }),
        add('a', '10.0.0.1'),
        { do: 'rename', kind: 'set', name: 'a', newName: 'b' },
        add('b', '10.0.0.2'),
        set('c', { type: 'hash:ip' }),
        { do: 'swap', kind: 'set', name: 'b', with: 'c' },
        { do: 'flush', kind: 'set', name: 'b' },
      ]);
      expect(await texts('c')).toEqual(['10.0.0.1', '10.0.0.2']);
      expect(
        await failing([
          { do: 'rename', kind: 'set', name: 'b', newName: 'c' },
          { do: 'rename', kind: 'set', name: 'gone', newName: 'd' },
          { do: 'swap', kind: 'set', name: 'b', with: 'gone' },
          { do: 'delete', kind: 'set', name: 'gone' },
          { do: 'flush', kind: 'set', name: 'gone' },
        ]),
      ).toEqual([
        ['EEXIST', 0, undefined],
        ['ENOENT', 1, undefined],
        ['ENOENT', 2, undefined],
        ['ENOENT', 3, undefined],
        ['ENOENT', 4, undefined],
      ]);
      await port.apply([{ do: 'flush', kind: 'set', all: true }]);
      expect(await texts('c')).toEqual([]);
      await port.apply([{ do: 'delete', kind: 'set', all: true }]);
      expect(await port.list()).toEqual([]);
    });

    test('refuses to swap sets that differ in family', async () => {
      await port.apply([set('a', { type: 'hash:ip' }), set('b', { type: 'hash:ip', family: 'inet6' })]);
      expect(await failing([{ do: 'swap', kind: 'set', name: 'a', with: 'b' }])).toEqual([
        ['IPSET_ERR_TYPE_MISMATCH', 0, undefined],
      ]);
    });

    test('keeps sets in lists, in their places', async () => {
      await port.apply([
        ...['a', 'b', 'c', 'd'].map((one) => set(one, { type: 'hash:ip' })),
        set('l', { type: 'list:set' }),
        set('m', { type: 'list:set' }),
        add('l', 'b', { entry: 'a', before: 'b' }, { entry: 'c', after: 'a' }),
      ]);
      expect((await port.get('l'))?.entries.map(({ entry }) => entry)).toEqual(['a', 'c', 'b']);
      expect(await port.test('l', ['a', 'd'])).toEqual([true, false]);
      expect(await port.get('a')).toMatchObject({ references: 1 });
      expect(
        await failing([
          add('l', 'gone', 'm', 'a', { entry: 'd', before: 'gone' }),
          { do: 'delete', kind: 'set', name: 'a' },
          { do: 'rename', kind: 'set', name: 'a', newName: 'z' },
          { do: 'delete', kind: 'set', all: true },
        ]),
      ).toEqual([
        ['IPSET_ERR_NAME', 0, 0],
        ['IPSET_ERR_LOOP', 0, 1],
        ['EEXIST', 0, 2],
        ['IPSET_ERR_NAMEREF', 0, 3],
        ['IPSET_ERR_BUSY', 1, undefined],
        ['IPSET_ERR_REFERENCED', 2, undefined],
        ['IPSET_ERR_BUSY', 3, undefined],
      ]);
      await port.apply([remove('l', 'a'), { do: 'delete', kind: 'set', name: 'a' }]);
    });

    test('refuses extras that the set was not made for, full sets and prefixes of no length', async () => {
      await port.apply([set('s', { type: 'hash:net', maxelem: 2 })]);
      expect(
        await failing([
          add(
            's',
            { entry: '10.0.0.1', timeout: 3 },
            { entry: '10.0.0.1', comment: 'x' },
            { entry: '10.0.0.1', packets: 1 },
          ),
          add('s', '0.0.0.0/0', '10.0.0.1', '10.0.0.2', '10.0.0.3'),
        ]),
      ).toEqual([
        ['IPSET_ERR_TIMEOUT', 0, 0],
        ['IPSET_ERR_COMMENT', 0, 1],
        ['IPSET_ERR_COUNTER', 0, 2],
        ['IPSET_ERR_INVALID_CIDR', 1, 0],
        ['IPSET_ERR_HASH_FULL', 1, 3],
      ]);
      expect(await texts('s')).toEqual(['10.0.0.1', '10.0.0.2']);
    });

    test.each<[string, IpSetRequest]>([
      ['a name of 32 bytes', set('n'.repeat(32), { type: 'hash:ip' })],
      ['no name', set('', { type: 'hash:ip' })],
      ['an unknown type', set('x', { type: 'hash:nothing' as 'hash:ip' })],
      ['a bitmap without a range', set('x', { type: 'bitmap:port' })],
      ['an option of another type', set('x', { type: 'list:set', hashsize: 64 })],
      ['an IPv6 address in an IPv4 set', add('s', '10.0.0.1,tcp:80', 'fd00::1,tcp:80')],
      ['an IPv4 address in an IPv6 set', add('six', '10.0.0.1')],
      ['a part too few', add('s', '10.0.0.1')],
      ['a part too many', add('s', '10.0.0.1,tcp:80,10.0.0.1')],
      ['an unknown protocol', add('s', '10.0.0.1,foo:80')],
      ['a port that is none', add('s', '10.0.0.1,tcp:65536')],
      ['an address that is none', add('s', '10.0.0.256,tcp:80')],
      ['a prefix that is too long', add('s', '10.0.0.0/33,tcp:80')],
      ['nomatch in a set without networks', add('s', { entry: '10.0.0.1,tcp:80', nomatch: true })],
      ['a comment of 256 bytes', add('s', { entry: '10.0.0.1,tcp:80', comment: 'c'.repeat(256) })],
      ['a comment with a quote', add('s', { entry: '10.0.0.1,tcp:80', comment: 'a"b' })],
    ])('finds %s before anything is done', async (_, request) => {
      await port.apply([
        set('s', { type: 'hash:ip,port', comment: true }),
        set('six', { type: 'hash:ip', family: 'inet6' }),
      ]);
      const failed = port.apply([set('early', { type: 'hash:ip' }), add('s', '10.9.9.9,tcp:1'), request]);
      await expect(failed).rejects.toMatchObject({ name: 'KernelError', code: 'INVALID' });
      expect((await port.list()).map(({ name: one, entries }) => [one, entries]).sort()).toEqual([
        ['s', []],
        ['six', []],
      ]);
    });

    test('rejects calls after close', async () => {
      port.close();
      port.close();
      await expect(port.list()).rejects.toMatchObject({ code: 'CLOSED' });
      await expect(port.apply([set('s', { type: 'hash:ip' })])).rejects.toMatchObject({ code: 'CLOSED' });
    });
  });
}
