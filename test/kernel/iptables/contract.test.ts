import { describe } from 'vitest';
import { openIptables } from '../../../src/kernel/iptables/adapter.js';
import { iptablesContract } from '../../support/contracts/iptables.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

describe.each(['nft', 'legacy'] as const)('iptables, back end %s', (backend) => {
  const tools = [`iptables-${backend}-restore`, `ip6tables-${backend}-restore`];
  describeWith({ root: true, tools }, 'of a throw-away namespace', () => {
    const netns = netNsPerTest();
    describe.each(['inet', 'inet6'] as const)('%s', (family) => {
      iptablesContract(family, async () =>
        openIptables({ family, backend, netns: (await netns.make()).path }),
      );
    });
  });
});
