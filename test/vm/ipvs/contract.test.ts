// The kernel's IPVS keeps the contract of the port.
import { openIpvs } from '../../../src/kernel/ipvs/adapter.js';
import { ipvsContract } from '../../support/contracts/ipvs.js';
import { makeNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

describeWith({ root: true, features: ['ip-vs'] }, 'IPVS', () => {
  ipvsContract('the kernel', async () => {
    const ns = await makeNetNs();
    await ns.run('ip', 'link', 'set', 'lo', 'up');
    const port = await openIpvs(ns.path);
    return {
      port,
      dispose: async () => {
        port.close();
        await ns.remove();
      },
    };
  });
});
