import { describe, expect, test } from 'vitest';
import type { V1Endpoint, V1EndpointSlice, V1Service, V1ServiceSpec } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { healthCheckNodePort, servicePorts } from '../../../src/proxy/servicePorts.js';

const meta = {
  uid: 'u',
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
  namespace: 'default',
};

function service(spec: V1ServiceSpec, labels = {}): Stored<V1Service> {
  const base: V1ServiceSpec = { type: 'ClusterIP', clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10'] };
  return {
    metadata: { ...meta, name: 'web', labels },
    spec: { ...base, ports: [{ name: 'http', port: 80, protocol: 'TCP' }], ...spec },
    status: {},
  };
}

function slice(
  endpoints: readonly V1Endpoint[],
  more: Partial<Omit<V1EndpointSlice, 'metadata'>> = {},
): Stored<V1EndpointSlice> {
  return {
    metadata: { ...meta, name: 'web-abc' },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints,
    ...more,
  };
}

const here = { node: { name: 'n1', zone: 'z1' } };
const portsOf = (svc: Stored<V1Service>, slices: Stored<V1EndpointSlice>[] = []) =>
  servicePorts({ service: svc, slices, ...here });
const endpointsOf = (slices: Stored<V1EndpointSlice>[]) => portsOf(service({}), slices)[0]?.endpoints;

describe('ports of a service', () => {
  test('is one entry a port and address family', () => {
    const dual = service({ clusterIPs: ['10.96.0.10', 'fd00::10'] });
    expect(portsOf(dual).map(({ key, clusterIp }) => [key, clusterIp])).toEqual([
      ['default/web:http/tcp/ip', '10.96.0.10'],
      ['default/web:http/tcp/ip6', 'fd00::10'],
    ]);
  });

  test.each<[string, Stored<V1Service>]>([
    ['headless', service({ clusterIP: 'None', clusterIPs: ['None'] })],
    ['an external name', service({ type: 'ExternalName' })],
    ['not yet given an address', service({ clusterIP: '', clusterIPs: [] })],
    ["another proxy's", service({}, { 'service.kubernetes.io/service-proxy-name': 'other' })],
    ['labelled headless', service({}, { 'service.kubernetes.io/headless': '' })],
  ])('leaves alone a service that is %s', (_, svc) => {
    expect(portsOf(svc)).toEqual([]);
  });

  test('carries the node port and the traffic policies', () => {
    const svc = service({
      type: 'NodePort',
      ports: [{ name: 'http', port: 80, nodePort: 30080 }],
      externalTrafficPolicy: 'Local',
      internalTrafficPolicy: 'Local',
    });
    expect(portsOf(svc)[0]).toMatchObject({ nodePort: 30080, externalLocal: true, internalLocal: true });
  });
});

describe('a service with all of the API', () => {
  const balanced = (status: object, spec: V1ServiceSpec = {}) => ({
    ...service({ type: 'LoadBalancer', clusterIPs: ['10.96.0.10', 'fd00::10'], ...spec }),
    status,
  });

  test('has the port of its health check where policy Local asks for one', () => {
    const spec = { healthCheckNodePort: 31_000 };
    expect(portsOf(balanced({}, { ...spec, externalTrafficPolicy: 'Local' }))).toMatchObject([spec, spec]);
    expect(portsOf(balanced({}, spec))[0]).not.toHaveProperty('healthCheckNodePort');
  });

  test('has external addresses of each family, without nonsense', () => {
    const ports = portsOf(
      service({
        clusterIPs: ['10.96.0.10', 'fd00::10'],
        externalIPs: ['192.0.2.1', 'fd01::1', 'x', '192.0.2.1'],
      }),
    );
    expect(ports.map(({ externalIps }) => externalIps)).toEqual([['192.0.2.1'], ['fd01::1']]);
  });

  test('has one spelling of each address', () => {
    const [port] = portsOf(
      service({
        clusterIPs: ['FD00:0:0::0010'],
        externalIPs: ['2001:db8::1', '2001:DB8:0::1', '::102:304'],
        ports: [{ name: 'http', port: 80 }],
      }),
      [slice([{ addresses: ['FD00::0:2'] }, { addresses: ['fd00::2'] }], { addressType: 'IPv6' })],
    );
    expect(port).toMatchObject({
      clusterIp: 'fd00::10',
      externalIps: ['2001:db8::1', '::1.2.3.4'],
      endpoints: [{ ip: 'fd00::2' }],
    });
  });

  test('lets nobody in by source ranges that cannot be read', () => {
    const of = (...loadBalancerSourceRanges: string[]) =>
      portsOf(balanced({}, { loadBalancerSourceRanges })).map(({ sourceRanges }) => sourceRanges);
    expect(of('010.0.0.0/8')).toEqual([['0.0.0.0/32'], ['::/128']]);
    expect(of('010.0.0.0/8', '10.1.2.3/8')).toEqual([['10.0.0.0/8'], ['::/128']]);
    expect(of('10.0.0.0/8')).toEqual([['10.0.0.0/8'], []]);
  });

  test('has the load balancer’s addresses unless it hands packets over itself', () => {
    const ingress = [
      { ip: '198.51.100.1' },
      { ip: '198.51.100.2', ipMode: 'Proxy' },
      { ip: '198.51.100.3', ipMode: 'VIP' },
      { hostname: 'lb.example' },
    ];
    const [four] = portsOf(balanced({ loadBalancer: { ingress } }));
    expect(four?.loadBalancerIps).toEqual(['198.51.100.1', '198.51.100.3']);
    expect(portsOf({ ...service({}), status: { loadBalancer: { ingress } } })[0]?.loadBalancerIps).toEqual(
      [],
    );
  });

  test('has the source ranges of its family', () => {
    const ranges = { loadBalancerSourceRanges: [' 10.0.0.0/8', 'fd00::/8', 'nonsense'] };
    expect(portsOf(balanced({}, ranges)).map(({ sourceRanges }) => sourceRanges)).toEqual([
      ['10.0.0.0/8'],
      ['fd00::/8'],
    ]);
  });

  test.each<[V1ServiceSpec, number | undefined]>([
    [{}, undefined],
    [{ sessionAffinity: 'ClientIP' }, 10_800],
    [{ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } }, 60],
  ])('keeps clients as %j says', (spec, expected) => {
    expect(portsOf(service(spec))[0]?.affinitySeconds).toBe(expected);
  });

  test.each<[V1ServiceSpec, number | undefined]>([
    [{ type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000 }, 31_000],
    [{ type: 'LoadBalancer', externalTrafficPolicy: 'Cluster', healthCheckNodePort: 31_000 }, undefined],
    [{ type: 'NodePort', externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000 }, undefined],
  ])('tells its health as %j says', (spec, expected) => {
    expect(healthCheckNodePort(service(spec))).toBe(expected);
  });

  test('leaves out ports that make no sense and keeps the rest', () => {
    const ports = [
      { name: 'a', port: 0 },
      { name: 'b', port: 70_000 },
      { name: 'c', port: 80, protocol: 'ICMP' },
      { name: 'd', port: 81, protocol: 'SCTP' },
    ];
    expect(portsOf(service({ ports })).map(({ key }) => key)).toEqual(['default/web:d/sctp/ip']);
  });
});

