// Resolver settings by policy.
// Guarantees: each dnsPolicy, the merge with dnsConfig, and the limits.
import { expect, test } from 'vitest';
import type { V1PodSpec } from '../../../../src/api/gen/types.js';
import { parseResolvConf, podDns } from '../../../../src/kubelet/environment/dns.js';
import { podWith } from '../../../support/kubelet/podparts.js';

const cluster = { servers: ['10.96.0.10'], domain: 'cluster.local' };
const host = parseResolvConf(
  '# mine\nnameserver 192.0.2.53 ; first\nsearch old\nsearch example.org.\noptions rotate timeout:1\n',
);
const own = ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local'];

test('a resolv.conf is read as the C library reads it', () => {
  expect(host).toEqual({
    servers: ['192.0.2.53'],
    searches: ['example.org'],
    options: ['rotate', 'timeout:1'],
  });
});

const clusterFirst = { servers: ['10.96.0.10'], searches: [...own, 'example.org'], options: ['ndots:5'] };
test.each<[string, Partial<V1PodSpec>, object]>([
  ['ClusterFirst is the default', {}, clusterFirst],
  [
    'ClusterFirst in the network of the node is Default',
    { hostNetwork: true, dnsPolicy: 'ClusterFirst' },
    host,
  ],
  ['ClusterFirstWithHostNet', { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }, clusterFirst],
  ['Default', { dnsPolicy: 'Default' }, host],
  [
    'None has what dnsConfig says',
    {
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['1.1.1.1'], searches: ['a.'], options: [{ name: 'edns0' }] },
    },
    { servers: ['1.1.1.1'], searches: ['a'], options: ['edns0'] },
  ],
  [
    'dnsConfig adds, and replaces options of the same name',
    {
      dnsConfig: {
        nameservers: ['10.96.0.10', '8.8.8.8'],
        searches: ['x'],
        options: [{ name: 'ndots', value: '2' }],
      },
    },
    { servers: ['10.96.0.10', '8.8.8.8'], searches: [...own, 'example.org', 'x'], options: ['ndots:2'] },
  ],
])('%s', (_, spec, want) => {
  expect(podDns(podWith(spec), cluster, host)).toEqual({ settings: want, warnings: [] });
});

test('what exceeds the limits is left out and said', () => {
  const nameservers = ['1.1.1.1', '2.2.2.2', '3.3.3.3'];
  const searches = Array.from({ length: 40 }, (_, i) => `s${i}.example`);
  const { settings, warnings } = podDns(podWith({ dnsConfig: { nameservers, searches } }), cluster, host);
  expect(settings.servers).toEqual(['10.96.0.10', '1.1.1.1', '2.2.2.2']);
  expect(settings.searches).toHaveLength(32);
  expect(warnings.map(({ reason }) => reason)).toEqual(['DNSConfigForming', 'DNSConfigForming']);
});

test('without cluster DNS the pod has the settings of the node, and hears why', () => {
  const { settings, warnings } = podDns(podWith({}), { servers: [], domain: '' }, host);
  expect(settings).toEqual(host);
  expect(warnings[0]?.reason).toBe('MissingClusterDNS');
});
