import { describe, expect, test } from 'vitest';
import { CelError } from '../../../src/cel/error.js';
import { compileExpression } from '../../../src/cel/expression.js';
import { fromJson } from '../../../src/cel/json.js';
import { Budget } from '../../../src/cel/program.js';
import { type CelType, DYN, formatType, INT, listOf, mapOf, STRING } from '../../../src/cel/types.js';
import type { Value } from '../../../src/cel/values.js';

const variables = new Map<string, CelType>([
  ['ints', listOf(INT)],
  ['words', listOf(STRING)],
  ['labels', mapOf(STRING, STRING)],
  ['any', DYN],
  [
    'self',
    {
      kind: 'object',
      fields: new Map([
        ['name', { type: STRING, json: 'name' }],
        ['x', { type: INT, json: 'x' }],
        ['__namespace__', { type: STRING, json: 'namespace' }],
        ['list', { type: listOf(INT), json: 'list' }],
        ['missing', { type: STRING, json: 'missing' }],
      ]),
    },
  ],
]);
const data: Record<string, unknown> = {
  ints: [1, 2, 3],
  words: ['a', 'b', 'c'],
  labels: { app: 'web', tier: 'front' },
  any: { n: 3, list: [1, 'two', 3.5, null, true], text: 'abc' },
  self: { name: 'héllo', x: 7, namespace: 'kube', list: [3, 1, 2] },
};

function run(source: string, limit = 1_000_000): Value {
  const expression = compileExpression(source, variables);
  const values = new Map(
    Array.from(variables, ([name, type]) => [name, fromJson(data[name], type)] as const),
  );
  return expression.run(values, new Budget(limit));
}

