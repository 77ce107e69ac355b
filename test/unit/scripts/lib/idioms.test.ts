// What `npm run lint` says of ways of writing that the tree has given up.
// Guarantees: each is found with its line, and what only looks like it is not.
import { expect, test } from 'vitest';
import { idioms } from '../../../../scripts/lib/idioms.mjs';

const found = (text: string) => idioms([{ path: 'src/a.ts', text }]);

test.each([
  ['an object', 'f({\n  a,\n  ...{ b, c },\n});', 3],
  ['a list', "const all = [\n  ...['a', ')'], 'b'];", 2],
  ['a list that ends its call', 'f(...[a, [b]]);', 1],
  ['behind an expression with a quote', 'const quote = /[\'"]/;\nf({ ...{ b } });', 2],
])('a literal that is spread where it stands is named with its line: %s', (_, text, line) => {
  expect(found(text)).toEqual([
    `src/a.ts:${line}: spreads a literal; write what it holds without the brackets`,
  ]);
});

test.each([
  ['a field', 'class A {\n  private readonly a = 1;\n}', 2],
  ['a method', 'class A {\n  b = 1;\n  static private async a() {}\n}', 3],
  ['a parameter', 'class A {\n  constructor(private readonly a: B) {}\n}', 2],
])('a private member is named with its line: %s', (_, text, line) => {
  expect(found(text)).toEqual([`src/a.ts:${line}: a member is private; give it a name that begins with #`]);
});

test.each([
  ['a private constructor', 'class A {\n  private constructor() {}\n}'],
  ['the word', '// private: one\nconst all = { private: true };\nf(private_);'],
  ['a copy that is worked on', 'f(...[...names].sort());'],
  ['a choice', 'f({ ...(a ? { b } : {}) });'],
  ['parameters', 'const f = (...[a, b]: [number, number]) => a + b;'],
  ['a comment and a text', "// ...[a, b],\nconst text = '...{ a },';"],
])('what is more than a literal is left alone: %s', (_, text) => {
  expect(found(text)).toEqual([]);
});
