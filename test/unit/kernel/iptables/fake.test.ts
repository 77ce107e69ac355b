import { describe } from 'vitest';
import { FakeIptables } from '../../../../src/kernel/iptables/fake.js';
import { iptablesContract } from '../../../support/contracts/iptables.js';

describe.each(['inet', 'inet6'] as const)('FakeIptables of %s', (family) => {
  iptablesContract(family, async () => new FakeIptables({ family }));
});
