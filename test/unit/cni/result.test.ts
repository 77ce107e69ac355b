// Results of every version.
// Guarantees: each version is read into the one form and written back; a version cannot be added without a case here.
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/cni/json.js';
import { parseResult, renderResult } from '../../../src/cni/result.js';
import { CNI_VERSIONS, type CniVersion } from '../../../src/cni/version.js';

const dns = { domain: 'd', nameservers: ['10.0.0.53'], search: ['s'], options: ['o'] };
const OLD = {
  ip4: {
    ip: '10.1.0.5/24',
    gateway: '10.1.0.1',
    routes: [{ dst: '0.0.0.0/0' }, { dst: '10.9.0.0/16', gw: '10.1.0.2' }],
  },
  ip6: { ip: 'fd00::5/64', gateway: 'fd00::1', routes: [{ dst: '::/0', gw: 'fd00::1' }] },
  dns,
};
const routes = [{ dst: '0.0.0.0/0' }, { dst: '10.9.0.0/16', gw: '10.1.0.2' }, { dst: '::/0', gw: 'fd00::1' }];
const interfaces = [
  { name: 'br0', mac: '02:00:00:00:00:01' },
  { name: 'eth0', mac: '02:00:00:00:00:02', sandbox: '/run/netns/a' },
];
const v4 = { address: '10.1.0.5/24', gateway: '10.1.0.1', interface: 1 };
const v6 = { address: 'fd00::5/64', gateway: 'fd00::1', interface: 1 };
const MIDDLE = {
  interfaces,
  ips: [
    { version: '4', ...v4 },
    { version: '6', ...v6 },
  ],
  routes,
  dns,
};
const NEW = { interfaces, ips: [v4, v6], routes, dns };

/** The same attachment in the words of each version. */
const WORDS: Record<CniVersion, JsonObject> = {
  '0.1.0': OLD,
  '0.2.0': OLD,
  '0.3.0': MIDDLE,
  '0.3.1': MIDDLE,
  '0.4.0': MIDDLE,
  '1.0.0': NEW,
  '1.1.0': NEW,
};

describe.each(CNI_VERSIONS.map((version) => [version]))('version %s', (from) => {
  const printed: JsonObject = { cniVersion: from, ...WORDS[from] };

  test('is read into the one form', () => {
    const result = parseResult(printed, '0.4.0');
    expect(result.cniVersion).toBe(from);
    expect(result.ips.map(({ address, gateway }) => [address, gateway])).toEqual([
      ['10.1.0.5/24', '10.1.0.1'],
      ['fd00::5/64', 'fd00::1'],
    ]);
    expect(result.routes).toEqual(routes);
    expect(result.dns).toEqual(dns);
    expect(result.interfaces).toEqual(from < '0.3.0' ? [] : interfaces);
  });

  test('is written back as it was', () => {
    expect(renderResult(parseResult(printed, from), from)).toEqual(printed);
  });

  test.each(CNI_VERSIONS.map((version) => [version]))('becomes %s', (to) => {
    const expected = { cniVersion: to, ...structuredClone(WORDS[to]) } as Record<string, unknown>;
    if (from < '0.3.0' && to >= '0.3.0') {
      // The old form knew no interfaces.
      delete expected['interfaces'];
      for (const ip of expected['ips'] as { interface?: number }[]) delete ip.interface;
    }
    expect(renderResult(parseResult(printed, from), to)).toEqual(expected);
  });
});

test('a result without a version speaks that of the configuration', () => {
  expect(parseResult(OLD, '0.2.0').ips).toHaveLength(2);
  expect(parseResult({ cniVersion: '', ...NEW }, '1.0.0').cniVersion).toBe('1.0.0');
});

test('nothing but a version is a result', () => {
  const result = parseResult({}, '0.2.0');
  expect(renderResult(result, '0.2.0')).toEqual({ cniVersion: '0.2.0' });
  expect(renderResult(result, '1.0.0')).toEqual({ cniVersion: '1.0.0' });
});

test('empty texts and null lists of Go programs mean nothing', () => {
  const result = parseResult(
    {
      interfaces: [{ name: 'a', mac: '', sandbox: '' }],
      ips: null,
      routes: null,
      dns: { domain: '', search: null },
    },
    '1.0.0',
  );
  expect(result).toEqual({ cniVersion: '1.0.0', interfaces: [{ name: 'a' }], ips: [], routes: [], dns: {} });
});

test('what only 1.1.0 can say is left out before it', () => {
  const printed = {
    cniVersion: '1.1.0',
    interfaces: [{ name: 'a', mtu: 1400, socketPath: '/s', pciID: 'p' }],
    routes: [{ dst: '0.0.0.0/0', mtu: 1400, advmss: 1360, priority: 5, table: 100, scope: 0 }],
  };
  const result = parseResult(printed, '1.1.0');
  expect(renderResult(result, '1.1.0')).toEqual(printed);
  expect(renderResult(result, '1.0.0')).toEqual({
    cniVersion: '1.0.0',
    interfaces: [{ name: 'a' }],
    routes: [{ dst: '0.0.0.0/0' }],
  });
});

test('the old form takes the first address of each family', () => {
  const ips = [{ address: '10.0.0.1/8' }, { address: '10.0.0.2/8' }, { address: 'fd00::1/64' }];
  expect(renderResult(parseResult({ ips }, '1.0.0'), '0.2.0')).toEqual({
    cniVersion: '0.2.0',
    ip4: { ip: '10.0.0.1/8' },
    ip6: { ip: 'fd00::1/64' },
  });
});

describe('what is no result', () => {
  test.each([
    ['a text', 'x', 'is not an object'],
    ['an unknown version', { cniVersion: '9.0.0' }, 'cniVersion: "9.0.0" is not known'],
    ['addresses that are no list', { ips: {} }, 'ips: must be a list'],
    [
      'an address without length',
      { ips: [{ address: '10.0.0.1' }] },
      'address: "10.0.0.1" is not an address',
    ],
    ['an address that is missing', { ips: [{}] }, 'address: null is not an address'],
    ['an address that is no object', { ips: ['10.0.0.1/8'] }, 'ips[0]: must be an object'],
    ['an interface without name', { interfaces: [{ mac: 'm' }] }, 'interfaces: one has no name'],
    [
      'a wrong index',
      { ips: [{ address: '10.0.0.1/8', interface: 'a' }] },
      'interface: must be a whole number',
    ],
    ['a route without destination', { routes: [{ gw: '10.0.0.1' }] }, 'routes: one has no dst'],
    ['wrong name servers', { dns: { nameservers: [1] } }, 'dns.nameservers: must be a list of texts'],
  ])('%s', (_, value, words) => {
    expect(() => parseResult(value, '1.0.0')).toThrow(words);
  });

  test('an old address that is no object', () => {
    expect(() => parseResult({ ip4: [] }, '0.2.0')).toThrow('ip4: must be an object');
  });
});
