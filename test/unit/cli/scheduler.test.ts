// The flags of `trellis scheduler`: what they change, and what is told when they are wrong.
import { describe, expect, it } from 'vitest';
import { servingOf, withFlags } from '../../../src/cli/scheduler.js';
import { defaultConfiguration } from '../../../src/scheduler/configuration/configuration.js';

describe('flags', () => {
  const election = (flags: Parameters<typeof withFlags>[1]) =>
    withFlags(defaultConfiguration(), flags).leaderElection;
  it('leave the file alone when absent', () => {
    expect(election({})).toEqual(defaultConfiguration().leaderElection);
  });
  it('go before the file', () => {
    const flags = { leaderElect: 'false', leaderElectLeaseDuration: '1m', leaderElectResourceName: 'mine' };
    expect(election(flags)).toMatchObject({
      leaderElect: false,
      leaseDurationMs: 60_000,
      resourceName: 'mine',
    });
  });
  it.each([
    [{ leaderElect: 'perhaps' }, '--leader-elect: must be true or false'],
    [{ leaderElectRetryPeriod: 'soon' }, '--leader-elect-retry-period: "soon" is no duration such as 15s'],
  ])('%j is refused', (flags, message) => {
    expect(() => election(flags)).toThrow(message);
  });
});

describe('where health and metrics are served', () => {
  it('is nowhere with port 0', async () => {
    expect(await servingOf({ securePort: '0' })).toBeUndefined();
  });
  it("is kube-scheduler's port on all addresses, with a certificate of its own", async () => {
    const serving = await servingOf({});
    expect(serving).toMatchObject({ host: '0.0.0.0', port: 10_259 });
    expect(serving?.tls.cert).toContain('BEGIN CERTIFICATE');
  });
  it.each([
    [{ securePort: '70000' }, '--secure-port: "70000" is no port'],
    [{ securePort: '-1' }, '--secure-port: "-1" is no port'],
    [{ bindAddress: 'here' }, '--bind-address: "here" is no IP address'],
    [{ tlsCertFile: '/x' }, '--tls-cert-file and --tls-private-key-file go together'],
    [{ clientCaFile: '/does/not/exist' }, '--client-ca-file: ENOENT'],
  ])('%j is refused', async (flags, message) => {
    await expect(servingOf(flags)).rejects.toThrow(message);
  });
});
