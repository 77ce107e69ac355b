// Strategic merge patch: keyed lists, directives, and the table against the schemas.
import { describe, expect, test } from 'vitest';
import { schemas } from '../../../../src/api/gen/schemas.js';
import { mergedLists } from '../../../../src/api/mergedLists.js';
import { applyPatch } from '../../../../src/api/patch/patch.js';
import { atOnce } from '../../../../src/api/steps.js';

const strategic = (model: string, document: object, patch: unknown) =>
  atOnce(applyPatch({ type: 'strategic', model, document, patch }));

const deployment = (podSpec: object) => ({ spec: { replicas: 1, template: { spec: podSpec } } });

describe('lists of a deployment', () => {
  test.each<[string, object, object, object]>([
    [
      'a container is found by its name and merged',
      { containers: [{ name: 'a', image: '1', env: [{ name: 'X', value: '1' }] }, { name: 'b' }] },
      { containers: [{ name: 'a', env: [{ name: 'Y', value: '2' }] }] },
      {
        containers: [
          {
            name: 'a',
            image: '1',
            env: [
              { name: 'Y', value: '2' },
              { name: 'X', value: '1' },
            ],
          },
          { name: 'b' },
        ],
      },
    ],
    [
      'a container that is new comes first',
      { containers: [{ name: 'a' }] },
      { containers: [{ name: 'b', image: '2' }] },
      { containers: [{ name: 'b', image: '2' }, { name: 'a' }] },
    ],
    [
      'the order directive orders',
      { containers: [{ name: 'a' }, { name: 'b' }] },
      {
        '$setElementOrder/containers': [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
        containers: [{ name: 'c' }],
      },
      { containers: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] },
    ],
    [
      'a container is deleted',
      { containers: [{ name: 'a' }, { name: 'b' }] },
      { containers: [{ name: 'a', $patch: 'delete' }] },
      { containers: [{ name: 'b' }] },
    ],
    [
      'the list is replaced',
      { containers: [{ name: 'a' }, { name: 'b' }] },
      { containers: [{ $patch: 'replace' }, { name: 'c' }] },
      { containers: [{ name: 'c' }] },
    ],
    [
      'ports go by containerPort, mounts by path',
      {
        containers: [
          { name: 'a', ports: [{ containerPort: 80 }], volumeMounts: [{ mountPath: '/x', name: 'v' }] },
        ],
      },
      {
        containers: [
          {
            name: 'a',
            ports: [{ containerPort: 80, name: 'http' }],
            volumeMounts: [{ mountPath: '/x', readOnly: true }],
          },
        ],
      },
      {
        containers: [
          {
            name: 'a',
            ports: [{ containerPort: 80, name: 'http' }],
            volumeMounts: [{ mountPath: '/x', name: 'v', readOnly: true }],
          },
        ],
      },
    ],
    [
      'tolerations are replaced whole',
      { tolerations: [{ key: 'a' }] },
      { tolerations: [{ key: 'b' }] },
      { tolerations: [{ key: 'b' }] },
    ],
    [
      'a volume keeps only the retained keys',
      { volumes: [{ name: 'v', emptyDir: {} }] },
      { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/h' } }] },
      { volumes: [{ name: 'v', hostPath: { path: '/h' } }] },
    ],
    ['null removes', { hostNetwork: true, nodeName: 'n' }, { hostNetwork: null }, { nodeName: 'n' }],
    [
      'a map is replaced when asked',
      { nodeSelector: { a: '1', b: '2' } },
      { nodeSelector: { $patch: 'replace', c: '3' } },
      { nodeSelector: { c: '3' } },
    ],
  ])('%s', (_, before, patch, after) => {
    const document = deployment(before);
    const result = strategic('V1Deployment', document, { spec: { template: { spec: patch } } });
    expect(result).toEqual(deployment(after));
    expect(document).toEqual(deployment(before));
  });
});

test('merges and removes plain values', () => {
  const document = { metadata: { finalizers: ['a', 'b'] } };
  expect(strategic('V1Pod', document, { metadata: { finalizers: ['c'] } })).toEqual({
    metadata: { finalizers: ['c', 'a', 'b'] },
  });
  expect(
    strategic('V1Pod', document, { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } }),
  ).toEqual({
    metadata: { finalizers: ['b'] },
  });
});