describe('endpoints of a port', () => {
  const a = { addresses: ['10.244.0.2'], nodeName: 'n1' };
  const b = { addresses: ['10.244.1.2'], nodeName: 'n2' };

  test('come with the target port, ordered, and say which are local', () => {
    expect(endpointsOf([slice([b, a])])).toEqual([
      { ip: '10.244.0.2', port: 8080, local: true },
      { ip: '10.244.1.2', port: 8080, local: false },
    ]);
  });

  test('of UDP that serve without new traffic linger', () => {
    const ending = { ...a, conditions: { ready: false, serving: true, terminating: true } };
    const dead = { ...a, addresses: ['10.244.0.3'], conditions: { ready: false, serving: false } };
    const of = (protocol: string) =>
      portsOf(service({ ports: [{ name: 'http', port: 80, protocol }] }), [
        slice([ending, b, dead], { ports: [{ name: 'http', port: 8080, protocol }] }),
      ])[0]?.lingering;
    expect(of('UDP')).toEqual([{ ip: '10.244.0.2', port: 8080, local: true }]);
    expect(of('TCP')).toBeUndefined();
  });

  test('say where nobody tells on which node they run', () => {
    expect(endpointsOf([slice([{ addresses: ['10.244.0.9'] }])])).toEqual([
      { ip: '10.244.0.9', port: 8080, local: false, unplaced: true },
    ]);
  });

  test('are found in all slices, each once', () => {
    expect(endpointsOf([slice([a]), slice([a, b])])?.map(({ ip }) => ip)).toEqual([
      '10.244.0.2',
      '10.244.1.2',
    ]);
  });

  test.each<[string, V1Endpoint[], string[]]>([
    ['not ready ones are left out', [{ ...a, conditions: { ready: false } }, b], ['10.244.1.2']],
    ['no condition means ready', [a], ['10.244.0.2']],
    [
      'ending ones serve while nobody is ready',
      [
        { ...a, conditions: { ready: false, serving: true, terminating: true } },
        { ...b, conditions: { ready: false } },
      ],
      ['10.244.0.2'],
    ],
    [
      'ending ones rest while somebody is ready',
      [{ ...a, conditions: { ready: false, serving: true, terminating: true } }, b],
      ['10.244.1.2'],
    ],
  ])('%s', (_, endpoints, expected) => {
    expect(endpointsOf([slice(endpoints)])?.map(({ ip }) => ip)).toEqual(expected);
  });

  test.each<[string, Partial<Omit<V1EndpointSlice, 'metadata'>>]>([
    ['of another family', { addressType: 'IPv6' }],
    ['of another port name', { ports: [{ name: 'metrics', port: 9 }] }],
    ['of another protocol', { ports: [{ name: 'http', port: 9, protocol: 'UDP' }] }],
    ['without endpoints', { endpoints: undefined as unknown as [] }],
  ])('in a slice %s do not count', (_, more) => {
    expect(endpointsOf([slice([a], more)])).toEqual([]);
  });
});
