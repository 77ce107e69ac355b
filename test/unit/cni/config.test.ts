// Reading network configurations.
// Guarantees: every wrong value is refused with its place and its path, every right one is understood as libcni does.
import { describe, expect, test } from 'vitest';
import { parseEither, parseList, parseSingle } from '../../../src/cni/config.js';
import { CniError } from '../../../src/cni/error.js';
import { CNI_VERSIONS } from '../../../src/cni/version.js';

const source = (value: unknown) => ({
  name: 'net.conflist',
  text: typeof value === 'string' ? value : JSON.stringify(value),
});
const list = (more: object) => source({ cniVersion: '1.0.0', name: 'n', plugins: [{ type: 'a' }], ...more });

function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(CniError);
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
    return (error as CniError).message;
  }
  return 'accepted';
}

describe('a list is refused', () => {
  test.each([
    ['not JSON', '{\n"name": }', 'net.conflist: line 2, column 9: not JSON: expected a value, found "}"'],
    ['not an object', '[1]', 'net.conflist: line 1, column 1: must be an object, is a list'],
    ['no name', { plugins: [{ type: 'a' }] }, 'name: is missing'],
    ['an empty name', { name: '', plugins: [{ type: 'a' }] }, 'name: is empty'],
    ['a name that is no text', { name: 5 }, 'line 1, column 9: name: must be a text, is a number'],
    ['a name that leads elsewhere', { name: '../x' }, 'name: "../x" must begin with a letter or digit'],
    ['no plugins', { name: 'n' }, 'plugins: is missing'],
    ['a single plugin under the wrong name', { name: 'n', type: 'a' }, 'must be called .conf or .json'],
    ['an empty list', { name: 'n', plugins: [] }, 'plugins: is empty'],
    [
      'plugins that are no list',
      { name: 'n', plugins: {} },
      'plugins: must be a list of objects, is an object',
    ],
    ['a plugin that is no object', { name: 'n', plugins: ['a'] }, 'plugins[0]: must be an object, is a text'],
    [
      'a plugin without type',
      { name: 'n', plugins: [{ type: 'a' }, {}] },
      'column 37: plugins[1].type: is missing',
    ],
    [
      'a type that is a path',
      { name: 'n', plugins: [{ type: '../sh' }] },
      'plugins[0].type: "../sh" must be the name',
    ],
    [
      'the directory itself',
      { name: 'n', plugins: [{ type: '..' }] },
      'plugins[0].type: ".." must be the name',
    ],
    [
      'the same plugin twice',
      { name: 'n', plugins: [{ type: 'a', x: 1, y: 2 }, { type: 'b' }, { y: 2, x: 1, type: 'a' }] },
      'plugins[2]: is the plugin a of plugins[0] once more',
    ],
    [
      'ipam that is no object',
      { name: 'n', plugins: [{ type: 'a', ipam: 1 }] },
      'plugins[0].ipam: must be an object',
    ],
    [
      'a wrong ipam type',
      { name: 'n', plugins: [{ type: 'a', ipam: { type: 1 } }] },
      'plugins[0].ipam.type: must be',
    ],
    [
      'a wrong name server',
      { name: 'n', plugins: [{ type: 'a', dns: { nameservers: ['1', 2] } }] },
      'plugins[0].dns.nameservers[1]: must be a text, is a number',
    ],
    [
      'a wrong capability',
      { name: 'n', plugins: [{ type: 'a', capabilities: { mac: 'yes' } }] },
      'plugins[0].capabilities.mac: must be true or false',
    ],
  ])('%s', (_, value, words) => {
    expect(refusal(() => parseList(source(value)))).toContain(words);
  });

  test.each([
    [
      'an unknown version',
      { cniVersion: '1.2.0' },
      'cniVersion: "1.2.0" is not known; known are 0.1.0, 0.2.0,',
    ],
    ['a version between two', { cniVersion: '0.3.2' }, '"0.3.2" is not known'],
    ['a version that is no text', { cniVersion: 1 }, 'cniVersion: must be a text, is a number'],
    [
      'versions that are no list',
      { cniVersions: '1.0.0' },
      'cniVersions: must be a list of texts, is a text',
    ],
    ['a version in words', { cniVersions: ['1.0.0', 'new'] }, 'cniVersions[1]: "new" is not a version'],
    [
      'only future versions',
      { cniVersion: '3.0.0', cniVersions: ['2.0.0'] },
      'cniVersions: none of them is known',
    ],
    ['a flag in words', { disableCheck: 'perhaps' }, 'disableCheck: must be true or false, is "perhaps"'],
    ['a flag that is a number', { disableGC: 1 }, 'disableGC: must be true or false, is a number'],
    [
      'a null flag',
      { loadOnlyInlinedPlugins: null },
      'loadOnlyInlinedPlugins: must be true or false, is null',
    ],
  ])('%s', (_, more, words) => {
    expect(refusal(() => parseList(list(more)))).toContain(words);
  });
});

