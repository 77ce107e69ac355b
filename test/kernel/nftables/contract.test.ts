// The kernel's nf_tables against the contract.
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { nftContract } from '../../support/contracts/nftables.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

describeWith({ root: true }, 'nf_tables of the kernel', () => {
  const namespaces = netNsPerTest();
  nftContract(async () => namespaces.closing(await openNft((await namespaces.make()).path)));
});
