// The in-memory nf_tables against the contract, and its clock.
import { expect, test } from 'vitest';
import { FakeNft } from '../../../../src/kernel/nftables/fake.js';
import { nftContract } from '../../../support/contracts/nftables.js';

nftContract(async () => new FakeNft());

test('elements go when their time is over', async () => {
  let now = 0;
  const nft = new FakeNft({ now: () => now });
  const set = { family: 'ip', table: 't', type: ['ipv4_addr'], flags: ['timeout'] } as const;
  await nft.commit([
    { do: 'add', kind: 'table', family: 'ip', name: 't' },
    { do: 'add', kind: 'set', ...set, name: 's', timeoutMs: 5000 },
    {
      do: 'add',
      kind: 'element',
      ...set,
      set: 's',
      elements: [{ key: '10.0.0.1' }, { key: '10.0.0.2', timeoutMs: 9000 }],
    },
  ]);
  now = 6000;
  expect(await nft.elements({ family: 'ip', table: 't', set: 's' })).toEqual([
    { key: '10.0.0.2', timeoutMs: 9000, expiresMs: 3000 },
  ]);
});