function fault(source: string): string {
  try {
    run(source);
  } catch (error) {
    if (error instanceof CelError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'none';
}

/** Expressions that are true, by subject. */
const TRUE: Readonly<Record<string, readonly string[]>> = {
  'arithmetic and comparison': [
    '1 + 2 * 3 == 7',
    '7 / 2 == 3 && -7 / 2 == -3 && 7 % 3 == 1 && -7 % 3 == -1',
    '1.5 + 1.5 == 3.0',
    '1u + 2u == 3u',
    'dyn(1) == 1.0 && 1u == dyn(1) && dyn(1u) == dyn(1.0)',
    '1 < 2 && 2.0 >= 2 && 1u < 2.5 && 3 > 2u',
    "'a' < 'b' && 'a' <= 'a' && b'a' < b'b'",
    'false < true',
    '9223372036854775807 > 0',
    '-(-5) == 5 && !false',
    '0xff == 255',
    '1e3 == 1000.0',
    '[1, 2] + [3] == [1, 2, 3]',
    "b'ab' + b'c' == b'abc'",
    "'\\u00e9' == 'é'",
    'null == null',
    "dyn(1) != dyn('1')",
    '[1, 2.0, 3u] == [1.0, 2u, 3]',
    "dyn({'a': 1}) == {'a': 1.0}",
  ],
  'logic and errors': [
    'true || 1 / 0 == 1',
    '1 / 0 == 1 || true',
    '!(false && 1 / 0 == 1)',
    '!(1 / 0 == 1 && false)',
    'true ? true : 1 / 0 == 1',
    '[1, 0].exists(i, 4 / i == 4)',
    '![0, 5].all(i, 4 / i == 4)',
  ],
  'fields and indexes': [
    "self.name == 'héllo' && self.x == 7",
    "self.__namespace__ == 'kube'",
    'has(self.name) && !has(self.missing)',
    "labels.app == 'web' && labels['tier'] == 'front' && 'app' in labels && !('x' in labels)",
    'has(labels.app) && !has(labels.nothing)',
    'ints[0] == 1 && 3 in ints && !(4 in ints)',
    "any.n == 3 && any.list[1] == 'two' && any.list[2] == 3.5 && any.list[3] == null && any.list[4]",
    "any['text'] == 'abc'",
    'self.list == [3, 1, 2]',
  ],
  macros: [
    'ints.all(i, i > 0) && ints.exists(i, i == 2) && ints.exists_one(i, i == 2)',
    'ints.map(i, i * 2) == [2, 4, 6]',
    'ints.map(i, i > 1, i * 2) == [4, 6]',
    'ints.filter(i, i > 1) == [2, 3]',
    "labels.all(k, k.size() >= 3) && labels.exists(k, labels[k] == 'front')",
    'labels.map(k, labels[k]).size() == 2',
    'ints.all(i, v, v == i + 1)',
    "labels.exists(k, v, k == 'app' && v == 'web')",
    'ints.existsOne(i, v, v == 2)',
    'ints.transformList(i, v, i * v) == [0, 2, 6]',
    'ints.transformList(i, v, v > 1, i) == [1, 2]',
    "labels.transformMap(k, v, v + '!') == {'app': 'web!', 'tier': 'front!'}",
    "labels.transformMapEntry(k, v, {v: k}) == {'web': 'app', 'front': 'tier'}",
    'cel.bind(n, self.x * 2, n + n == 28)',
    'cel.bind(i, 5, ints.map(i, i + 1) == [2, 3, 4] && i == 5)',
    'ints.map(i, ints.filter(j, j > i)) == [[2, 3], [3], []]',
    '[[1, 2], [3]].all(i, i.all(i, i > 0))',
  ],
  conversions: [
    "int('42') == 42 && int(3.9) == 3 && int(-3.9) == -3 && int(5u) == 5",
    "uint('42') == 42u && uint(3.9) == 3u",
    "double('3.5') == 3.5 && double(2) == 2.0",
    "string(42) == '42' && string(1.5) == '1.5' && string(true) == 'true' && string(1e21) == '1e+21'",
    "string(b'abc') == 'abc' && bytes('é').size() == 2",
    "bool('true') && !bool('F')",
    'type(1) == int && type(1u) == uint && type(1.0) == double && type(null) == null_type',
    "type('a') == string && type([1]) == list && type({'a': 1}) == map && type(int) == type",
    'type(any.list[1]) == string',
    "size('héllo') == 5 && self.name.size() == 5 && size([1, 2]) == 2 && size(labels) == 2 && size(b'ab') == 2",
    "timestamp('2024-01-02T03:04:05.678Z').getMilliseconds() == 678",
    "int(timestamp('1970-01-01T00:01:00Z')) == 60",
    "string(duration('90m')) == '5400s' && string(duration('1.5s')) == '1.5s'",
  ],
  strings: [
    "'hello'.contains('ell') && 'hello'.startsWith('he') && 'hello'.endsWith('lo')",
    "'héllo'.indexOf('l') == 2 && 'héllo'.lastIndexOf('l') == 3 && 'hello'.indexOf('z') == -1",
    "'héllo'.substring(1, 3) == 'él' && 'hello'.substring(3) == 'lo' && 'héllo'.charAt(1) == 'é'",
    "'héllo'.charAt(5) == ''",
    "'TacoCÄT'.lowerAscii() == 'tacocÄt' && 'tacoCät'.upperAscii() == 'TACOCäT'",
    "' x '.trim() == 'x' && 'abc'.reverse() == 'cba'",
    "'a.b.c'.replace('.', '-') == 'a-b-c' && 'a.b.c'.replace('.', '-', 1) == 'a-b.c'",
    "'ab'.replace('', '_') == '_a_b_'",
    "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'a'.split(',', 0) == []",
    "words.join('-') == 'a-b-c' && words.join() == 'abc' && [].join() == ''",
    "'%s is %d and %.2f %x %b'.format(['a', 7, 1.5, 255, 5]) == 'a is 7 and 1.50 ff 101'",
    "'%s'.format([[1, 2]]) == '[1, 2]' && '%%'.format([]) == '%'",
    'strings.quote(\'a"b\') == \'"a\\\\"b"\'',
  ],
  'lists and sets': [
    '[1, 2, 3].isSorted() && ![2, 1].isSorted() && [].isSorted() && words.isSorted()',
    '[1, 2, 3].sum() == 6 && [1.5, 2.5].sum() == 4.0 && [].sum() == 0',
    "[duration('1m'), duration('1s')].sum() == duration('1m1s')",
    "[3, 1, 2].min() == 1 && ['a', 'c', 'b'].max() == 'c'",
    '[1, 2, 2].indexOf(2) == 1 && [1, 2, 2].lastIndexOf(2) == 2 && [1].indexOf(5) == -1',
    '[1, 2, 3, 4].slice(1, 3) == [2, 3] && [1, 1, 2].distinct() == [1, 2] && [1, 2].reverse() == [2, 1]',
    '[[1], [2, 3]].flatten() == [1, 2, 3] && lists.range(3) == [0, 1, 2] && [3, 1].sort() == [1, 3]',
    'sets.contains([1, 2, 3], [2]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 2], [2, 1, 1])',
    '!sets.contains([1], [2]) && !sets.intersects([1], [2])',
  ],
  numbers: [
    'math.greatest(1, 2, 3) == 3 && math.least([4, 2]) == 2 && math.greatest(1, 2.5) == 2.5',
    'math.ceil(1.2) == 2.0 && math.floor(1.8) == 1.0 && math.round(-1.5) == -2.0 && math.trunc(-1.8) == -1.0',
    'math.abs(-5) == 5 && math.sign(-3) == -1 && math.isNaN(0.0 / 0.0) && math.isInf(1.0 / 0.0)',
    'math.bitAnd(6, 3) == 2 && math.bitOr(4, 1) == 5 && math.bitXor(5, 1) == 4 && math.bitShiftLeft(1, 3) == 8',
  ],
  'regular expressions': [
    "'hello'.matches('^h.*o$') && matches('abc', 'b') && !'abc'.matches('^b')",
    "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('x') == ''",
    "'1 a 2'.findAll('[0-9]') == ['1', '2'] && '1 a 2'.findAll('[0-9]', 1) == ['1']",
    "'ab'.matches('(?i)AB')",
  ],
  URLs: [
    "isURL('https://user:pass@example.com:80/path?query=val#fragment') && isURL('/absolute-path')",
    "!isURL('https://a:b:c/') && !isURL('../relative-path')",
    "url('https://[::1]:80/').getHost() == '[::1]:80' && url('https://[::1]:80/').getHostname() == '::1'",
    "url('https://example.com:80/').getPort() == '80' && url('/path').getScheme() == ''",
    "url('https://example.com/with space/').getEscapedPath() == '/with%20space/'",
    "url('https://e.com/p?k1=a&k2=b&k2=c').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']}",
    "url('https://example.com').getEscapedPath() == ''",
  ],
  quantities: [
    "isQuantity('1.3Gi') && !isQuantity('200K') && !isQuantity('Three')",
    "quantity('50k').add(quantity('20k')) == quantity('70k') && quantity('50k').sub(20000) == quantity('30k')",
    "quantity('50k').asInteger() == 50000 && quantity('1500m').asApproximateFloat() == 1.5",
    "!quantity('1.5').isInteger() && quantity('-1').sign() == -1",
    "quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('50M').isLessThan(quantity('50Mi'))",
  ],
  addresses: [
    "isIP('192.168.0.1') && !isIP('192.168.0.256') && !isIP('::ffff:1.2.3.4') && ip('::1').family() == 6",
    "ip.isCanonical('127.0.0.1') && !ip.isCanonical('2001:DB8::ABCD')",
    "ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified() && ip('fe80::1').isLinkLocalUnicast()",
    "ip('224.0.0.1').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast()",
    "ip('192.168.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()",
    "isCIDR('192.168.0.0/16') && !isCIDR('192.168.0.0/33')",
    "cidr('192.168.0.0/24').containsIP('192.168.0.1') && !cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))",
    "cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24') && !cidr('10.0.0.0/24').containsCIDR(cidr('10.0.0.0/8'))",
    "cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24') && cidr('192.168.0.1/24').ip() == ip('192.168.0.1')",
    "cidr('::1/128').prefixLength() == 128 && string(ip('::1')) == '::1' && string(cidr('10.0.0.0/8')) == '10.0.0.0/8'",
  ],
  versions: [
    "isSemver('1.0.0') && !isSemver('v1.0') && isSemver('v1.0', true) && semver('01.01.01', true) == semver('1.1.1')",
    "semver('1.2.3').isGreaterThan(semver('1.2.3-alpha.1')) && semver('1.2.3').compareTo(semver('1.10.0')) == -1",
    "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3",
    "semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10'))",
  ],
  formats: [
    "!format.dns1123Label().validate('my-label').hasValue()",
    "format.dns1123Label().validate('My_Label').hasValue()",
    "format.named('uuid').value().validate('nope').hasValue() && !format.named('nothing').hasValue()",
    "!format.qualifiedName().validate('apiextensions.k8s.io/v1beta1').hasValue()",
    "format.date().validate('2021-13-01').hasValue() && !format.datetime().validate('2021-01-01T00:00:00Z').hasValue()",
  ],
  times: [
    "timestamp('2024-02-29T12:30:45Z').getFullYear() == 2024 && timestamp('2024-02-29T12:30:45Z').getMonth() == 1",
    "timestamp('2024-02-29T12:30:45Z').getDate() == 29 && timestamp('2024-02-29T12:30:45Z').getDayOfMonth() == 28",
    "timestamp('2024-02-29T12:30:45Z').getDayOfWeek() == 4 && timestamp('2024-02-29T12:30:45Z').getDayOfYear() == 59",
    "timestamp('2024-02-29T12:30:45Z').getHours('+02:00') == 14",
    "timestamp('2024-01-01T00:00:00Z') + duration('36h') > timestamp('2024-01-02T00:00:00Z')",
    "timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('24h')",
    "duration('90m').getHours() == 1 && duration('90m').getMinutes() == 90 && duration('1500ms').getMilliseconds() == 500",
  ],
  optionals: [
    "labels.?app.orValue('none') == 'web' && labels.?nothing.orValue('none') == 'none'",
    "labels[?'app'].hasValue() && !ints[?9].hasValue() && ints[?0].value() == 1",
    "self.?missing.hasValue() == false && self.?name.value() == 'héllo'",
    'optional.of(1).optMap(v, v + 1).value() == 2 && !optional.none().hasValue()',
    "labels.?nothing.or(labels.?app).value() == 'web'",
    "optional.ofNonZeroValue('') == optional.none()",
    'labels.?app.optFlatMap(v, optional.of(v.size())).value() == 3',
  ],
};

describe.each(Object.entries(TRUE))('%s', (_, sources) => {
  test.each(sources)('%s', (source) => {
    expect(run(source)).toBe(true);
  });
});

describe('what is wrong with the text or the types', () => {
  test.each([
    ['self = 42', 'SYNTAX: ERROR: <input>:1:'],
    ['self.', 'Syntax error'],
    ['self.z == 1', "TYPE: ERROR: <input>:1:6: undefined field 'z'\n | self.z == 1\n | .....^"],
    ['has(self.z)', "undefined field 'z'"],
    ['nothing == 1', "undeclared reference to 'nothing' (in container '')"],
    ["1 + 'a'", "found no matching overload for '_+_' applied to '(int, string)'"],
    ["'a'.foo()", "undeclared reference to 'foo' (in container '')"],
    ["'a'.startsWith(1)", "found no matching overload for 'startsWith' applied to 'string.(int)'"],
    ['self.x.y', "type 'int' does not support field selection"],
    [
      '1.all(i, i > 0)',
      "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ],
    ["true ? 1 : 'a'", "found no matching overload for '_?_:_' applied to '(bool, int, string)'"],
    ['self.x && true', "expected type 'bool' but found 'int'"],
    ["ints['a']", "found no matching overload for '_[_]' applied to '(list(int), string)'"],
    ['1 == 1.0', "found no matching overload for '_==_' applied to '(int, double)'"],
    ['has(self)', 'invalid argument to has() macro'],
    ['ints.all(1, true)', 'SYNTAX'],
    ['self.namespace', "undefined field 'namespace'"],
    ['quantity(1)', "found no matching overload for 'quantity' applied to '(int)'"],
    ['self.missing == 1', "found no matching overload for '_==_' applied to '(string, int)'"],
  ])('%s: %s', (source, words) => {
    expect(fault(source)).toContain(words);
  });
});

describe('what goes wrong while it runs', () => {
  test.each([
    ['1 / 0 == 1', 'EVALUATION: division by zero'],
    ['1 % 0 == 1', 'modulus by zero'],
    ['9223372036854775807 + 1 > 0', 'integer overflow'],
    ['0u - 1u == 0u', 'unsigned integer overflow'],
    ["self.missing == ''", 'no such key: missing'],
    ["labels['x'] == ''", 'no such key: x'],
    ['ints[7] == 1', 'index out of bounds: 7'],
    ['any.text > 1', 'NO_OVERLOAD: no such overload'],
    ["int('x') == 1", 'invalid syntax'],
    ["quantity('Mi').sign() == 1", 'quantities must match the regular expression'],
    ["ip('1.2.3') == ip('1.2.3.4')", 'parse error during conversion from string'],
    ["url('../x').getHost() == ''", 'invalid URI for request'],
    ['[].min() == 1', 'min called on empty list'],
    ["'a'.matches('(')", 'EVALUATION'],
    ["timestamp('2024-02-30T00:00:00Z').getDate() == 1", 'RFC 3339'],
    ["'abc'.substring(5) == ''", 'index out of range: 5'],
    ['optional.none().value() == 1', 'optional.none() dereference'],
    ['[1, 2].all(i, 1 / (i - i) == 1)', 'division by zero'],
  ])('%s: %s', (source, words) => {
    expect(fault(source)).toContain(words);
  });
});

describe('work is bounded', () => {
  test.each([
    ['sums', `0${' + 1'.repeat(5000)} > 0`],
    ['negations', `${'!'.repeat(5000)}true`],
    ['comparisons', `true${' != true'.repeat(5000)}`],
  ])('thousands of %s in each other are refused', (_, source) => {
    expect(fault(source)).toContain('SYNTAX');
    expect(fault(source)).toContain('expression recursion limit exceeded');
  });

  test('chains of logical operators may be as long as an expression', () => {
    expect(run(`${'true && '.repeat(5000)}true`)).toBe(true);
    expect(run(`${'true && '.repeat(5000)}false`)).toBe(false);
    expect(run(`${'false || '.repeat(2500)}(1 / 0 == 1)${' || false'.repeat(2000)} || true`)).toBe(true);
    expect(run(`${'true && false || '.repeat(2000)}true`)).toBe(true);
    expect(fault(`${'false || '.repeat(2500)}(1 / 0 == 1)${' || false'.repeat(2000)}`)).toContain(
      'division by zero',
    );
  });

  test('too many rounds end it, and no answer on another side hides that', () => {
    const nested = 'lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0))';
    expect(fault(nested)).toBe('COST: operation cancelled: actual cost limit exceeded');
    expect(fault(`${nested} || true`)).toContain('COST');
    expect(run('lists.range(1000).all(a, a >= 0)')).toBe(true);
  });

  test('a text that doubles again and again is ended before it fills memory', () => {
    const doubling = `${'cel.bind(s, s + s, '.repeat(40)}s.size() > 0${')'.repeat(40)}`;
    expect(fault(`cel.bind(s, 'aaaaaaaaaa', ${doubling})`)).toContain('COST');
  });

  test('regular expressions are linear', () => {
    expect(run(`'${'a'.repeat(5_000)}'.matches('(a*)*b')`)).toBe(false);
  });

  test.each([
    ['(', 1_000],
    ['[', 1_000],
    ['-', 5_000],
  ])('text nested by %s is refused', (sign, count) => {
    expect(fault(sign.repeat(count))).toContain('SYNTAX');
  });

  test('a text of 200,000 characters is refused', () => {
    expect(fault(`'${'a'.repeat(200_000)}' == ''`)).toContain('SYNTAX');
  });
});

describe('the estimate of the cost', () => {
  const bounded = (maxSize: number) =>
    new Map<string, CelType>([['self', { ...listOf({ ...STRING, maxSize: 10 }), maxSize }]]);
  const cost = (source: string, maxSize: number) => compileExpression(source, bounded(maxSize)).maxCost;

  test('follows the bounds of the schema', () => {
    const one = cost('self.all(s, s.contains("x"))', 10);
    expect(cost('self.all(s, s.contains("x"))', 100) / one).toBeGreaterThan(9);
    expect(cost('self.all(s, s.contains("x"))', 100) / one).toBeLessThan(11);
  });

  test('multiplies rounds within rounds', () => {
    expect(cost('self.all(a, self.all(b, a == b))', 725)).toBeGreaterThan(1_000_000);
    expect(cost('self.all(a, self.all(b, a == b))', 725)).toBeLessThan(10_000_000);
    expect(cost('self.all(a, self.all(b, self.all(c, a == b && b == c)))', 725)).toBeGreaterThan(10_000_000);
  });

  test('takes what has no bound for a whole request', () => {
    const open = new Map<string, CelType>([['self', listOf(STRING)]]);
    expect(compileExpression('self.all(s, s == "string constant")', open).maxCost).toBeGreaterThan(
      10_000_000,
    );
  });

  test.each([
    'self.all(s, s.size() > 0 && s.matches("^[a-z]+$"))',
    'self.map(s, s + s).join(",").size() > 0',
    'self.exists(s, s in ["a", "b"]) || self.filter(s, s.startsWith("a")).size() == 0',
    'self.all(a, self.all(b, a == b || a != b))',
  ])('is never below what a run costs: %s', (source) => {
    const expression = compileExpression(source, bounded(20));
    const json = Array.from({ length: 20 }, () => 'abcdefghij');
    const budget = new Budget(1_000_000);
    expression.run(new Map([['self', fromJson(json, bounded(20).get('self') as CelType)]]), budget);
    expect(budget.used).toBeLessThanOrEqual(expression.maxCost);
  });
});

test('types are named as messages name them', () => {
  expect(compileExpression('[{"a": 1u}]', new Map()).type).toMatchObject({ kind: 'list' });
  expect(formatType(compileExpression('[{"a": 1u}]', new Map()).type)).toBe('list(map(string, uint))');
});
