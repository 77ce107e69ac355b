import { describe, expect, test } from 'vitest';
import {
  API_VERSION,
  DEFAULT_CONFIG,
  hostAndPort,
  ipvsOf,
  KIND,
  readConfigFile,
  settle,
  trafficOf,
} from '../../../src/proxy/config.js';
import { configView } from '../../../src/proxy/configView.js';

const file = (fields: object) => readConfigFile({ apiVersion: API_VERSION, kind: KIND, ...fields });
const node = { ips: ['192.168.0.1', 'fd00::1'], podCidrs: ['10.244.3.0/24', 'fd00:244:3::/64'] };

describe('the configuration of a proxy', () => {
  test.each([
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

  test('is kube-proxy’s own where nothing is said', () => {
    expect(settle(file({}))).toEqual(DEFAULT_CONFIG);
  });

  test('takes the file over the defaults and the flags over the file', () => {
    const config = settle(
      file({
        mode: 'ipvs',
        clusterCIDR: '10.244.0.0/16,fd00:244::/48',
        clientConnection: { kubeconfig: '/a' },
        ipvs: {
          scheduler: 'lc',
          strictARP: true,
          excludeCIDRs: ['10.9.0.0/16'],
          syncPeriod: '10s',
          tcpTimeout: '15m',
          tcpFinTimeout: '0s',
          udpTimeout: '1m30s',
        },
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
    expect(ipvsOf(config)).toEqual({
      scheduler: 'lc',
      excludeCidrs: ['10.9.0.0/16'],
      strictArp: true,
      timeouts: { tcp: 900, tcpFin: 0, udp: 90 },
    });
  });

  test.each<[string, object]>([
    ['oomScoreAdj', { oomScoreAdj: -2000 }],
    ['featureGates', { featureGates: { AllAlpha: true } }],
    ['enableProfiling', { enableProfiling: true }],
    ['configSyncPeriod', { configSyncPeriod: '1m' }],
    ['clientConnection.qps', { clientConnection: { qps: 5 } }],
    ['winkernel.networkName', { winkernel: { networkName: 'x' } }],
    ['logging.options.json.splitStream', { logging: { options: { json: { splitStream: true } } } }],
    ['logging.colour', { logging: { colour: true } }],
  ])('refuses what it does not do: %s', (path, fields) => {
    expect(() => settle(file(fields))).toThrow(path);
  });

  test('takes what kubeadm writes, and honours what is left to it', () => {
    const given = file({
      bindAddressHardFail: false,
      configSyncPeriod: '0s',
      enableProfiling: false,
      featureGates: null,
      clientConnection: { acceptContentTypes: '', burst: 0, contentType: '', kubeconfig: '/k', qps: 0 },
      conntrack: { maxPerCore: null, min: null, tcpBeLiberal: false, tcpCloseWaitTimeout: null },
      ipvs: { excludeCIDRs: null, tcpFinTimeout: '0s', tcpTimeout: '0s', udpTimeout: '0s' },
      logging: {
        flushFrequency: 0,
        verbosity: 0,
        options: { json: { infoBufferSize: '0' }, text: { infoBufferSize: '0' } },
      },
      nodePortAddresses: null,
      oomScoreAdj: null,
      portRange: '',
      showHiddenMetricsForVersion: '',
      winkernel: { enableDSR: false, forwardHealthCheckVip: false, networkName: '', sourceVip: '' },
    });
    expect(settle(given)).toMatchObject({ bindAddressHardFail: false, kubeconfig: '/k' });
    expect(settle(file({ oomScoreAdj: -999 }))).toMatchObject({
      oomScoreAdj: -999,
      bindAddressHardFail: true,
    });
  });

  test.each<[string, () => unknown, RegExp]>([
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

  test('reads addresses of both families', () => {
    expect(hostAndPort('[::]:10256', 'x')).toEqual({ address: '::', port: 10_256 });
    expect(hostAndPort('0.0.0.0:0', 'x')).toEqual({ address: '0.0.0.0', port: 0 });
  });

  test('finds what each family needs', () => {
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
    // Whoever writes an address for its network means the network.
    const loose = settle({ clusterCidrs: ['10.244.0.1/16'], nodePortAddresses: ['FD00:0::7/64'] });
    expect(trafficOf(loose, node)).toMatchObject({
      ip: { local: { by: 'cidr', cidr: '10.244.0.0/16' } },
      ip6: { nodePortCidrs: ['fd00::/64'] },
    });
    const bridge = settle({ detectLocalMode: 'BridgeInterface', bridgeInterface: 'cni0' });
    expect(trafficOf(bridge, node).ip6?.local).toEqual({ by: 'interface', name: 'cni0' });
  });

  test.each([
    ['iptables', undefined, { masqueradeBit: 5, masqueradeAll: undefined, syncPeriodMs: 1000 }],
    ['nftables', undefined, { masqueradeBit: 6, masqueradeAll: true, syncPeriodMs: 2000 }],
    ['ipvs', undefined, { masqueradeBit: 5, masqueradeAll: undefined, syncPeriodMs: 3000 }],
    ['nftables', 'iptables', { masqueradeBit: 5, masqueradeAll: undefined, syncPeriodMs: 1000 }],
    ['', 'userspace', { masqueradeBit: 5, masqueradeAll: undefined, syncPeriodMs: 1000 }],
    ['', undefined, { masqueradeBit: 6, masqueradeAll: true, syncPeriodMs: 2000 }],
  ] as const)('in mode "%s" of the file and %s of the flag reads its own section', (mode, flag, expected) => {
    const document = {
      apiVersion: API_VERSION,
      kind: KIND,
      mode,
      iptables: { masqueradeBit: 5, syncPeriod: '1s' },
      nftables: { masqueradeBit: 6, masqueradeAll: true, syncPeriod: '2s' },
      ipvs: { syncPeriod: '3s' },
    };
    expect(readConfigFile(document, flag)).toMatchObject(expected);
  });

  test('is told under the names it is read by', () => {
    const config = settle({
      kubeconfig: '/k',
      hostnameOverride: 'n',
      mode: 'ipvs',
      bindAddress: '127.0.0.1',
      bindAddressHardFail: false,
      oomScoreAdj: 5,
      healthzBindAddress: '[::]:1',
      metricsBindAddress: '127.0.0.1:2',
      clusterCidrs: ['10.0.0.0/8', 'fd00::/48'],
      detectLocalMode: 'BridgeInterface',
      bridgeInterface: 'br0',
      interfaceNamePrefix: 'veth',
      nodePortAddresses: ['192.168.0.0/16'],
      masqueradeAll: true,
      masqueradeBit: 3,
      localhostNodePorts: true,
      syncPeriodMs: 61_000,
      minSyncPeriodMs: 20,
      ipvsScheduler: 'lc',
      ipvsExcludeCidrs: ['10.1.0.0/16'],
      ipvsStrictArp: true,
      ipvsTcpMs: 900_000,
      ipvsTcpFinMs: 30_000,
      ipvsUdpMs: 1500,
      conntrackMaxPerCore: 7,
      conntrackMin: 8,
      conntrackTcpEstablishedMs: 0,
      conntrackTcpCloseWaitMs: 60_000,
      conntrackTcpBeLiberal: true,
      conntrackUdpMs: 30_000,
      conntrackUdpStreamMs: 1500,
      loggingFormat: 'json',
      logVerbosity: 4,
    });
    // Every field is another than the usual one, or the comparison would show nothing.
    for (const [field, value] of Object.entries(settle()))
      expect(config).not.toMatchObject({ [field]: value });
    const view = JSON.parse(JSON.stringify(configView(config)));
    expect(settle(readConfigFile(view))).toEqual(config);
    expect(view.iptables).toMatchObject({ syncPeriod: '1m1s', minSyncPeriod: '20ms' });
  });
});
