import { openConntrack } from '../../../src/kernel/conntrack/adapter.js';
import { conntrackContract } from '../../support/contracts/conntrack.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

describeWith({ root: true }, 'connection tracking of the kernel', () => {
  const netns = netNsPerTest();
  conntrackContract(async () => netns.closing(await openConntrack((await netns.make()).path)));
});
