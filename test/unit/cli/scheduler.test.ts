// The flags of `trellis scheduler`: what they change, and what is told when they are wrong.
import { describe, expect, test } from 'vitest';
import { withFlags } from '../../../src/cli/scheduler.js';
import { defaultConfiguration } from '../../../src/scheduler/configuration/configuration.js';

describe('flags', () => {
  const election = (flags: Parameters<typeof withFlags>[1]) =>
    withFlags(defaultConfiguration(), flags).leaderElection;
  test('leave the file alone when absent', () => {
    expect(election({})).toEqual(defaultConfiguration().leaderElection);
  });
  test('go before the file', () => {
    const flags = { leaderElect: false, leaderElectLeaseDuration: '1m', leaderElectResourceName: 'mine' };
    expect(election(flags)).toMatchObject({
      leaderElect: false,
      leaseDurationMs: 60_000,
      resourceName: 'mine',
    });
  });
  test.each([
    [{ leaderElectRetryPeriod: 'soon' }, '--leader-elect-retry-period: "soon" is not a duration such as 15s'],
  ])('%j is refused', (flags, message) => {
    expect(() => election(flags)).toThrow(message);
  });
});
