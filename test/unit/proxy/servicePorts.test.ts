import { describe, expect, it } from 'vitest';
import type { V1Endpoint, V1EndpointSlice, V1Service, V1ServiceSpec } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { servicePorts } from '../../../src/proxy/servicePorts.js';

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
  it('is one entry a port and address family', () => {
    const dual = service({ clusterIPs: ['10.96.0.10', 'fd00::10'] });
    expect(portsOf(dual).map(({ key, clusterIp }) => [key, clusterIp])).toEqual([
      ['default/web:http/tcp/ip', '10.96.0.10'],
      ['default/web:http/tcp/ip6', 'fd00::10'],
    ]);
  });

  it.each<[string, Stored<V1Service>]>([
    ['headless', service({ clusterIP: 'None', clusterIPs: ['None'] })],
    ['an external name', service({ type: 'ExternalName' })],
    ['not yet given an address', service({ clusterIP: '', clusterIPs: [] })],
    ["another proxy's", service({}, { 'service.kubernetes.io/service-proxy-name': 'other' })],
  ])('leaves alone a service that is %s', (_, svc) => {
    expect(portsOf(svc)).toEqual([]);
  });

  it('carries the node port and the traffic policies', () => {
    const svc = service({
      type: 'NodePort',
      ports: [{ name: 'http', port: 80, nodePort: 30080 }],
      externalTrafficPolicy: 'Local',
      internalTrafficPolicy: 'Local',
    });
    expect(portsOf(svc)[0]).toMatchObject({ nodePort: 30080, externalLocal: true, internalLocal: true });
  });
});

describe('endpoints of a port', () => {
  const a = { addresses: ['10.244.0.2'], nodeName: 'n1' };
  const b = { addresses: ['10.244.1.2'], nodeName: 'n2' };

  it('come with the target port, ordered, and say which are local', () => {
    expect(endpointsOf([slice([b, a])])).toEqual([
      { ip: '10.244.0.2', port: 8080, local: true },
      { ip: '10.244.1.2', port: 8080, local: false },
    ]);
  });

  it('are found in all slices, each once', () => {
    expect(endpointsOf([slice([a]), slice([a, b])])?.map(({ ip }) => ip)).toEqual([
      '10.244.0.2',
      '10.244.1.2',
    ]);
  });

  it.each<[string, V1Endpoint[], string[]]>([
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

  it.each<[string, Partial<Omit<V1EndpointSlice, 'metadata'>>]>([
    ['of another family', { addressType: 'IPv6' }],
    ['of another port name', { ports: [{ name: 'metrics', port: 9 }] }],
    ['of another protocol', { ports: [{ name: 'http', port: 9, protocol: 'UDP' }] }],
    ['without endpoints', { endpoints: undefined as unknown as [] }],
  ])('in a slice %s do not count', (_, more) => {
    expect(endpointsOf([slice([a], more)])).toEqual([]);
  });
});