test('finds service ports by port and conditions by type', () => {
  const service = { spec: { ports: [{ port: 80, nodePort: 30000 }, { port: 443 }] } };
  expect(strategic('V1Service', service, { spec: { ports: [{ port: 80, name: 'http' }] } })).toEqual({
    spec: { ports: [{ port: 80, nodePort: 30000, name: 'http' }, { port: 443 }] },
  });
  const addresses = ['10.0.0.1', 'fd00::1'].map((address) => ({ type: 'InternalIP', address }));
  const replaced = { status: { addresses: [...addresses, { $patch: 'replace' }] } };
  const before = { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.9' }] } };
  expect(strategic('V1Node', before, replaced)).toEqual({ status: { addresses } });
  const node = { status: { conditions: [{ type: 'Ready', status: 'False', reason: 'x' }] } };
  expect(strategic('V1Node', node, { status: { conditions: [{ type: 'Ready', status: 'True' }] } })).toEqual({
    status: { conditions: [{ type: 'Ready', status: 'True', reason: 'x' }] },
  });
});

test('keeps ports that share their number', () => {
  const dns = {
    spec: {
      ports: [
        { port: 53, protocol: 'UDP' },
        { port: 53, protocol: 'TCP' },
      ],
    },
  };
  const order = { '$setElementOrder/ports': [{ port: 53 }, { port: 53 }] };
  expect(strategic('V1Service', dns, { spec: order })).toEqual(dns);
  expect(strategic('V1Service', dns, { spec: { ...order, ports: [{ port: 53, name: 'dns' }] } })).toEqual({
    spec: {
      ports: [
        { port: 53, protocol: 'UDP', name: 'dns' },
        { port: 53, protocol: 'TCP' },
      ],
    },
  });
});

test('does not empty a list of which only the order is given', () => {
  const pod = { spec: { tolerations: [{ key: 'a' }] } };
  expect(strategic('V1Pod', pod, { spec: { '$setElementOrder/tolerations': [{ key: 'a' }] } })).toEqual(pod);
  expect(strategic('V1Pod', {}, { spec: { '$setElementOrder/containers': [] } })).toEqual({ spec: {} });
});

test.each([
  [
    'an element without its key',
    deployment({ containers: [{ image: 'x' }] }),
    'does not contain declared merge key: name',
  ],
  ['an unknown directive', { $patch: 'mix' }, 'unknown patch type found: mix'],
  ['a patch that is no object', [1], 'the patch must be a JSON object'],
  [
    'a directive that is no list',
    { metadata: { '$deleteFromPrimitiveList/finalizers': 'a' } },
    'must be a list',
  ],
])('refuses %s', (_, patch, message) => {
  expect(() => strategic('V1Deployment', {}, patch)).toThrow(message);
});

test('takes no directive and no prototype into the result', () => {
  const patch = JSON.parse('{"metadata":{"labels":{"$patch":"replace","__proto__":"x"}}}') as unknown;
  const result = strategic('V1Pod', {}, patch) as { metadata: { labels: object } };
  expect(Object.keys(result.metadata.labels)).toEqual(['__proto__']);
});

test('refuses depth that would exhaust the stack', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`) as unknown;
  expect(() => strategic('V1Pod', {}, deep)).toThrow('nested too deeply');
});

test('names only lists that the schemas have', () => {
  const lists = new Set(
    Object.entries(schemas).flatMap(([model, fields]) =>
      Object.entries(fields).flatMap(([field, code]) => (code.includes('[]') ? [`${model}.${field}`] : [])),
    ),
  );
  const missing = mergedLists.filter(
    (name) => !lists.has(name) && !/^V[12]\w+Status\.conditions$/.test(name),
  );
  expect(missing).toEqual([]);
});

test('merges by RFC 7386', () => {
  const document = { a: { b: 1, c: 2 }, l: [1] };
  const patch = { a: { b: null, d: { e: null, f: 1 } }, l: [2] };
  expect(atOnce(applyPatch({ type: 'merge', model: 'V1Pod', document, patch }))).toEqual({
    a: { c: 2, d: { f: 1 } },
    l: [2],
  });
});

test('merges long lists in one pass', () => {
  const env = (value: string) =>
    Array.from({ length: 50_000 }, (_, i) => ({ name: `${value}${i % 40_000}`, value }));
  const before = { spec: { containers: [{ name: 'c', env: env('a') }] } };
  const patch = { spec: { containers: [{ name: 'c', env: env('b') }] } };
  const result = strategic('V1Pod', before, patch) as { spec: { containers: { env: unknown[] }[] } };
  expect(result.spec.containers[0]?.env).toHaveLength(90_000);
});
