// The kernel's sets keep the contract of the port.
import { openIpset } from '../../../src/kernel/ipset/adapter.js';
import { ipsetContract } from '../../support/contracts/ipset.js';
import { makeNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

describeWith({ root: true }, 'ipset', () => {
  ipsetContract('the kernel', async () => {
    const ns = await makeNetNs();
    const port = await openIpset(ns.path);
    return {
      port,
      dispose: async () => {
        port.close();
        await ns.remove();
      },
    };
  });
});
