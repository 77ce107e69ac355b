import { describe, expect, it } from 'vitest';
import {
  API_VERSION,
  DEFAULT_CONFIG,
  durationMs,
  hostAndPort,
  KIND,
  readConfigFile,
  settle,
  trafficOf,
} from '../../../src/proxy/config.js';
import { configView } from '../../../src/proxy/configView.js';

const file = (fields: object) => readConfigFile({ apiVersion: API_VERSION, kind: KIND, ...fields });
const node = { ips: ['192.168.0.1', 'fd00::1'], podCidrs: ['10.244.3.0/24', 'fd00:244:3::/64'] };

describe('the configuration of a proxy', () => {
  it.each([
    ['clusterCidr', { clusterCidr: '10.0.0.0/8' }],
    ['iptables.masqueradeall', { iptables: { masqueradeall: true } }],
    ['conntrack.max', { conntrack: { max: 1 } }],
  ])('refuses a field that is misspelt: %s', (path, fields) => {
    const document = {
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      ...fields,
    };
    expect(() => readConfigFile(document)).toThrow(`${path} is no field of this configuration`);
  });

  it('is kube-proxy’s own where nothing is said', () => {
    expect(settle(file({}))).toEqual(DEFAULT_CONFIG);
  });

  it('takes the file over the defaults and the flags over the file', () => {
    const config = settle(
      file({
        mode: 'ipvs',
        clusterCIDR: '10.244.0.0/16,fd00:244::/48',
        clientConnection: { kubeconfig: '/a' },
        ipvs: { scheduler: 'lc', strictARP: true, excludeCIDRs: ['10.9.0.0/16'], syncPeriod: '10s' },
        iptables: { masqueradeAll: true },
        conntrack: { maxPerCore: 0 },
      }),
      { kubeconfig: '/b', ipvsScheduler: undefined },
    );
    expect(config).toMatchObject({
      mode: 'ipvs',
      kubeconfig: '/b',
      clusterCidrs: ['10.244.0.0/16', 'fd00:244::/48'],
      ipvsScheduler: 'lc',
      ipvsStrictArp: true,
      ipvsExcludeCidrs: ['10.9.0.0/16'],
      syncPeriodMs: 10_000,
      masqueradeAll: true,
      conntrackMaxPerCore: 0,
    });
  });

  it.each<[string, () => unknown, RegExp]>([
    ['another kind', () => readConfigFile({ kind: 'Pod' }), /apiVersion must be/],
    ['no object', () => readConfigFile([1]), /the file must be an object/],
    ['a mode nobody has', () => settle({ mode: 'ebpf' as 'auto' }), /mode must be one of auto/],
    [
      'a form of the log nobody reads',
      () => settle(file({ logging: { format: 'xml' } })),
      /logging\.format must be/,
    ],
    ['a scheduler nobody has', () => settle({ ipvsScheduler: 'best' }), /ipvs\.scheduler must be one of/],
    [
      'a network that is none',
      () => settle({ clusterCidrs: ['10.0.0.0'] }),
      /clusterCIDR "10\.0\.0\.0" is not a CIDR/,
    ],
    [
      'primary beside a network',
      () => settle({ nodePortAddresses: ['primary', '10.0.0.0/8'] }),
      /stands alone/,
    ],
    [
      'a flag that is text',
      () => file({ ipvs: { strictARP: 'yes' } }),
      /ipvs\.strictARP must be true or false/,
    ],
    [
      'a duration that is none',
      () => file({ iptables: { syncPeriod: 'soon' } }),
      /iptables\.syncPeriod must be a duration/,
    ],
    ['a bit the mark has not', () => settle({ masqueradeBit: 32 }), /masqueradeBit must be/],
    ['no port to listen on', () => settle({ healthzBindAddress: 'here' }), /healthzBindAddress must be/],
    ['syncs rarer than checks', () => settle({ minSyncPeriodMs: 60_000 }), /minSyncPeriod must not/],
  ])('refuses %s', (_, attempt, words) => {
    expect(attempt).toThrow(words);
  });

  it.each([
    ['30s', 30_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['250ms', 250],
    ['0', 0],
    ['5', undefined],
    ['', undefined],
  ])('reads the duration %s', (text, expected) => {
    expect(durationMs(text)).toBe(expected);
  });

  it('reads addresses of both families', () => {
    expect(hostAndPort('[::]:10256', 'x')).toEqual({ address: '::', port: 10_256 });
    expect(hostAndPort('0.0.0.0:0', 'x')).toEqual({ address: '0.0.0.0', port: 0 });
  });

  it('finds what each family needs', () => {
    const config = settle({
      clusterCidrs: ['10.244.0.0/16', 'fd00:244::/48'],
      nodePortAddresses: ['primary'],
    });
    expect(trafficOf(config, node)).toMatchObject({
      ip: { local: { by: 'cidr', cidr: '10.244.0.0/16' }, nodePortCidrs: ['192.168.0.1/32'] },
      ip6: { local: { by: 'cidr', cidr: 'fd00:244::/48' }, nodePortCidrs: ['fd00::1/128'] },
    });
    expect(trafficOf(settle({ detectLocalMode: 'NodeCIDR' }), node).ip?.local).toEqual({
      by: 'cidr',
      cidr: '10.244.3.0/24',
    });
    const bridge = settle({ detectLocalMode: 'BridgeInterface', bridgeInterface: 'cni0' });
    expect(trafficOf(bridge, node).ip6?.local).toEqual({ by: 'interface', name: 'cni0' });
  });

  it('is told under the names it is read by', () => {
    const config = settle({
      ...{ kubeconfig: '/k', hostnameOverride: 'n', mode: 'ipvs', bindAddress: '127.0.0.1' },
      ...{ healthzBindAddress: '[::]:1', metricsBindAddress: '127.0.0.1:2' },
      ...{ clusterCidrs: ['10.0.0.0/8', 'fd00::/48'], detectLocalMode: 'BridgeInterface' },
      ...{ bridgeInterface: 'br0', interfaceNamePrefix: 'veth', nodePortAddresses: ['192.168.0.0/16'] },
      ...{ masqueradeAll: true, masqueradeBit: 3, localhostNodePorts: true, syncPeriodMs: 61_000 },
      ...{ minSyncPeriodMs: 20, ipvsScheduler: 'lc', ipvsExcludeCidrs: ['10.1.0.0/16'], ipvsStrictArp: true },
      ...{ conntrackMaxPerCore: 7, conntrackMin: 8, conntrackTcpEstablishedMs: 0 },
      ...{ conntrackTcpCloseWaitMs: 60_000, conntrackTcpBeLiberal: true },
      ...{ conntrackUdpMs: 30_000, conntrackUdpStreamMs: 1500, loggingFormat: 'json', logVerbosity: 4 },
    });
    // Every field is another than the usual one, or the comparison would show nothing.
    for (const [field, value] of Object.entries(settle()))
      expect(config).not.toMatchObject({ [field]: value });
    const view = JSON.parse(JSON.stringify(configView(config)));
    expect(settle(readConfigFile(view))).toEqual(config);
  });
});
