import { describe, expect, test } from 'vitest';
import type { V1Endpoint } from '../../../src/api/gen/types.js';
import { categorize, countLocalReady, type Policies } from '../../../src/proxy/endpoints.js';

const node = { name: 'n1', zone: 'z1' };
const CLUSTER: Policies = { internalLocal: false, externalLocal: false, outside: false };
const LOCAL: Policies = { internalLocal: false, externalLocal: true, outside: true };

const ready = { ready: true, serving: true, terminating: false };
const ending = { ready: false, serving: true, terminating: true };
const dead = { ready: false, serving: false, terminating: true };
const unready = { ready: false, serving: false, terminating: false };

type Hints = NonNullable<V1Endpoint['hints']>;
const at = (ip: string, nodeName: string, conditions: V1Endpoint['conditions'], hints?: Hints) => ({
  endpoint: { addresses: [ip], nodeName, conditions, ...(hints === undefined ? {} : { hints }) },
  ip,
  port: 8080,
});
const zones = (...names: string[]): Hints => ({ forZones: names.map((name) => ({ name })) });
const nodes = (...names: string[]): Hints => ({ forNodes: names.map((name) => ({ name })) });

interface Case {
  readonly name: string;
  readonly found: ReturnType<typeof at>[];
  readonly policies?: Policies;
  readonly all: string[];
  readonly local?: string[];
  readonly served?: boolean;
}

const CASES: readonly Case[] = [
  { name: 'ready ones', found: [at('a', 'n1', ready), at('b', 'n2', ready)], all: ['a', 'b'] },
  { name: 'no conditions at all', found: [at('a', 'n1', undefined)], all: ['a'] },
  {
    name: 'ending ones only when none is ready',
    found: [at('a', 'n1', ending), at('b', 'n2', unready)],
    all: ['a'],
  },
  {
    name: 'no ending ones beside a ready one',
    found: [at('a', 'n1', ending), at('b', 'n2', ready)],
    all: ['b'],
  },
  {
    name: 'nobody that does not serve',
    found: [at('a', 'n1', dead), at('b', 'n1', unready)],
    all: [],
    served: false,
  },
  {
    name: 'policy Local: local ones beside all',
    found: [at('a', 'n1', ready), at('b', 'n2', ready)],
    policies: LOCAL,
    all: ['a', 'b'],
    local: ['a'],
  },
  {
    name: 'policy Local: an ending local one although others are ready',
    found: [at('a', 'n1', ending), at('b', 'n2', ready)],
    policies: LOCAL,
    all: ['b'],
    local: ['a'],
  },
  { name: 'policy Local: none here', found: [at('b', 'n2', ready)], policies: LOCAL, all: ['b'], local: [] },
  {
    name: 'internal policy Local without a way from outside uses no others',
    found: [at('a', 'n1', ready), at('b', 'n2', ready)],
    policies: { internalLocal: true, externalLocal: false, outside: false },
    all: [],
    local: ['a'],
  },
  {
    name: 'external policy Local means nothing without a way from outside',
    found: [at('a', 'n1', ready), at('b', 'n2', ready)],
    policies: { internalLocal: false, externalLocal: true, outside: false },
    all: ['a', 'b'],
    local: [],
  },
  {
    name: 'hints: those for this zone',
    found: [at('a', 'n2', ready, zones('z1')), at('b', 'n2', ready, zones('z2'))],
    all: ['a'],
  },
  {
    name: 'hints: all, if one has none',
    found: [at('a', 'n2', ready, zones('z1')), at('b', 'n2', ready)],
    all: ['a', 'b'],
  },
  {
    name: 'hints: all, if none is for this zone',
    found: [at('a', 'n2', ready, zones('z2')), at('b', 'n2', ready, zones('z3'))],
    all: ['a', 'b'],
  },
  {
    name: 'hints: those for this node before the zone',
    found: [
      at('a', 'n1', ready, { ...zones('z1'), ...nodes('n1') }),
      at('b', 'n2', ready, { ...zones('z1'), ...nodes('n2') }),
    ],
    all: ['a'],
  },
  {
    name: 'hints: the zone, if none is for this node',
    found: [
      at('a', 'n3', ready, { ...zones('z1'), ...nodes('n3') }),
      at('b', 'n2', ready, { ...zones('z2'), ...nodes('n2') }),
    ],
    all: ['a'],
  },
  {
    name: 'hints of endpoints that are not ready do not count',
    found: [at('a', 'n2', ready, zones('z1')), at('b', 'n2', unready), at('c', 'n2', ready, zones('z2'))],
    all: ['a'],
  },
  {
    name: 'hints do not touch policy Local',
    found: [at('a', 'n1', ready, zones('z2')), at('b', 'n2', ready, zones('z1'))],
    policies: LOCAL,
    all: ['b'],
    local: ['a'],
  },
  { name: 'an endpoint of two slices once', found: [at('a', 'n1', ready), at('a', 'n1', ready)], all: ['a'] },
];

describe('endpoints that take traffic', () => {
  test.each(CASES.map((entry) => [entry.name, entry] as const))(
    '%s',
    (_, { found, policies = CLUSTER, all, local = [], served = true }) => {
      const result = categorize(found, node, policies);
      expect(result.endpoints.map(({ ip }) => ip)).toEqual(all);
      expect(result.localEndpoints.map(({ ip }) => ip)).toEqual(local);
      expect(result.served).toBe(served);
    },
  );

  test('ignores zones on a node that has none', () => {
    const found = [at('a', 'n2', ready, zones('z1')), at('b', 'n2', ready, zones('z2'))];
    expect(categorize(found, { name: 'n1' }, CLUSTER).endpoints).toHaveLength(2);
  });
});

test('a health check counts an endpoint with addresses of both families once', () => {
  const at = (address: string, nodeName = 'n1') => ({ addresses: [address], nodeName });
  const dual = [at('10.0.0.1'), at('fd00::1'), at('10.0.0.2'), at('fd00::2'), at('10.0.0.3', 'n2')];
  expect(countLocalReady(dual, 'n1')).toBe(2);
  expect(countLocalReady([at('fd00::1')], 'n1')).toBe(1);
  expect(countLocalReady([], 'n1')).toBe(0);
  const waiting = { ...at('10.0.0.4'), conditions: unready };
  expect(countLocalReady([at('10.0.0.1'), waiting], 'n1')).toBe(1);
});
