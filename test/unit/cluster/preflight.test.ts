import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import {
  findProgram,
  nodeAddress,
  nodeAddresses,
  ownAddresses,
  requirePorts,
  requirePrograms,
} from '../../../src/cluster/preflight.js';
import { defaultSettings } from '../../../src/cluster/settings.js';

const HEAD = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n';
const DEFAULT = 'eth1\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n';
const address = (ip: string, internal = false) => ({
  address: ip,
  family: ip.includes(':') ? ('IPv6' as const) : ('IPv4' as const),
  internal,
  netmask: '',
  mac: '',
  cidr: null,
  scopeid: 0,
});

describe("the node's address", () => {
  const interfaces = {
    lo: [address('127.0.0.1', true)],
    eth0: [address('10.0.0.1')],
    eth1: [address('fe80::1'), address('fd00::1'), address('10.0.0.2')],
  };

  test('is that of the device with the default route', () => {
    expect(nodeAddress('IPv4', HEAD + DEFAULT, interfaces)).toBe('10.0.0.2');
  });
  test('that was named must be one of its own', () => {
    expect(ownAddresses('10.0.0.2', '10.244.0.0/16', interfaces)).toEqual(['10.0.0.2']);
    const both = ['10.244.0.0/16,fd00:1::/56', interfaces] as const;
    expect(ownAddresses('10.0.0.2,FD00:0::1', ...both)).toEqual(['10.0.0.2', 'FD00:0::1']);
    expect(() => ownAddresses('10.0.0.3', '10.244.0.0/16', interfaces)).toThrow(
      'no device of this machine has the address 10.0.0.3; it has 127.0.0.1, 10.0.0.1,',
    );
  });
  test('is the first that is not loopback without such a route', () => {
    expect(nodeAddress('IPv4', HEAD, interfaces)).toBe('10.0.0.1');
  });
  test('of IPv6 is none that is good on one wire only', () => {
    expect(nodeAddress('IPv6', HEAD + DEFAULT, interfaces)).toBe('fd00::1');
  });
  test.each([
    ['10.0.0.1', '10.244.0.0/16'],
    ['10.0.0.1,fd00::1', '10.244.0.0/16,fd00:10:244::/56'],
  ])('may be named: %s', (named, clusterCidr) => {
    expect(nodeAddresses(named, clusterCidr).join()).toBe(named);
  });
  test.each([
    ['10.0.0.1', '10.244.0.0/16,fd00:10:244::/56'],
    ['fd00::1,10.0.0.1', '10.244.0.0/16,fd00:10:244::/56'],
    ['10.0.0.1,10.0.0.2', '10.244.0.0/16'],
    ['nonsense', '10.244.0.0/16'],
  ])('is refused when it does not fit the pods: %s', (named, clusterCidr) => {
    expect(() => nodeAddresses(named, clusterCidr)).toThrow(/--node-ip/);
  });
  test('is missing on a machine with loopback alone, which says what to do', () => {
    expect(() => nodeAddress('IPv4', HEAD, { lo: interfaces.lo })).toThrow(/--node-ip/);
  });
});

describe('programs', () => {
  test('are found on the path', () => {
    expect(findProgram('sh', '/nowhere:/bin:/usr/bin')).toMatch(/\/sh$/);
    expect(findProgram('sh', '/nowhere')).toBeUndefined();
  });
  test('that are missing are named with how to get them', () => {
    expect(() => requirePrograms('/nowhere')).toThrow(
      /containerd was not found .*apt-get install containerd/,
    );
  });
});

describe('ports', () => {
  test('that are taken are named with who needs them and which flag chooses another', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const ports = { securePort: port, kubeletPort: port, kubeletHealthzPort: port, dnsPort: port };
    const free = { ...defaultSettings('n'), ...ports };
    await expect(requirePorts(free, ['server', 'agent'])).rejects.toMatchObject({
      code: 'PORT_IN_USE',
      message: expect.stringMatching(new RegExp(`port ${port} is needed by the apiserver .*--secure-port`)),
    });
    await new Promise((resolve) => server.close(resolve));
    await expect(requirePorts(free, ['server', 'agent'])).resolves.toBeUndefined();
  });
});
