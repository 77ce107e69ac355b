import { RE2JS } from 're2js';
import { expect, test } from 'vitest';
import { linearPattern } from '../../../../src/api/structural/linearPattern.js';

test.each([
  '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
  '^[a-z0-9 ]*$',
  '^v[0-9]+$',
  '^[^/]+',
  String.raw`^\d{4}-x\.(?:y)?$`,
  '^/',
])('%s is linear', (source) => {
  expect(linearPattern(source)).toBeInstanceOf(RegExp);
});

test.each([
  ['a loop that is not tied to the start', 'a*$'],
  ['two loops', '^a*b*$'],
  ['a loop in a loop', '^(a*)*$'],
  ['a group that repeats', '^(ab){3}$'],
  ['many options', '^a?a?a?$'],
  ['alternatives', '^(a|b)$'],
  ['a loop that takes little', '^a*?$'],
  ['any character, which is not the same everywhere', '^.$'],
  ['spaces, which are not the same everywhere', String.raw`^\s$`],
  ['letters of all scripts', String.raw`^\pL$`],
  ['classes by name', '^[[:alpha:]]$'],
  ['flags', '^(?i)a$'],
  ['an end in the middle', '^a$b$'],
  ['an end that is a character', String.raw`^a\$`],
  ['half a group', '^(a$'],
])('%s is left to the automaton', (_, source) => {
  expect(linearPattern(source)).toBeUndefined();
});

/** The same numbers in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % below;
  };
}

const PARTS = [
  ...'ab-0 /*+?($^|.)'.split(''),
  ...'[a-b] [^a] [-a] [a-] [a.$] [:a] [a-b-c] [^/] {2} {1,} {0,2} {2,1} (?: )?'.split(' '),
  ...String.raw`\. \d \w [\]a] [a\-z] \$`.split(' '),
];
const TEXTS = [...'a b ab aab a-b 0 a.b a$ $ 😀 é ] :a z /a'.split(' '), ...'|a\n|\n|a b'.split('|')];

test('an expression that is linear matches what the automaton matches', () => {
  const next = numbers(36);
  let compared = 0;
  for (let round = 0; round < 5_000; round += 1) {
    const parts = Array.from({ length: 1 + next(6) }, () => PARTS[next(PARTS.length)] as string);
    const source = `^${parts.join('')}${next(2) === 0 ? '$' : ''}`;
    let automaton: RE2JS;
    try {
      automaton = RE2JS.compile(source);
    } catch {
      continue;
    }
    const linear = linearPattern(source);
    if (linear === undefined) continue;
    compared += 1;
    const differing = TEXTS.filter((text) => linear.test(text) !== automaton.matcher(text).find());
    expect([source, differing]).toEqual([source, []]);
  }
  expect(compared).toBeGreaterThan(150);
});
