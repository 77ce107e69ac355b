// Which rules contain which, as a table, and that the comparison does not multiply values out.
import { describe, expect, test } from 'vitest';
import type { V1PolicyRule } from '../../../../src/api/gen/types.js';
import { uncoveredRules } from '../../../../src/apiserver/auth/coverage.js';

const rule = (changes: Partial<V1PolicyRule>): V1PolicyRule => ({
  verbs: ['list'],
  apiGroups: [''],
  resources: ['pods'],
  ...changes,
});

describe('rules contained in others', () => {
  const pods = rule({ verbs: ['get', 'list'] });
  const cases: readonly [string, V1PolicyRule[], V1PolicyRule[], number][] = [
    ['the same', [pods], [pods], 0],
    ['one verb more', [pods], [rule({ verbs: ['get', 'delete'] })], 1],
    ['spread over two', [rule({ verbs: ['get'] }), rule({ verbs: ['list'] })], [pods], 0],
    ['a star wanted, everything by name held', [pods], [rule({ verbs: ['*'] })], 1],
    [
      'a star held',
      [rule({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] })],
      [pods, rule({ resources: ['pods/exec'] })],
      0,
    ],
    ['a name wanted of what is held whole', [pods], [rule({ resourceNames: ['x'] })], 0],
    ['the whole wanted of what is held by name', [rule({ resourceNames: ['x'] })], [rule({})], 1],
    [
      'a subresource by wildcard',
      [rule({ resources: ['*/scale'] })],
      [rule({ resources: ['deployments/scale'] })],
      0,
    ],
    [
      'a path below a held prefix',
      [{ verbs: ['get'], nonResourceURLs: ['/a/*'] }],
      [{ verbs: ['get'], nonResourceURLs: ['/a/b'] }],
      0,
    ],
    [
      'a path outside',
      [{ verbs: ['get'], nonResourceURLs: ['/a/*'] }],
      [{ verbs: ['get'], nonResourceURLs: ['/b'] }],
      1,
    ],
  ];
  test.each(cases)('%s', (_, held, wanted, missing) => {
    expect(uncoveredRules(held, wanted)).toHaveLength(missing);
  });
});

describe('a comparison', () => {
  const many = (count: number, letter: string) =>
    Array.from({ length: count }, (_, index) => `${letter}${index}`);
  const huge = {
    verbs: many(20_000, 'v'),
    apiGroups: many(20_000, 'g'),
    resources: many(20_000, 'r'),
    resourceNames: many(20_000, 'n'),
  };
  test('looks once at what the held rules do not tell apart', () => {
    expect(uncoveredRules([rule({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] })], [huge])).toEqual([]);
  });
  test('names the first thousand of what is missing, in the order of the rule', () => {
    const missing = uncoveredRules([rule({})], [huge]);
    expect(missing).toHaveLength(1000);
    expect(missing[0]).toEqual({
      verbs: ['v0'],
      apiGroups: ['g0'],
      resources: ['r0'],
      resourceNames: ['n0'],
    });
    expect(missing[999]?.resourceNames).toEqual(['n999']);
  });
  test('refuses when the held rules tell everything apart', () => {
    const limited = { apiGroups: ['*'], resources: ['*'], resourceNames: ['x'] };
    const held = many(100, '').flatMap((n) => [
      { verbs: ['*'], apiGroups: ['*'], resources: [`r${n}`] },
      { ...limited, verbs: [`v${n}`] },
      { ...limited, verbs: ['*'], apiGroups: [`g${n}`] },
    ]);
    const wanted = { verbs: many(100, 'v'), apiGroups: many(100, 'g'), resources: many(100, 'r') };
    expect(() => uncoveredRules(held, [wanted])).toThrow(expect.objectContaining({ code: 403 }));
  });
});
