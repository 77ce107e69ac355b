// Keys that a JSON text names twice: where they are, and where only text looks like it.
import { expect, test } from 'vitest';
import { duplicateKeys } from '../../../src/api/duplicateKeys.js';

test.each<[string, readonly string[]]>([
  ['{"a":1,"b":2}', []],
  ['{"a":1,"a":2}', ['a']],
  ['{"a":{"b":1,"b":2},"a":1}', ['a.b', 'a']],
  ['{"l":[{"x":1},{"x":1,"y":[],"x":2}]}', ['l[1].x']],
  ['{"a":"{\\"b\\":1,\\"b\\":2}","c":"\\\\"}', []],
  ['{"a":{},"b":{},"c":[],"a":[]}', ['a']],
  ['{"\\u0061":1,"a":2}', ['a']],
  ['[{"a":1},{"a":2}]', []],
  ['{"__proto__":1,"__proto__":2}', ['__proto__']],
])('%s', (text, paths) => {
  JSON.parse(text);
  expect(duplicateKeys(text)).toEqual(paths);
});

test('a hostile text is told in bounds', () => {
  const members = Array.from({ length: 5000 }, (_, index) => `"k${index}":1,"k${index}":2`);
  expect(duplicateKeys(`{${members.join(',')}}`)).toHaveLength(100);
});
