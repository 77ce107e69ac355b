// The sets in memory keep the contract of the port, and end entries by the clock they are given.
import { expect, test } from 'vitest';
import { FakeIpset } from '../../../../src/kernel/ipset/fake.js';
import { ipsetContract } from '../../../support/contracts/ipset.js';

ipsetContract('the fake', async () => ({ port: new FakeIpset(), dispose: async () => undefined }));

test('ends entries when their time has come', async () => {
  let nowMs = 0;
  const port = new FakeIpset(() => nowMs);
  await port.apply([
    { do: 'add', kind: 'set', name: 's', type: 'hash:ip', timeout: 10 },
    { do: 'add', kind: 'entry', set: 's', entries: ['10.0.0.1', { entry: '10.0.0.2', timeout: 20 }] },
  ]);
  nowMs = 12_000;
  expect((await port.get('s'))?.entries).toEqual([{ entry: '10.0.0.2', timeout: 8 }]);
});
