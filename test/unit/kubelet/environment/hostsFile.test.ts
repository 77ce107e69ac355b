// The text of /etc/hosts.
// Guarantees: the lines that Kubernetes writes, byte by byte.
import { expect, test } from 'vitest';
import { hostName } from '../../../../src/kubelet/container/sandboxConfig.js';
import { hostnameOf, nodeHostsText, podHostsText } from '../../../../src/kubelet/environment/hostsFile.js';
import { podWith } from '../../../support/kubelet/podparts.js';

const HEAD =
  '# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n' +
  'fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n';
const hostAliases = [{ ip: '192.0.2.9', hostnames: ['a.example', 'b'] }];

test('a pod with two addresses', () => {
  const text = podHostsText(podWith({}), ['10.0.0.5', 'fd00::5'], 'cluster.local');
  expect(text).toBe(`${HEAD}10.0.0.5\tweb\nfd00::5\tweb\n`);
});

test('a hostname, a subdomain and aliases', () => {
  const pod = podWith({ hostname: 'db-0', subdomain: 'db', hostAliases });
  expect(podHostsText(pod, ['10.0.0.5'], 'cluster.local')).toBe(
    `${HEAD}10.0.0.5\tdb-0.db.shop.svc.cluster.local\tdb-0\n\n# Entries added by HostAliases.\n192.0.2.9\ta.example\tb\n`,
  );
});

test("a pod in the node's network has the node's file, and its aliases below", () => {
  expect(nodeHostsText('127.0.0.1 localhost\n', hostAliases)).toBe(
    '# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n\n# Entries added by HostAliases.\n192.0.2.9\ta.example\tb\n',
  );
});

test('a long name is cut to what a hostname may be', () => {
  expect(hostnameOf(podWith({}, { name: `${'a'.repeat(62)}-b` }))).toBe('a'.repeat(62));
});

test('an overridden hostname stands alone, and is the name of the sandbox too', () => {
  const pod = podWith({ hostname: 'db-0', subdomain: 'db', hostnameOverride: 'db.example.com' });
  expect(podHostsText(pod, ['10.0.0.5'], 'cluster.local')).toBe(`${HEAD}10.0.0.5\tdb.example.com\n`);
  expect(hostName(pod, 'cluster.local')).toBe('db.example.com');
});

test('an overridden hostname is cut to what a hostname may be', () => {
  const pod = podWith({ hostnameOverride: `${'a'.repeat(62)}.b` });
  expect(hostName(pod, 'cluster.local')).toBe('a'.repeat(62));
});

test.each([
  [true, 'db-0.db.shop.svc.cluster.local'],
  [false, 'db-0'],
])('the name of the sandbox has the domain where that is asked for: %s', (setHostnameAsFQDN, name) => {
  const pod = podWith({ hostname: 'db-0', subdomain: 'db', setHostnameAsFQDN });
  expect(hostName(pod, 'cluster.local')).toBe(name);
});
