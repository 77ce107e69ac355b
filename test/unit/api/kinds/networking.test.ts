// NetworkPolicy, Ingress, IngressClass, IPAddress and ServiceCIDR: defaults, checks, columns.
import { describe, expect, test } from 'vitest';
import { ingressKind } from '../../../../src/api/kinds/networking/ingress.js';
import { ingressClassKind } from '../../../../src/api/kinds/networking/ingressClass.js';
import { networkPolicyKind } from '../../../../src/api/kinds/networking/networkPolicy.js';
import { ipAddressKind, serviceCidrKind } from '../../../../src/api/kinds/networking/serviceAddresses.js';
import { cellsOf, create, faultsOf, faultsOfUpdate } from './support.js';

const creationTimestamp = '2026-01-01T00:00:00Z';
const now = Date.parse('2026-01-01T00:01:30Z');
const cluster = { name: 'x', creationTimestamp };
const metadata = { ...cluster, namespace: 'default' };
const policy = (spec: object) => ({ metadata, spec });
const backend = { service: { name: 's', port: { number: 80 } } };
const ingress = (spec: object) => ({ metadata, spec });
const path = (fields: object) => ingress({ rules: [{ http: { paths: [{ backend, ...fields }] } }] });
const HTTP = 'spec.rules[0].http.paths[0]';

test('says which way a policy works when the user does not', () => {
  expect(create(networkPolicyKind, policy({})).spec).toEqual({ podSelector: {}, policyTypes: ['Ingress'] });
  const both = create(networkPolicyKind, policy({ egress: [{ ports: [{ port: 53 }] }] }));
  expect(both.spec?.policyTypes).toEqual(['Ingress', 'Egress']);
  expect(both.spec?.egress?.[0]?.ports).toEqual([{ port: 53, protocol: 'TCP' }]);
});

