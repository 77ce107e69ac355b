import { expect, test } from 'vitest';
import { proxyConfig } from '../../../src/cli/proxy.js';
import { API_VERSION, KIND, settle } from '../../../src/proxy/config.js';

test('every flag says what its field says', () => {
  const config = proxyConfig(
    {
      kubeconfig: '/k',
      hostnameOverride: 'n',
      proxyMode: 'ipvs',
      bindAddress: '127.0.0.1',
      bindAddressHardFail: false,
      oomScoreAdj: 5,
      healthzBindAddress: '[::]:1',
      metricsBindAddress: '127.0.0.1:2',
      clusterCidr: '10.0.0.0/8,fd00::/48',
      detectLocalMode: 'BridgeInterface',
      podBridgeInterface: 'br0',
      podInterfaceNamePrefix: 'veth',
      nodeportAddresses: '192.168.0.0/16',
      masqueradeAll: true,
      iptablesMasqueradeBit: 3,
      iptablesLocalhostNodeports: true,
      ipvsSyncPeriod: 61_000,
      ipvsMinSyncPeriod: 20,
      ipvsScheduler: 'lc',
      ipvsExcludeCidrs: '10.1.0.0/16',
      ipvsStrictArp: true,
      ipvsTcpTimeout: 900_000,
      ipvsTcpfinTimeout: 30_000,
      ipvsUdpTimeout: 1500,
      conntrackMaxPerCore: 7,
      conntrackMin: 8,
      conntrackTcpTimeoutEstablished: 0,
      conntrackTcpTimeoutCloseWait: 60_000,
      conntrackTcpBeLiberal: true,
      conntrackUdpTimeout: 30_000,
      conntrackUdpTimeoutStream: 1500,
      loggingFormat: 'json',
    },
    undefined,
  );
  const { logVerbosity, ...usual } = settle();
  // Where a flag were forgotten its field would be the usual one.
  for (const [field, value] of Object.entries(usual)) expect(config).not.toMatchObject({ [field]: value });
  expect(config).toMatchObject({ logVerbosity, ipvsTcpFinMs: 30_000, ipvsUdpMs: 1500, syncPeriodMs: 61_000 });
});

test.each([
  ['nftables', { syncPeriodMs: 2000, masqueradeBit: 6 }],
  ['iptables', { syncPeriodMs: 1000, masqueradeBit: 5 }],
  ['ipvs', { syncPeriodMs: 3000, masqueradeBit: 5 }],
] as const)('where the machine chooses %s, the section of that mode is read', (mode, expected) => {
  const document = {
    apiVersion: API_VERSION,
    kind: KIND,
    iptables: { masqueradeBit: 5, syncPeriod: '1s', minSyncPeriod: '1s' },
    nftables: { masqueradeBit: 6, syncPeriod: '2s' },
    ipvs: { syncPeriod: '3s' },
  };
  expect(proxyConfig({}, document, mode)).toMatchObject(expected);
});

test.each([
  ['ipvs', 20_000],
  ['iptables', 10_000],
  ['nftables', 10_000],
  ['auto', 10_000],
])('the periods of a mode are those of its flags: %s', (mode, syncPeriodMs) => {
  const flags = { iptablesSyncPeriod: 10_000, ipvsSyncPeriod: 20_000 };
  expect(proxyConfig({ ...flags, proxyMode: mode }, undefined).syncPeriodMs).toBe(syncPeriodMs);
  expect(proxyConfig(flags, { apiVersion: API_VERSION, kind: KIND, mode }).syncPeriodMs).toBe(syncPeriodMs);
});