describe('the version of a list', () => {
  test.each(CNI_VERSIONS.map((version) => [version]))('%s', (cniVersion) => {
    expect(parseList(list({ cniVersion })).cniVersion).toBe(cniVersion);
  });

  test.each([
    ['the oldest without any', { cniVersion: undefined }, '0.1.0'],
    ['the oldest when empty', { cniVersion: '' }, '0.1.0'],
    ['the newest of several', { cniVersion: '0.4.0', cniVersions: ['1.1.0', '1.0.0'] }, '1.1.0'],
    ['the single one when it is the newest', { cniVersion: '1.1.0', cniVersions: ['0.4.0'] }, '1.1.0'],
    ['not one from the future', { cniVersion: '1.0.0', cniVersions: ['1.2.0', '2.0.0'] }, '1.0.0'],
    [
      'one of several without a single one',
      { cniVersion: undefined, cniVersions: ['0.3.1', '0.4.0'] },
      '0.4.0',
    ],
  ])('%s', (_, more, expected) => {
    expect(parseList(list(more)).cniVersion).toBe(expected);
  });
});

test.each([
  [true, true],
  [false, false],
  ['true', true],
  ['False', false],
  [undefined, false],
])('a flag of %j is %j', (value, expected) => {
  const parsed = parseList(list({ disableCheck: value, disableGC: value, loadOnlyInlinedPlugins: value }));
  expect([parsed.disableCheck, parsed.disableGC, parsed.loadOnlyInlinedPlugins]).toEqual([
    expected,
    expected,
    expected,
  ]);
});

test('capabilities are those that are true', () => {
  const capabilities = { portMappings: true, mac: false, ips: true };
  const parsed = parseList(source({ name: 'n', plugins: [{ type: 'a', capabilities }] }));
  expect(parsed.plugins[0]?.capabilities).toEqual(['portMappings', 'ips']);
});

test('two plugins of one type with different settings are fine', () => {
  const plugins = [
    { type: 'tuning', mtu: 1 },
    { type: 'tuning', mtu: 2 },
  ];
  expect(parseList(source({ name: 'n', plugins })).plugins).toHaveLength(2);
});

test('a list keeps its own text, byte for byte', () => {
  const text = '{ "name":"n",\n"plugins": [ {"type":"a"} ] }\n';
  expect(parseList(source(text)).text).toBe(text);
});

describe('a single plugin', () => {
  test('becomes a list of one', () => {
    const conf = { cniVersion: '0.3.1', name: 'mynet', type: 'bridge', ipam: { type: 'host-local' } };
    const parsed = parseSingle(source(conf));
    expect(parsed).toMatchObject({ name: 'mynet', cniVersion: '0.3.1', plugins: [{ type: 'bridge', conf }] });
    expect(parseList({ name: 'again', text: parsed.text })).toMatchObject({
      name: 'mynet',
      cniVersion: '0.3.1',
    });
  });

  test.each([
    ['no type', { name: 'n' }, 'type: is missing'],
    ['no name', { type: 'a' }, 'name: is missing'],
    ['a list under the wrong name', { name: 'n', plugins: [] }, 'must be called .conflist'],
  ])('is refused with %s', (_, value, words) => {
    expect(refusal(() => parseSingle(source(value)))).toContain(words);
  });
});

test('a kept configuration is read in either form', () => {
  expect(parseEither(list({})).plugins).toHaveLength(1);
  expect(parseEither(source({ name: 'n', type: 'b' })).plugins[0]?.type).toBe('b');
});
