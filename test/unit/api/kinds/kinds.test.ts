// Every kind at once, and the small ones in detail.
import { describe, expect, test } from 'vitest';
import { schemas } from '../../../../src/api/gen/schemas.js';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { configMapKind } from '../../../../src/api/kinds/configMap.js';
import { endpointSliceKind } from '../../../../src/api/kinds/endpointSlice.js';
import { endpointsKind } from '../../../../src/api/kinds/endpoints.js';
import { eventKind } from '../../../../src/api/kinds/event.js';
import { KINDS } from '../../../../src/api/kinds/index.js';
import { namespaceKind } from '../../../../src/api/kinds/namespace.js';
import { nodeKind } from '../../../../src/api/kinds/node.js';
import { podKind } from '../../../../src/api/kinds/pod.js';
import { clusterRoleKind, roleBindingKind, roleKind } from '../../../../src/api/kinds/rbac.js';
import { secretKind } from '../../../../src/api/kinds/secret.js';
import { serviceKind } from '../../../../src/api/kinds/service.js';
import { qualifiedResource } from '../../../../src/api/status.js';
import { smallest } from './smallest.js';
import { cellsOf, create, faultsOf, faultsOfUpdate, update } from './support.js';

const creationTimestamp = '2026-01-01T00:00:00Z';
const metadata = { name: 'x', namespace: 'default', creationTimestamp };
const clusterWide = { name: 'x', creationTimestamp };
const now = Date.parse('2026-01-01T00:01:30Z');
const roleRef = { kind: 'Role', name: 'r' };