describe('a policy is refused with', () => {
  const from = (peer: object) => policy({ ingress: [{ from: [peer] }] });
  const ports = (port: object) => policy({ ingress: [{ ports: [port] }] });
  test.each<[string, object, string]>([
    ['a peer that is nobody', from({}), 'spec.ingress[0].from[0]: Required value: must specify a peer'],
    [
      'a peer that is two things',
      from({ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }),
      'spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer',
    ],
    [
      'a block that is none',
      from({ ipBlock: { cidr: '10.0.0.0' } }),
      'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    [
      'an exception outside',
      from({ ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/16'] } }),
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
    ],
    [
      'an end without a beginning',
      ports({ endPort: 90 }),
      'spec.ingress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is not specified',
    ],
    [
      'an end before its beginning',
      ports({ port: 100, endPort: 90 }),
      'spec.ingress[0].ports[0].endPort: Invalid value: 90: must be greater than or equal to `port`',
    ],
    [
      'a way that is none',
      policy({ policyTypes: ['Sideways'] }),
      'spec.policyTypes[0]: Unsupported value: "Sideways": supported values: "Egress", "Ingress"',
    ],
  ])('%s', (_, body, fault) => {
    expect(faultsOf(networkPolicyKind, body)).toEqual([fault]);
  });
});

describe('an ingress is refused with', () => {
  test.each<[string, object, string]>([
    [
      'nothing to serve',
      ingress({}),
      'spec: Invalid value: null: either `defaultBackend` or `rules` must be specified',
    ],
    ['no way to match', path({ path: '/' }), `${HTTP}.pathType: Required value: pathType must be specified`],
    [
      'an unknown way to match',
      path({ path: '/', pathType: 'Regex' }),
      `${HTTP}.pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
    ],
    [
      'a path that is not absolute',
      path({ path: 'a', pathType: 'Prefix' }),
      `${HTTP}.path: Invalid value: "a": must be an absolute path`,
    ],
    [
      'a path with empty parts',
      path({ path: '/a//b', pathType: 'Exact' }),
      `${HTTP}.path: Invalid value: "/a//b": must not contain '//'`,
    ],
    [
      'a backend whose name is no label',
      ingress({ defaultBackend: { service: { ...backend.service, name: 's.1' } } }),
      expect.stringMatching(
        /^spec\.defaultBackend\.service\.name: Invalid value: "s\.1": a lowercase RFC 1123 label/,
      ),
    ],
    [
      'a backend without a port',
      ingress({ defaultBackend: { service: { name: 's' } } }),
      'spec.defaultBackend.service: Required value: port name or number is required',
    ],
    [
      'a backend that is nothing',
      ingress({ defaultBackend: {} }),
      'spec.defaultBackend: Required value: must specify one of resource or service',
    ],
    [
      'an address for a host',
      ingress({ defaultBackend: backend, rules: [{ host: '10.0.0.1' }] }),
      'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
    ],
  ])('%s', (_, body, fault) => {
    expect(faultsOf(ingressKind, body)).toEqual([fault]);
  });
});

test('takes a star for the first part of a host', () => {
  const rules = (host: string) => ingress({ defaultBackend: backend, rules: [{ host }] });
  expect(faultsOf(ingressKind, rules('*.example.com'))).toEqual([]);
  expect(faultsOf(ingressKind, rules('a.*.com'))[0]).toContain("must start with '*.'");
});

test('prints an ingress as kubectl does', () => {
  const rules = ['a', 'b', 'c', 'd'].map((name) => ({ host: `${name}.com` }));
  const body = ingress({ ingressClassName: 'nginx', rules, tls: [{}] });
  const status = { loadBalancer: { ingress: [{ ip: '10.0.0.1' }, { hostname: 'h.com' }] } };
  expect(cellsOf(ingressKind, { ...body, status }, now)).toEqual([
    'x',
    'nginx',
    'a.com,b.com,c.com + 1 more...',
    '10.0.0.1,h.com',
    '80, 443',
    '90s',
  ]);
});

test('holds a class to its controller, and its parameters to their scope', () => {
  const body = (spec: object) => ({ metadata: cluster, spec: { controller: 'a.com/c', ...spec } });
  const parameters = { apiGroup: 'k.com', kind: 'P', name: 'p' };
  const created = create(ingressClassKind, body({ parameters }));
  expect(created.spec?.parameters?.scope).toBe('Cluster');
  expect(cellsOf(ingressClassKind, created, now)).toEqual(['x', 'a.com/c', 'P.k.com/p', '90s']);
  expect(faultsOfUpdate(ingressClassKind, body({}), body({ controller: 'b.com/c' }))).toEqual([
    'spec.controller: Invalid value: "b.com/c": field is immutable',
  ]);
  expect(faultsOf(ingressClassKind, body({ parameters: { ...parameters, scope: 'Namespace' } }))).toEqual([
    "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
  ]);
});

test('names an address by its one spelling', () => {
  const parentRef = { resource: 'services', namespace: 'n', name: 's' };
  const address = (name: string) => ({ metadata: { name, creationTimestamp }, spec: { parentRef } });
  expect(cellsOf(ipAddressKind, address('2001:db8::1'), now)).toEqual(['2001:db8::1', 'services/n/s']);
  expect(faultsOf(ipAddressKind, address('2001:db8::1'))).toEqual([]);
  expect(faultsOf(ipAddressKind, address('2001:db8:0::1'))).toEqual([
    'metadata.name: Invalid value: "2001:db8:0::1": must be in canonical form ("2001:db8::1")',
  ]);
});

test.each<[string[], string[]]>([
  [['10.0.0.0/16', '2001:db8::/64'], []],
  [[], ['spec.cidrs: Required value: at least one CIDR required']],
  [
    ['10.0.0.1/16'],
    ['spec.cidrs[0]: Invalid value: "10.0.0.1/16": must be in canonical form ("10.0.0.0/16")'],
  ],
  [
    ['10.0.0.0/16', '10.1.0.0/16'],
    [expect.stringContaining('may specify no more than one IP for each IP family')],
  ],
])('judges the service networks %j', (cidrs, faults) => {
  expect(faultsOf(serviceCidrKind, { metadata: cluster, spec: { cidrs } })).toEqual(faults);
});
