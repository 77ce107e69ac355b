// Finding networks in a directory.
// Guarantees: name order, a list before a single plugin of the same name, broken files reported and not in the way.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadFile, loadNetwork, loadNetworks } from '../../../src/cni/load.js';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-conf-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const put = (file: string, value: unknown) => {
  mkdirSync(path.dirname(path.join(dir, file)), { recursive: true });
  writeFileSync(path.join(dir, file), typeof value === 'string' ? value : JSON.stringify(value));
};
const single = (name: string, type = 'bridge') => ({ cniVersion: '1.0.0', name, type });
const list = (name: string, more: object = {}) => ({
  cniVersion: '1.1.0',
  name,
  plugins: [{ type: 'bridge' }],
  ...more,
});

test('networks come in the order of their files, whatever their endings', async () => {
  put('20-b.conf', single('b'));
  put('10-a.conflist', list('a'));
  put('30-c.json', single('c'));
  put('05-readme.txt', 'no');
  put('06-no.conf~', 'no');
  mkdirSync(path.join(dir, '01-folder.conf'));
  const { networks, problems } = await loadNetworks(dir);
  expect(networks.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  expect(problems).toEqual([]);
});

test('of two with one name the list wins, then the first file', async () => {
  put('10.conf', single('n', 'first'));
  put('20.conflist', list('n'));
  put('30.conflist', list('n'));
  expect((await loadNetwork('n', dir)).source).toBe(path.join(dir, '20.conflist'));
  rmSync(path.join(dir, '20.conflist'));
  rmSync(path.join(dir, '30.conflist'));
  expect((await loadNetwork('n', dir)).plugins[0]?.type).toBe('first');
});

describe('a broken file', () => {
  test('does not hide other networks', async () => {
    put('10.conflist', '{');
    put('20.conflist', list('good'));
    expect((await loadNetwork('good', dir)).name).toBe('good');
    expect((await loadNetworks(dir)).problems).toHaveLength(1);
  });

  test('is named when the network is not found', async () => {
    put('10.conflist', '{"name": "wanted",}');
    put('20.conflist', list('other'));
    const message = `no network is called wanted in ${dir}; there are other\n  cannot be used: ${dir}/10.conflist: line 1, column 19: not JSON`;
    await expect(loadNetwork('wanted', dir)).rejects.toMatchObject({
      code: 'NETWORK_NOT_FOUND',
      message: expect.stringContaining(message),
    });
  });
});

test('an empty or missing directory holds no network', async () => {
  expect((await loadNetworks(dir)).networks).toEqual([]);
  await expect(loadNetwork('n', `${dir}/none`)).rejects.toMatchObject({ code: 'NETWORK_NOT_FOUND' });
});

describe('plugins in the directory named after the network', () => {
  test('are added in name order, and kept in the text', async () => {
    put('10.conflist', list('n'));
    put('n/20.conf', { type: 'portmap' });
    put('n/10.conf', { type: 'tuning' });
    put('n/15.txt', 'no');
    const loaded = await loadFile(path.join(dir, '10.conflist'));
    expect(loaded.plugins.map(({ type }) => type)).toEqual(['bridge', 'tuning', 'portmap']);
    expect(JSON.parse(loaded.text)).toMatchObject({
      loadOnlyInlinedPlugins: true,
      plugins: [{ type: 'bridge' }, { type: 'tuning' }, { type: 'portmap' }],
    });
  });

  test('may be all there are', async () => {
    put('10.conflist', { cniVersion: '1.1.0', name: 'n' });
    put('n/10.conf', { type: 'tuning' });
    expect((await loadNetwork('n', dir)).plugins.map(({ type }) => type)).toEqual(['tuning']);
  });

  test('are left alone when the list says so', async () => {
    put('10.conflist', list('n', { loadOnlyInlinedPlugins: true }));
    put('n/10.conf', '{ broken');
    expect((await loadNetwork('n', dir)).plugins).toHaveLength(1);
  });

  test('are refused by their own file and place', async () => {
    put('10.conflist', list('n'));
    put('n/10.conf', '{\n "typ": "a"}');
    await expect(loadNetwork('n', dir)).rejects.toThrow(
      `${dir}/n/10.conf: line 1, column 1: type: is missing`,
    );
  });
});
