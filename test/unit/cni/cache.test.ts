// The result cache on disk.
// Guarantees: the bytes libcni would write, readable by root alone, never half of them; what libcni wrote is understood.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cachedResult, ResultCache } from '../../../src/cni/cache.js';
import { parseList } from '../../../src/cni/config.js';
import { parseResult } from '../../../src/cni/result.js';

let dir = '';
let cache = new ResultCache();
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-cache-'));
  cache = new ResultCache(path.join(dir, 'cni'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const text = '{"cniVersion":"1.0.0","name":"net","plugins":[{"type":"a"}]}';
const list = parseList({ name: 'f', text });
const printed = { cniVersion: '1.0.0', ips: [{ address: '10.0.0.2/24', gateway: '10.0.0.1' }] };
const result = parseResult(printed, '1.0.0');
const results = () => path.join(dir, 'cni', 'results');
const put = (name: string, value: unknown) => {
  mkdirSync(results(), { recursive: true });
  writeFileSync(path.join(results(), name), typeof value === 'string' ? value : JSON.stringify(value));
};

test('an entry is the one of libcni, by name, keys and mode', async () => {
  const attachment = {
    containerId: 'c1',
    netns: '/run/netns/a',
    args: [['K', 'V']] as [string, string][],
    capabilityArgs: { mac: 'm' },
  };
  await cache.put(list, attachment, result);
  const file = path.join(results(), 'net-c1-eth0');
  expect(readFileSync(file, 'utf8')).toBe(
    `{"kind":"cniCacheV1","containerId":"c1","config":"${Buffer.from(text).toString('base64')}","ifName":"eth0","networkName":"net","netns":"/run/netns/a","cniArgs":[["K","V"]],"capabilityArgs":{"mac":"m"},"result":${JSON.stringify(printed)}}`,
  );
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(results()).mode & 0o777).toBe(0o700);
  expect(readdirSync(path.join(dir, 'cni'))).toEqual(['results']);
  const entry = await cache.get('net', { containerId: 'c1' });
  expect(entry).toEqual({ ...attachment, network: 'net', ifName: 'eth0', config: text, result: printed });
  expect(cachedResult(entry, '1.0.0')).toEqual(result);
});

test('nothing but whole entries is ever in the directory of results', async () => {
  mkdirSync(results(), { recursive: true });
  const seen = new Set<string | null>();
  const watcher = watch(results(), (_, name) => seen.add(name));
  await cache.put(list, { containerId: 'c1' }, result);
  await expect.poll(() => seen.size).toBeGreaterThan(0);
  watcher.close();
  expect([...seen]).toEqual(['net-c1-eth0']);
});

test('what is empty is left out, as in Go', async () => {
  await cache.put(list, { containerId: 'c1', netns: '', args: [], capabilityArgs: {} }, result);
  const keys = Object.keys(JSON.parse(readFileSync(path.join(results(), 'net-c1-eth0'), 'utf8')));
  expect(keys).toEqual(['kind', 'containerId', 'config', 'ifName', 'networkName', 'result']);
});

test('a second entry replaces the first', async () => {
  await cache.put(list, { containerId: 'c1', netns: '/a' }, result);
  await cache.put(list, { containerId: 'c1', netns: '/b' }, result);
  expect(await cache.get('net', { containerId: 'c1' })).toMatchObject({ netns: '/b' });
  expect(readdirSync(results())).toEqual(['net-c1-eth0']);
});

test('removing is idempotent', async () => {
  await cache.put(list, { containerId: 'c1' }, result);
  await cache.remove('net', { containerId: 'c1' });
  await cache.remove('net', { containerId: 'c1' });
  expect(await cache.get('net', { containerId: 'c1' })).toBeUndefined();
});

describe('the list of attachments', () => {
  test('is empty without a directory', async () => {
    expect(await cache.list()).toEqual([]);
  });

  test('is in name order and passes over what is no entry', async () => {
    await cache.put(list, { containerId: 'b', ifName: 'net1' }, result);
    await cache.put(list, { containerId: 'a' }, result);
    put('torn', '{"kind":"cniCacheV1","containerId":"x"');
    put('empty', '');
    put('other', { kind: 'cniCacheV2', containerId: 'x', networkName: 'n', ifName: 'e' });
    put('nameless', { kind: 'cniCacheV1', containerId: 'x', ifName: 'e' });
    mkdirSync(path.join(results(), 'folder'));
    const found = await cache.list();
    expect(found.map(({ containerId, ifName }) => `${containerId} ${ifName}`)).toEqual(['a eth0', 'b net1']);
  });
});

test('two attachments whose names run together are not mixed up', async () => {
  await cache.put(
    parseList({ name: 'f', text: text.replace('"net"', '"net-a"') }),
    { containerId: 'b' },
    result,
  );
  const other = { containerId: 'a-b' };
  expect(cache.file('net', other)).toBe(cache.file('net-a', { containerId: 'b' }));
  expect(await cache.get('net', other)).toBeUndefined();
  await expect(cache.put(list, other, result)).rejects.toThrow(
    'is the result of container b on network net-a',
  );
  await cache.remove('net', other);
  expect(await cache.get('net-a', { containerId: 'b' })).toBeDefined();
});

test('a bare result of an old libcni is understood', async () => {
  put('net-c1-eth0', { cniVersion: '0.3.1', ips: [{ version: '4', address: '10.0.0.2/24' }] });
  const entry = await cache.get('net', { containerId: 'c1' });
  expect(cachedResult(entry, '1.0.0')?.ips).toEqual([{ address: '10.0.0.2/24' }]);
  expect(await cache.list()).toEqual([]);
});

test('an entry whose result makes no sense has none, so that it can still be deleted', async () => {
  put('net-c1-eth0', {
    kind: 'cniCacheV1',
    containerId: 'c1',
    networkName: 'net',
    ifName: 'eth0',
    result: { ips: 1 },
  });
  const entry = await cache.get('net', { containerId: 'c1' });
  expect(entry).toBeDefined();
  expect(cachedResult(entry, '1.0.0')).toBeUndefined();
});

test('a directory that cannot be made is told', async () => {
  writeFileSync(path.join(dir, 'cni'), '');
  await expect(cache.put(list, { containerId: 'c1' }, result)).rejects.toMatchObject({
    code: 'CACHE_FAILED',
  });
  expect(readdirSync(dir)).toEqual(['cni']);
});
