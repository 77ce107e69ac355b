// Service: defaults, ports, addresses that stay, columns.
import { describe, expect, test } from 'vitest';
import { serviceKind } from '../../../../src/api/kinds/service.js';
import { cellsOf, create, faultsOf, faultsOfUpdate, update } from './support.js';

const metadata = { name: 'web', namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' };
const now = Date.parse('2026-01-01T00:01:30Z');
const service = (spec: object = {}) => ({ metadata, spec: { ports: [{ port: 80 }], ...spec } });

test('gets the defaults of Kubernetes', () => {
  expect(create(serviceKind, service())).toMatchObject({
    spec: {
      type: 'ClusterIP',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
    },
    status: { loadBalancer: {} },
  });
  expect(create(serviceKind, service()).spec).not.toHaveProperty('externalTrafficPolicy');
  expect(create(serviceKind, service({ type: 'NodePort' })).spec?.externalTrafficPolicy).toBe('Cluster');
  expect(create(serviceKind, service({ sessionAffinity: 'ClientIP' })).spec?.sessionAffinityConfig).toEqual({
    clientIP: { timeoutSeconds: 10800 },
  });
});

describe('checks', () => {
  test.each<[string, object]>([
    ['a plain one', service()],
    ['a headless one without ports', { metadata, spec: { clusterIP: 'None' } }],
    ['a name for another', { metadata, spec: { type: 'ExternalName', externalName: 'example.com' } }],
    ['a port by name', service({ ports: [{ port: 80, targetPort: 'http' }] })],
    [
      'source ranges, also with blanks around',
      service({ type: 'LoadBalancer', loadBalancerSourceRanges: [' 10.0.0.0/8 ', 'FD00:0::/8'] }),
    ],
  ])('pass %s', (_, body) => {
    expect(faultsOf(serviceKind, body)).toEqual([]);
  });

  test.each<[string, object, string]>([
    ['no ports', { metadata, spec: {} }, 'spec.ports: Required value'],
    [
      'ports without names',
      service({ ports: [{ port: 80, name: 'a' }, { port: 81 }] }),
      'spec.ports[1].name: Required value',
    ],
    [
      'a port twice',
      service({
        ports: [
          { port: 80, name: 'a' },
          { port: 80, name: 'b' },
        ],
      }),
      'spec.ports[1]: Duplicate value: {"port":80,"protocol":"TCP"}',
    ],
    [
      'a node port without the type',
      service({ ports: [{ port: 80, nodePort: 30000 }] }),
      "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ],
    ...(
      [
        ['010.0.0.0/8', 'must not have leading 0s in IP or prefix length'],
        ['10.0.0.0/08', 'must not have leading 0s in IP or prefix length'],
        ['10.0.0.1/8', 'must not have bits set beyond the prefix length'],
        ['::ffff:10.0.0.0/104', 'must not have an IPv4-mapped IPv6 address'],
        ['10.0.0.0', 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
      ] as const
    ).map(([range, why]): [string, object, string] => [
      `the source range ${range}`,
      service({ type: 'LoadBalancer', loadBalancerSourceRanges: [range] }),
      `spec.LoadBalancerSourceRanges[0]: Invalid value: "${range}": ${why}`,
    ]),
    [
      'source ranges without a load balancer',
      service({ loadBalancerSourceRanges: ['10.0.0.0/8'] }),
      "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
    ],
    [
      'an unknown type',
      service({ type: 'Magic' }),
      'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ],
    [
      'an address that is none',
      service({ clusterIP: '10.0.0' }),
      'spec.clusterIPs[0]: Invalid value: "10.0.0": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      'a target out of range',
      service({ ports: [{ port: 80, targetPort: 99999 }] }),
      'spec.ports[0].targetPort: Invalid value: 99999: must be between 1 and 65535, inclusive',
    ],
  ])('refuse %s', (_, body, sentence) => {
    expect(faultsOf(serviceKind, body)).toEqual([sentence]);
  });

  test('take names that begin with a digit, and no dots', () => {
    const named = (name: string) => faultsOf(serviceKind, { ...service(), metadata: { ...metadata, name } });
    expect(named('1web')).toEqual([]);
    expect(named('web.one')[0]).toMatch(
      /^metadata\.name: Invalid value: "web\.one": a lowercase RFC 1123 label/,
    );
  });
});

describe('an update', () => {
  const allocated = { clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9'], ipFamilies: ['IPv4'] };
  const before = service({ type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }], ...allocated });

  test('keeps what was allocated', () => {
    const { spec } = update(serviceKind, before, service({ type: 'NodePort' }));
    expect(spec).toMatchObject({ ...allocated, ports: [{ port: 80, nodePort: 30080 }] });
  });

  test('gives node ports back when the type no longer has them', () => {
    const { spec } = update(
      serviceKind,
      before,
      service({ ports: [{ port: 80, nodePort: 30080 }], ...allocated }),
    );
    expect(spec?.ports).toEqual([{ port: 80, protocol: 'TCP', targetPort: 80 }]);
    expect(spec).not.toHaveProperty('externalTrafficPolicy');
  });

  test('may not change the address', () => {
    const after = service({ type: 'NodePort', clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10'] });
    expect(faultsOfUpdate(serviceKind, before, after)).toEqual([
      'spec.clusterIPs[0]: Invalid value: ["10.96.0.10"]: may not change once set',
    ]);
  });
});

test.each<[string, object, string[]]>([
  [
    'a node port',
    {
      type: 'NodePort',
      clusterIP: '10.96.0.9',
      ports: [{ port: 80, nodePort: 30080 }],
      selector: { a: 'b' },
    },
    ['web', 'NodePort', '10.96.0.9', '<none>', '80:30080/TCP', '90s', 'a=b'],
  ],
  [
    'a headless one',
    { clusterIP: 'None', ports: [] },
    ['web', 'ClusterIP', 'None', '<none>', '<none>', '90s', '<none>'],
  ],
  [
    'a load balancer in the making',
    { type: 'LoadBalancer', clusterIP: '10.96.0.9' },
    ['web', 'LoadBalancer', '10.96.0.9', '<pending>', '80/TCP', '90s', '<none>'],
  ],
  [
    'a name for another',
    { type: 'ExternalName', externalName: 'example.com', ports: [] },
    ['web', 'ExternalName', '<none>', 'example.com', '<none>', '90s', '<none>'],
  ],
])('prints %s', (_, spec, cells) => {
  expect(cellsOf(serviceKind, create(serviceKind, service(spec)), now)).toEqual(cells);
});
