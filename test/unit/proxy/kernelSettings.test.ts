// What a proxy's configuration asks of the kernel.
import { describe, expect, test } from 'vitest';
import { type ConfigOverrides, settle } from '../../../src/proxy/config.js';
import { kernelSettings } from '../../../src/proxy/kernelSettings.js';

const asked = (config: ConfigOverrides, cores = 2, mode = 'nftables') =>
  kernelSettings(settle(config), cores, mode).map(({ name, value }) => [name.split('/').at(-1), value]);

describe('the kernel settings of a proxy', () => {
  test('are kube-proxy’s where nothing is said', () => {
    expect(asked({})).toEqual([
      ['nf_conntrack_max', 131_072],
      ['nf_conntrack_tcp_timeout_established', 86_400],
      ['nf_conntrack_tcp_timeout_close_wait', 3600],
    ]);
  });

  test('grow with the cores, and are only ever raised', () => {
    expect(asked({}, 8)[0]).toEqual(['nf_conntrack_max', 262_144]);
    expect(kernelSettings(settle({}), 8, 'nftables')[0]).toMatchObject({ isMinimum: true });
  });

  test('are left alone where they are zero', () => {
    const none = { conntrackMaxPerCore: 0, conntrackTcpEstablishedMs: 0, conntrackTcpCloseWaitMs: 0 };
    expect(asked(none)).toEqual([]);
    expect(asked({ ...none, conntrackUdpMs: 1500, conntrackUdpStreamMs: 120_000 })).toEqual([
      ['nf_conntrack_udp_timeout', 2],
      ['nf_conntrack_udp_timeout_stream', 120],
    ]);
    expect(asked({ ...none, conntrackTcpBeLiberal: true })).toEqual([['nf_conntrack_tcp_be_liberal', 1]]);
  });

  test('open loopback only for the mode that serves node ports there', () => {
    const config = { conntrackMaxPerCore: 0, localhostNodePorts: true };
    expect(asked(config, 2, 'iptables')).toContainEqual(['route_localnet', 1]);
    expect(asked(config, 2, 'ipvs')).not.toContainEqual(['route_localnet', 1]);
  });
});
