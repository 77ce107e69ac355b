// JSON patch: the operations of RFC 6902 and what is refused.
import { describe, expect, test } from 'vitest';
import { applyJsonPatch as jsonPatchSteps } from '../../../../src/api/patch/json.js';
import { atOnce } from '../../../../src/api/steps.js';

const applyJsonPatch = (from: unknown, patch: unknown) => atOnce(jsonPatchSteps(from, patch));

const document = () => ({ a: { b: [1, 2, 3] }, 'x/y': 1, 'm~n': 2 });

describe('operations', () => {
  test.each([
    ['add to an object', [{ op: 'add', path: '/c', value: 1 }], { ...document(), c: 1 }],
    ['add into a list', [{ op: 'add', path: '/a/b/1', value: 9 }], { ...document(), a: { b: [1, 9, 2, 3] } }],
    [
      'add at the end of a list',
      [{ op: 'add', path: '/a/b/-', value: 9 }],
      { ...document(), a: { b: [1, 2, 3, 9] } },
    ],
    ['remove', [{ op: 'remove', path: '/a/b/0' }], { ...document(), a: { b: [2, 3] } }],
    ['replace with escapes', [{ op: 'replace', path: '/x~1y', value: 5 }], { ...document(), 'x/y': 5 }],
    ['move', [{ op: 'move', from: '/m~0n', path: '/a/c' }], { a: { b: [1, 2, 3], c: 2 }, 'x/y': 1 }],
    ['copy', [{ op: 'copy', from: '/a/b', path: '/d' }], { ...document(), d: [1, 2, 3] }],
    ['test that holds', [{ op: 'test', path: '/a', value: { b: [1, 2, 3] } }], document()],
    [
      'add before the end, counted from it',
      [{ op: 'add', path: '/a/b/-2', value: 9 }],
      { ...document(), a: { b: [1, 2, 9, 3] } },
    ],
    ['remove the last', [{ op: 'remove', path: '/a/b/-1' }], { ...document(), a: { b: [1, 2] } }],
    [
      'replace the last',
      [{ op: 'replace', path: '/a/b/-1', value: 9 }],
      { ...document(), a: { b: [1, 2, 9] } },
    ],
    [
      'a way through the last of a list',
      [
        { op: 'add', path: '/a/b/-', value: {} },
        { op: 'add', path: '/a/b/-1/c', value: 1 },
      ],
      { ...document(), a: { b: [1, 2, 3, { c: 1 }] } },
    ],
    ['replace of what is not there', [{ op: 'replace', path: '/c', value: 1 }], { ...document(), c: 1 }],
    ['test that nothing is there', [{ op: 'test', path: '/a/c', value: null }], document()],
    ['replace of the whole', [{ op: 'replace', path: '', value: { z: 1 } }], { z: 1 }],
  ])('%s', (_, patch, expected) => {
    const before = document();
    expect(applyJsonPatch(before, patch)).toEqual(expected);
    expect(before).toEqual(document());
  });

  test('treat __proto__ as data', () => {
    const result = applyJsonPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: true } }]);
    expect(Object.keys(result as object)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(() => applyJsonPatch({}, [{ op: 'add', path: '/__proto__/polluted', value: 1 }])).toThrow();
    expect(() => applyJsonPatch({}, [{ op: 'add', path: '/constructor/prototype/x', value: 1 }])).toThrow();
  });
});

describe('refusals', () => {
  test.each([
    ['no list', {}, 400],
    ['an unknown operation', [{ op: 'jump', path: '/a' }], 422],
    ['a path that is no pointer', [{ op: 'remove', path: 'a' }], 400],
    ['a missing value', [{ op: 'add', path: '/a' }], 400],
    ['removing what is not there', [{ op: 'remove', path: '/nope' }], 422],
    ['testing for null what is there', [{ op: 'test', path: '/x~1y', value: null }], 422],
    ['testing for null behind what is not there', [{ op: 'test', path: '/nope/c', value: null }], 422],
    ['an index past the end', [{ op: 'add', path: '/a/b/7', value: 1 }], 422],
    ['an index before the first', [{ op: 'remove', path: '/a/b/-4' }], 422],
    ['a way through a number', [{ op: 'add', path: '/a/b/0/c', value: 1 }], 422],
    ['a test that fails', [{ op: 'test', path: '/a', value: 1 }], 422],
    ['a move below itself', [{ op: 'move', from: '/a', path: '/a/b/0' }], 422],
    ['too many operations', Array(10_001).fill({ op: 'test', path: '', value: 1 }), 413],
    [
      'copies that double',
      [
        { op: 'add', path: '/d', value: ['x'.repeat(1000)] },
        ...Array(40).fill({ op: 'copy', from: '/d', path: '/d/-' }),
      ],
      413,
    ],
  ])('%s', (_, patch, code) => {
    expect(() => applyJsonPatch(document(), patch)).toThrow(expect.objectContaining({ code }));
  });

  test.each([
    [
      { op: 'remove', path: '/a/nope' },
      "error in remove for path: '/a/nope': Unable to remove nonexistent key: nope: missing value",
    ],
    [
      { op: 'remove', path: '/no/x' },
      'remove operation does not apply: doc is missing path: "/no/x": missing value',
    ],
    [
      { op: 'add', path: '/no/x', value: 1 },
      'add operation does not apply: doc is missing path: "/no/x": missing value',
    ],
    [
      { op: 'add', path: '/a/b/7', value: 1 },
      "error in add for path: '/a/b/7': Unable to access invalid index: 7: invalid index referenced",
    ],
    [
      { op: 'replace', path: '/no/x', value: 1 },
      'replace operation does not apply: doc is missing path: /no/x: missing value',
    ],
    [
      { op: 'replace', path: '/a/b/7', value: 1 },
      'replace operation does not apply: doc is missing key: /a/b/7: missing value',
    ],
    [
      { op: 'test', path: '/no/x', value: 1 },
      'test operation does not apply: is missing path: /no/x: missing value',
    ],
    [{ op: 'test', path: '/a', value: 1 }, 'testing value /a failed: test failed'],
    [
      { op: 'copy', from: '/no/x', path: '/y' },
      'copy operation does not apply: doc is missing from path: /no/x: missing value',
    ],
    [
      { op: 'copy', from: '/a', path: '/no/y' },
      'copy operation does not apply: doc is missing destination path: /no/y: missing value',
    ],
    [{ op: 'jump', path: '/a' }, 'Unexpected kind: jump'],
  ])('%j in the words of Kubernetes', (operation, message) => {
    expect(() => applyJsonPatch(document(), [operation])).toThrow(
      expect.objectContaining({
        status: expect.objectContaining({
          details: { causes: [{ reason: 'UnexpectedServerResponse', message }] },
        }),
      }),
    );
  });
});

describe('steps', () => {
  const stepsOf = (from: unknown, patch: unknown) => [...jsonPatchSteps(from, patch)].length;
  const few = [{ op: 'add', path: '/l/0', value: 1 }];

  test.each([
    ['moves of a long list', Array(500).fill({ op: 'add', path: '/l/0', value: 1 })],
    ['moves out of a long list', Array(500).fill({ op: 'move', from: '/l/0', path: '/x' })],
    ['large copies', Array.from({ length: 20 }, (_, i) => ({ op: 'copy', from: '/l', path: `/c${i}` }))],
  ])('end between %s', (_, patch) => {
    const long = { l: Array(20_000).fill('v') };
    expect(stepsOf(long, patch)).toBeGreaterThanOrEqual(stepsOf(long, few) + 5);
  });
});
