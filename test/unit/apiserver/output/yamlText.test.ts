// What a YAML text is refused for before it is composed.
import { describe, expect, test } from 'vitest';
import { atOnce } from '../../../../src/api/steps.js';
import { fromYaml as yamlSteps } from '../../../../src/apiserver/output/yaml.js';

const fromYaml = (text: string) => atOnce(yamlSteps(text)).data;

describe('a YAML text', () => {
  test.each<[string, string, RegExp]>([
    ['of deep lists', '['.repeat(1_000_000), /max depth/],
    ['of deep lists without brackets', `${'- '.repeat(100_000)}x\n- y`, /max depth/],
    ['of keys of keys', '? '.repeat(100_000), /max depth/],
    [
      'that is indented deep',
      Array.from({ length: 300 }, (_, at) => `${' '.repeat(at)}a:`).join('\n'),
      /depth/,
    ],
    ['whose key is a mapping', '? {a: b}\n: c', /a key must be a string/],
    ['of too many tokens', 'a: 1\n'.repeat(200_000), /tokens/],
    ['of too many characters', `a: ${'x'.repeat(1_500_000)}`, /characters/],
    ['of two documents', 'a: 1\n---\nb: 2', /more than one document/],
    ['that is wrong', 'a: 1\nb: [', /at line 2, column \d/],
    [
      'of many aliases',
      `a: &a 1\n${Array.from({ length: 200 }, (_, at) => `k${at}: *a`).join('\n')}`,
      /aliases/,
    ],
  ])(
    '%s is refused',
    (_, text, why) => {
      expect(() => fromYaml(text)).toThrow(
        expect.objectContaining({ code: 400, message: expect.stringMatching(why) }),
      );
    },
    60_000,
  );

  test('of a thousand keys, a hundred levels and brackets in strings is read', () => {
    const keys = Array.from({ length: 1000 }, (_, at) => `k${at}: ${at}`).join('\n');
    expect(Object.keys(fromYaml(keys) as object)).toHaveLength(1000);
    expect(fromYaml(`${'['.repeat(100)}1${']'.repeat(100)}`)).toBeInstanceOf(Array);
    expect(fromYaml(`a: "${'['.repeat(1000)}"\nb: |\n  ${'{'.repeat(1000)}\n`)).toMatchObject({
      a: '['.repeat(1000),
    });
  });

  test('is read in steps, the more the longer it is', () => {
    const stepsOf = (keys: number) =>
      [...yamlSteps(Array.from({ length: keys }, (_, at) => `k${at}: v`).join('\n'))].length;
    expect(stepsOf(10_000)).toBeGreaterThan(stepsOf(100) + 5);
  });

  test('that is empty is nothing', () => {
    expect(fromYaml('')).toBeNull();
  });

  test('may name the same key in two mappings, and be JSON', () => {
    expect(fromYaml('[{"a": 1}, {"a": 2}]')).toEqual([{ a: 1 }, { a: 2 }]);
  });
});

test.each<[string, string, unknown, string]>([
  ['in a block', 'a: 1\nb: 2\n"a": 3', { a: 3, b: 2 }, 'line 3'],
  ['inside', 'x:\n- {a: 1, a: 2}', { x: [{ a: 2 }] }, 'line 2'],
])('of a key that comes twice %s the last one counts, and it is told where', (_, text, data, line) => {
  expect(atOnce(yamlSteps(text))).toEqual({
    data,
    duplicates: [`yaml: unmarshal errors: ${line}: key "a" already set in map`],
  });
});
