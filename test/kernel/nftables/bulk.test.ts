// Large transactions: ten thousand elements and rules, and more refusals than a socket buffer holds.
// Guarantees: one transaction each; the event loop keeps turning while they run.
import { expect, test } from 'vitest';
import { KernelError } from '../../../src/kernel/error.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import * as x from '../../../src/kernel/nftables/expressions.js';
import type { NftRequest } from '../../../src/kernel/nftables/port.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const t = { family: 'ip', table: 't' } as const;
const services = {
  ...t,
  type: ['ipv4_addr', 'inet_proto', 'inet_service'],
  mapType: ['verdict'],
} as const;
const setup: NftRequest[] = [
  { do: 'add', kind: 'table', family: 'ip', name: 't' },
  { do: 'add', kind: 'chain', ...t, name: 'c' },
  { do: 'add', kind: 'set', ...services, name: 'services' },
];
const COUNT = 10_000;
const elements = Array.from({ length: COUNT }, (_, index) => ({
  key: `10.96.${index >> 8}.${index & 255} . tcp . 80`,
  verdict: 'goto c' as const,
}));
const addAll: NftRequest = { do: 'add', kind: 'element', ...services, set: 'services', elements };

describeWith({ root: true }, 'large transactions', () => {
  const namespaces = netNsPerTest();
  const open = async () => namespaces.closing(await openNft((await namespaces.make()).path));

  test('ten thousand elements of a verdict map', async () => {
    const nft = await open();
    await nft.commit(setup);
    let turns = 0;
    const turn = () => {
      turns++;
      timer = setImmediate(turn);
    };
    let timer = setImmediate(turn);
    await nft.commit([addAll]);
    clearImmediate(timer);
    const listed = await nft.elements({ ...t, set: 'services' });
    expect(listed).toHaveLength(COUNT);
    expect(new Set(listed.map(({ key }) => key))).toEqual(new Set(elements.map(({ key }) => key)));
    // The requests become bytes in slices, with a turn of the loop between two.
    expect(turns).toBeGreaterThan(5);
    await nft.commit([
      { ...addAll, do: 'delete', elements: elements.map(({ key }) => ({ key })) } as NftRequest,
    ]);
    expect(await nft.elements({ ...t, set: 'services' })).toEqual([]);
  });

  test('one wrong element among ten thousand leaves nothing, and is told as its request', async () => {
    const nft = await open();
    await nft.commit(setup);
    const wrong = { key: '10.97.0.1 . tcp . 80', verdict: 'goto missing' as const };
    const all: NftRequest = { ...addAll, elements: [...elements, wrong] };
    const error = await nft.commit([...setup, all]).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ENOENT', index: 3, operation: 'add element services' });
    expect((error as KernelError).failures).toHaveLength(1);
    expect(await nft.elements({ ...t, set: 'services' })).toEqual([]);
  });

  test('ten thousand rules in one transaction', async () => {
    const nft = await open();
    const rule: NftRequest = {
      do: 'add',
      kind: 'rule',
      ...t,
      chain: 'c',
      expressions: x.rule(x.ipSaddr('10.0.0.0/8'), x.l4proto('tcp'), x.dport(80), x.counter, x.drop),
    };
    await nft.commit([...setup, ...Array<NftRequest>(COUNT).fill(rule)]);
    expect(await nft.rules({ ...t, chain: 'c' })).toHaveLength(COUNT);
  });

  test('more refusals than the socket holds are still an error, and nothing is done', async () => {
    const nft = await open();
    const missing: NftRequest = { do: 'delete', kind: 'chain', ...t, name: 'missing' };
    const error = await nft
      .commit([...setup, ...Array<NftRequest>(50_000).fill(missing)])
      .catch((reason: unknown) => reason);
    if (!(error instanceof KernelError)) throw error;
    expect(error).toMatchObject({ code: 'ENOENT', index: 3 });
    expect(error.failures.length).toBeGreaterThan(1000);
    expect(await nft.tables()).toEqual([]);
    await nft.commit(setup);
  });
});
