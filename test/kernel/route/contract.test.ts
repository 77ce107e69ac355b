// The kernel keeps the contract that the fake is held to.
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { routeContract } from '../../support/contracts/route.js';
import { makeNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

describeWith({ root: true }, 'the real kernel', () => {
  routeContract('rtnetlink', async () => {
    const ns = await makeNetNs();
    const port = await openRoute(ns.path);
    return {
      port,
      dispose: async () => {
        port.close();
        await ns.remove();
      },
    };
  });
});
