// Names and arguments of attachments.
// Guarantees: what a plugin or the cache could not take is refused in words.
import { expect, test } from 'vitest';
import { checkAttachment, parseArgs } from '../../../src/cni/attachment.js';

test.each([
  ['no container ID', { containerId: '' }, 'the container ID ""'],
  ['a container ID that leads elsewhere', { containerId: '../x' }, 'the container ID "../x"'],
  ['an empty interface name', { containerId: 'c', ifName: '' }, '"" cannot be the name'],
  ['an interface name that is a path', { containerId: 'c', ifName: 'a/b' }, '"a/b" cannot be the name'],
  ['a directory as interface name', { containerId: 'c', ifName: '..' }, '".." cannot be the name'],
  ['a colon in the interface name', { containerId: 'c', ifName: 'a:0' }, '"a:0" cannot be the name'],
  ['a blank in the interface name', { containerId: 'c', ifName: 'a b' }, '"a b" cannot be the name'],
  ['a long interface name', { containerId: 'c', ifName: 'a'.repeat(16) }, 'longer than 15 bytes'],
  [
    'an argument with a semicolon',
    { containerId: 'c', args: [['K', 'a;B=1']] as [string, string][] },
    'K=a;B=1',
  ],
  [
    'an argument without key',
    { containerId: 'c', args: [['', 'a']] as [string, string][] },
    '=a cannot be passed on',
  ],
])('%s is refused', (_, attachment, words) => {
  expect(() => checkAttachment(attachment)).toThrow(
    expect.objectContaining({ code: 'ARGUMENT_INVALID', message: expect.stringContaining(words) }),
  );
});

test('the longest interface name is fine', () => {
  expect(() => checkAttachment({ containerId: 'a_b.c-1', ifName: 'a'.repeat(15) })).not.toThrow();
});

test.each([
  ['', []],
  ['A=1', [['A', '1']]],
  [
    'A=1;B=x=y;',
    [
      ['A', '1'],
      ['B', 'x=y'],
    ],
  ],
])('the arguments %j', (text, expected) => {
  expect(parseArgs(text)).toEqual(expected);
});

test.each(['A', '=1', 'A=', 'A=1;B'])('the arguments %j are refused', (text) => {
  expect(() => parseArgs(text)).toThrow('is not of the form KEY=VALUE');
});
