import { beforeEach, describe, expect, test } from 'vitest';
import type { V1EndpointSlice, V1Service, V1ServiceSpec } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { addressOfArpa, lookUp } from '../../../src/dns/lookup.js';
import { Zone, zoneService } from '../../../src/dns/zone.js';

const meta = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', namespace: 'shop' };
const service = (name: string, spec: V1ServiceSpec): Stored<V1Service> => ({
  metadata: { ...meta, name },
  spec,
  status: {},
});
const slice = (endpoints: V1EndpointSlice['endpoints'], addressType = 'IPv4'): Stored<V1EndpointSlice> => ({
  metadata: { ...meta, name: 's' },
  addressType,
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  endpoints,
});
const PORTS = [{ name: 'http', port: 80, protocol: 'TCP' }];

let zone: Zone;
beforeEach(() => {
  zone = new Zone('cluster.local');
  zone.set(
    zoneService(
      service('web', { clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7', 'fd00::7'], ports: PORTS }),
      [],
    ),
  );
  zone.set(
    zoneService(service('db', { clusterIP: 'None', clusterIPs: ['None'], ports: PORTS }), [
      slice([
        { addresses: ['10.244.0.2'], hostname: 'db-0' },
        { addresses: ['10.244.0.3'] },
        { addresses: ['10.244.0.4'], conditions: { ready: false } },
      ]),
      slice([{ addresses: ['fd00:244::2'], hostname: 'db-0' }], 'IPv6'),
    ]),
  );
  zone.set(zoneService(service('out', { type: 'ExternalName', externalName: 'Example.COM.' }), []));
});

const data = (name: string, type: string) => lookUp(zone, name, type)?.answers.map((record) => record.data);

describe('names of the cluster', () => {
  test.each<[string, string, unknown[]]>([
    ['web.shop.svc.cluster.local', 'A', ['10.96.0.7']],
    ['web.shop.svc.cluster.local', 'AAAA', ['fd00::7']],
    ['web.shop.svc.cluster.local', 'TXT', []],
    ['web.shop.cluster.local', 'A', ['10.96.0.7']],
    ['db.shop.svc.cluster.local', 'A', ['10.244.0.2', '10.244.0.3']],
    ['db.shop.svc.cluster.local', 'AAAA', ['fd00:244::2']],
    ['db-0.db.shop.svc.cluster.local', 'A', ['10.244.0.2']],
    ['10-244-0-3.db.shop.svc.cluster.local', 'A', ['10.244.0.3']],
    ['_http._tcp.web.shop.svc.cluster.local', 'SRV', [{ target: 'web.shop.svc.cluster.local', port: 80 }]],
    [
      '_http._tcp.db.shop.svc.cluster.local',
      'SRV',
      [
        { target: 'db-0.db.shop.svc.cluster.local', port: 8080 },
        { target: '10-244-0-3.db.shop.svc.cluster.local', port: 8080 },
      ],
    ],
    ['out.shop.svc.cluster.local', 'A', ['example.com']],
    ['10-244-0-9.shop.pod.cluster.local', 'A', ['10.244.0.9']],
    ['dns-version.cluster.local', 'TXT', ['1.1.0']],
    ['7.0.96.10.in-addr.arpa', 'PTR', ['web.shop.svc.cluster.local']],
    ['2.0.244.10.in-addr.arpa', 'PTR', ['db-0.db.shop.svc.cluster.local']],
  ])('%s %s', (name, type, expected) => {
    expect(data(name, type)).toEqual(expected);
  });

  test.each([
    'svc.cluster.local',
    'shop.svc.cluster.local',
    'cluster.local',
    '_tcp.web.shop.svc.cluster.local',
  ])('%s exists without records', (name) => {
    expect(lookUp(zone, name, 'A')).toMatchObject({ exists: true, answers: [] });
  });

  test.each([
    'absent.shop.svc.cluster.local',
    'absent.svc.cluster.local',
    'db-9.db.shop.svc.cluster.local',
    '_ssh._tcp.web.shop.svc.cluster.local',
    'a.b.c.web.shop.svc.cluster.local',
    'surplus._http._tcp.web.shop.svc.cluster.local',
    'surplus.10-244-0-9.shop.pod.cluster.local',
    'surplus.dns-version.cluster.local',
    '10-244-0-9.absent.pod.cluster.local',
    '300-1-1-1.shop.pod.cluster.local',
  ])('%s does not exist', (name) => {
    expect(lookUp(zone, name, 'A')).toMatchObject({ exists: false, answers: [] });
  });

  test.each([
    'example.com',
    'notcluster.local',
    '8.8.8.8.in-addr.arpa',
    '1.7.0.96.10.in-addr.arpa',
    'xcluster.local',
  ])('%s is asked elsewhere', (name) => {
    expect(lookUp(zone, name, 'A')).toBeUndefined();
  });

  test('carries the addresses of SRV targets along', () => {
    expect(
      lookUp(zone, '_http._tcp.web.shop.svc.cluster.local', 'SRV')?.additionals.map(({ data }) => data),
    ).toEqual(['10.96.0.7', 'fd00::7']);
  });

  test('names a pod of two families once, and carries both addresses along', () => {
    const found = lookUp(zone, '_http._tcp.db.shop.svc.cluster.local', 'SRV');
    expect(found?.additionals).toMatchObject([
      { name: 'db-0.db.shop.svc.cluster.local', type: 'A' },
      { name: '10-244-0-3.db.shop.svc.cluster.local', type: 'A' },
      { name: 'db-0.db.shop.svc.cluster.local', type: 'AAAA' },
    ]);
  });

  test('holds ten thousand services, of which one changes without the others', () => {
    const many = new Zone('cluster.local');
    const ip = (at: number) => `10.96.${at >> 8}.${at & 255}`;
    const one = (at: number, address = ip(at)) => ({
      service: `s${at}`,
      namespace: `n${at % 100}`,
      clusterIps: [address],
      ports: [],
      endpoints: [],
    });
    const answers = (at: number) =>
      lookUp(many, `s${at}.n${at % 100}.svc.cluster.local`, 'A')?.answers.map(({ data }) => data);
    for (let at = 0; at < 10_000; at++) many.set(one(at));
    const untouched = many.service({ service: 's8', namespace: 'n8' });
    many.set(one(7, '10.99.0.7'));
    many.delete(one(9));
    expect([answers(7), answers(8), answers(9), answers(9_999)]).toEqual([
      ['10.99.0.7'],
      ['10.96.0.8'],
      [],
      [ip(9_999)],
    ]);
    expect(many.service({ service: 's8', namespace: 'n8' })).toBe(untouched);
    expect([many.namesOf('10.96.0.7'), many.namesOf('10.96.0.9')]).toEqual([[], []]);
    for (let at = 0; at < 10_000; at++) many.delete(one(at));
    expect(many.hasNamespace('n8')).toBe(false);
  });

  test('knows a namespace that has no services', () => {
    const pod = '10-244-0-9.empty.pod.cluster.local';
    expect(lookUp(zone, pod, 'A')?.exists).toBe(false);
    zone.addNamespace('empty');
    expect(data(pod, 'A')).toEqual(['10.244.0.9']);
    expect(lookUp(zone, 'empty.svc.cluster.local', 'A')).toMatchObject({ exists: true, answers: [] });
    zone.removeNamespace('empty');
    expect(lookUp(zone, pod, 'A')?.exists).toBe(false);
    // One that goes while its services are still known is there as long as they are.
    zone.addNamespace('shop');
    zone.removeNamespace('shop');
    expect(lookUp(zone, 'shop.svc.cluster.local', 'A')?.exists).toBe(true);
  });

  test('forgets a service that is gone, and its reverse names and namespace', () => {
    for (const name of ['web', 'db', 'out']) zone.delete({ service: name, namespace: 'shop' });
    expect(lookUp(zone, 'web.shop.svc.cluster.local', 'A')?.exists).toBe(false);
    expect(lookUp(zone, 'shop.svc.cluster.local', 'A')?.exists).toBe(false);
    expect(lookUp(zone, '7.0.96.10.in-addr.arpa', 'PTR')).toBeUndefined();
  });
});

test.each([
  ['4.3.2.1.in-addr.arpa', '1.2.3.4'],
  [`${'2.'}${'0.'.repeat(27)}0.0.d.f.ip6.arpa`, 'fd00::2'],
  ['3.2.1.in-addr.arpa', undefined],
  ['999.3.2.1.in-addr.arpa', undefined],
  ['5.4.3.2.1.in-addr.arpa', undefined],
  [`${'2.'}${'0.'.repeat(28)}0.0.d.f.ip6.arpa`, undefined],
])('%s stands for %s', (name, expected) => {
  expect(addressOfArpa(name)).toBe(expected);
});