describe.each(KINDS.map((kind): [string, KindDefinition] => [kind.type.kind, kind]))('%s', (_, kind) => {
  const body = smallest(kind);
  const { name } = body.metadata;

  test('is one of the schemas, with a name first or last', () => {
    expect(schemas[kind.model]).toHaveProperty('metadata');
    expect('status' in (schemas[kind.model] ?? {})).toBe(kind.hasStatus);
    expect(kind.columns.map(({ name }) => name)).toContain('Name');
  });

  test('takes its smallest object, and its own answer again', () => {
    expect(faultsOf(kind, body)).toEqual([]);
    expect(faultsOfUpdate(kind, body, create(kind, body))).toEqual([]);
  });

  test('has defaults that change nothing the second time', () => {
    const once = create(kind, body);
    const twice = structuredClone(once);
    kind.defaults?.(twice);
    expect(twice).toEqual(once);
  });

  test('prints the smallest object, and offers fields of an empty one', () => {
    const cells = cellsOf(kind, create(kind, body), now);
    expect(cells).toContain(name);
    expect(cells.join()).not.toMatch(/undefined|NaN|\[object/);
    for (const value of Object.values(kind.fields?.({}) ?? {})) expect(value).toBeTypeOf('string');
  });

  test('refuses an object without a name or in the wrong place', () => {
    expect(faultsOf(kind, { ...body, metadata: { namespace: metadata.namespace } })).toContain(
      'metadata.name: Required value: name or generateName is required',
    );
    if (!kind.type.namespaced)
      expect(faultsOf(kind, { ...body, metadata: { name, namespace: 'default' } })).toContain(
        'metadata.namespace: Forbidden: not allowed on this type',
      );
  });
});

test('lists every resource once', () => {
  const names = KINDS.map(({ type }) => qualifiedResource(type));
  expect(new Set(names).size).toBe(names.length);
});

test('makes namespaces Active, named by a label, with their finalizer', () => {
  const body = { metadata: clusterWide, status: { phase: 'Terminating' } };
  expect(create(namespaceKind, body)).toMatchObject({
    metadata: { labels: { 'kubernetes.io/metadata.name': 'x' } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  });
  expect(update(namespaceKind, body, { metadata: clusterWide, spec: { finalizers: [] } }).spec).toEqual({
    finalizers: ['kubernetes'],
  });
});

test('folds a secret text into its data, and keeps its type', () => {
  const secret = create(secretKind, { metadata, data: { a: 'aGk=' }, stringData: { b: 'hé', a: 'new' } });
  expect(secret).toMatchObject({ type: 'Opaque', data: { a: 'bmV3', b: 'aMOp' } });
  expect(secret).not.toHaveProperty('stringData');
  expect(faultsOf(secretKind, { metadata, type: 'kubernetes.io/tls' })).toEqual([
    'data[tls.crt]: Required value',
    'data[tls.key]: Required value',
  ]);
  expect(faultsOfUpdate(secretKind, { metadata }, { metadata, type: 'other' })).toEqual([
    'type: Invalid value: "other": field is immutable',
  ]);
});

test('holds config to file names and to its word', () => {
  expect(faultsOf(configMapKind, { metadata, data: { 'a b': '' } })[0]).toMatch(
    /^data\[a b\]: Invalid value: "a b": a valid config key must consist of/,
  );
  expect(faultsOf(configMapKind, { metadata, data: { a: 'x'.repeat(1024 * 1024 + 1) } })).toHaveLength(1);
  const before = { metadata, immutable: true, data: { a: '1' } };
  expect(faultsOfUpdate(configMapKind, before, { metadata, immutable: true, data: { a: '2' } })).toEqual([
    'data: Forbidden: field is immutable when `immutable` is set',
  ]);
});

test('prints nodes as kubectl does', () => {
  const node = {
    metadata: { ...clusterWide, labels: { 'node-role.kubernetes.io/control-plane': '' } },
    spec: { unschedulable: true },
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      nodeInfo: {
        kubeletVersion: 'v1.36.0',
        osImage: 'Debian',
        kernelVersion: '6.18',
        containerRuntimeVersion: 'containerd://1.6',
      },
    },
  };
  expect(cellsOf(nodeKind, node, now)).toEqual([
    'x',
    'Ready,SchedulingDisabled',
    'control-plane',
    '90s',
    'v1.36.0',
    '10.0.0.1',
    '<none>',
    'Debian',
    '6.18',
    'containerd://1.6',
  ]);
  const spec = { podCIDR: '10.244.0.0/24' };
  expect(create(nodeKind, { metadata: clusterWide, spec }).spec?.podCIDRs).toEqual(['10.244.0.0/24']);
  expect(
    faultsOfUpdate(
      nodeKind,
      { metadata: clusterWide, spec },
      { metadata: clusterWide, spec: { podCIDR: '10.0.0.0/24' } },
    ),
  ).toEqual(['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid']);
});

test('prints events as kubectl does', () => {
  const event = {
    metadata,
    involvedObject: { kind: 'Pod', name: 'p', namespace: 'default', fieldPath: 'spec.containers{c}' },
    reason: 'BackOff',
    type: 'Warning',
    message: 'Back-off\n',
    count: 4,
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:01:25Z',
    source: { component: 'kubelet', host: 'n1' },
  };
  expect(cellsOf(eventKind, event, now)).toEqual([
    '5s (x4 over 90s)',
    'Warning',
    'BackOff',
    'pod/p',
    'spec.containers{c}',
    'kubelet, n1',
    'Back-off',
    '90s',
    '4',
    'x',
  ]);
  expect(faultsOf(eventKind, { ...event, involvedObject: { namespace: 'other' } })).toEqual([
    'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
  ]);
});

test('prints and checks endpoints', () => {
  const addresses = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'];
  const subsets = [{ addresses: addresses.map((ip) => ({ ip })), ports: [{ port: 80 }] }];
  expect(cellsOf(endpointsKind, { metadata, subsets }, now)[1]).toBe(
    '10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 1 more...',
  );
  const slice = { metadata, addressType: 'IPv4', ports: [{ port: 80 }], endpoints: [{ addresses }] };
  expect(cellsOf(endpointSliceKind, create(endpointSliceKind, slice), now)).toEqual([
    'x',
    'IPv4',
    '80',
    '10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...',
    '90s',
  ]);
  expect(faultsOf(endpointSliceKind, { ...slice, addressType: 'IPv6' })).toHaveLength(4);
  expect(faultsOfUpdate(endpointSliceKind, slice, { ...slice, endpoints: [], addressType: 'IPv6' })).toEqual([
    'addressType: Invalid value: "IPv6": field is immutable',
  ]);
});

test('checks roles and bindings', () => {
  expect(
    faultsOf(roleKind, { metadata, rules: [{ verbs: [], apiGroups: [''], resources: ['pods'] }] }),
  ).toEqual(['rules[0].verbs: Required value: verbs must contain at least one value']);
  expect(
    faultsOf(clusterRoleKind, {
      metadata: { name: 'system:x' },
      rules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }],
    }),
  ).toEqual([]);
  const subjects = [
    { kind: 'ServiceAccount', name: 's', namespace: 'n' },
    { kind: 'User', name: 'u' },
  ];
  const binding = create(roleBindingKind, { metadata, roleRef, subjects });
  expect(cellsOf(roleBindingKind, binding, now)).toEqual(['x', 'Role/r', '90s', 'u', '', 'n/s']);
  expect(binding.subjects?.[1]?.apiGroup).toBe('rbac.authorization.k8s.io');
  expect(
    faultsOfUpdate(
      roleBindingKind,
      { metadata, roleRef },
      { metadata, roleRef: { ...roleRef, name: 'other' } },
    ),
  ).toEqual([expect.stringContaining('cannot change roleRef')]);
});

test('answers a hundred thousand faults with some of them', () => {
  const ports = Array.from({ length: 1 << 17 }, () => ({}));
  const single = { metadata, spec: { containers: [{ name: 'c', image: 'i', ports }] } };
  expect(faultsOf(podKind, single)).toHaveLength(1000);
  expect(faultsOf(serviceKind, { metadata, spec: { ports } })).toHaveLength(1000);
});
