// Files of variables: what is taken, what it means, and what is refused by which line.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { envFileValue } from '../../../../src/kubelet/environment/envFile.js';

const FILE = [
  '# written by an init container',
  '',
  "PLAIN='value'",
  "  INDENTED='a b  c'   # and a remark",
  'LITERAL=\'$HOME \\n "x" # no remark\'',
  "LINES='first",
  '  second',
  "third'",
  "EMPTY=''",
  "APART= 'nothing'",
  "PLAIN='later'",
].join('\n');

test.each([
  ['PLAIN', 'value'],
  ['INDENTED', 'a b  c'],
  ['LITERAL', '$HOME \\n "x" # no remark'],
  ['LINES', 'first\n  second\nthird'],
  ['EMPTY', ''],
  ['APART', ''],
  ['NONE', undefined],
])('%s', (key, value) => {
  expect(envFileValue(FILE, key)).toBe(value);
});

test('a shell reads the same', () => {
  const lines = FILE.split('\n')
    .filter((line) => !line.startsWith('APART') && line !== "PLAIN='later'")
    .join('\n');
  for (const key of ['PLAIN', 'INDENTED', 'LITERAL', 'LINES', 'EMPTY'])
    expect(envFileValue(lines, key)).toBe(
      execFileSync('/bin/sh', ['-c', `${lines}\nprintf %s "$${key}"`], { encoding: 'utf8' }),
    );
});

test.each([
  ['word', "at line 1: missing '='"],
  ["\n='x'", 'at line 2: empty variable name'],
  ["A ='x'", "at line 1: whitespace before '=' is not allowed"],
  ['A=x', 'at line 1: value must be enclosed in single quotes'],
  ['A="x"', 'at line 1: value must be enclosed in single quotes'],
  ["A='x'y", 'at line 1: unexpected content after closing quote'],
  ["B='1'\nA='x\ny", 'starting at line 2: unclosed single quote'],
])('%j is refused', (text, why) => {
  expect(() => envFileValue(text, 'C')).toThrow(`invalid environment variable format ${why}`);
});
