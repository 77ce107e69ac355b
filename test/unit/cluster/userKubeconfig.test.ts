// The cluster in a user's own kubeconfig: put in and taken out, with everything else as it was.
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { kubeconfigText } from '../../../src/cluster/kubeconfig.js';
import {
  changeKubeconfig,
  userKubeconfig,
  withCluster,
  withoutCluster,
} from '../../../src/cluster/userKubeconfig.js';

const own = kubeconfigText({
  server: 'https://127.0.0.1:6443',
  ca: 'ca',
  client: { cert: 'cert', key: 'key' },
  user: 'admin',
});
const USERS = `apiVersion: v1
kind: Config
# the one at work
clusters:
  - name: work
    cluster:
      server: https://work
users:
  - name: me
    user:
      token: secret
contexts:
  - name: work
    context:
      cluster: work
      user: me
current-context: work
`;

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-kubeconfig-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

test('is put in beside what is there, and is the current one', () => {
  const text = withCluster(USERS, own, 'trellis');
  expect(text).toContain('# the one at work');
  const config = parse(text);
  expect(config.clusters.map(({ name }: { name: string }) => name)).toEqual(['work', 'trellis']);
  expect(config.contexts[1]).toEqual({ name: 'trellis', context: { cluster: 'trellis', user: 'trellis' } });
  expect(config.clusters[1].cluster.server).toBe('https://127.0.0.1:6443');
  expect(config.users[1].user['client-key-data']).toBe(Buffer.from('key').toString('base64'));
  expect(config['current-context']).toBe('trellis');
  // Again, as after the cluster was made anew: once.
  expect(parse(withCluster(text, own, 'trellis'))).toEqual(config);
});

test('is taken out without a trace', () => {
  const text = withoutCluster(withCluster(USERS, own, 'trellis'), 'trellis');
  const { 'current-context': _, ...rest } = parse(USERS);
  expect(parse(text)).toEqual(rest);
  // Somebody else's choice stays.
  expect(withoutCluster(USERS, 'trellis')).toBe(USERS);
});

test.each([['- a list\n'], ['a: [\n'], ['just words']])('what is no kubeconfig is left alone: %j', (text) => {
  expect(() => withCluster(text, own, 'trellis')).toThrow('not a kubeconfig');
});

test.each(['', 'clusters: null\nusers: []\n'])('is put into an empty one: %j', (text) => {
  expect(parse(withCluster(text, own, 'trellis')).users).toHaveLength(1);
});

test('the file is private, also one behind a link, and its directory is made', async () => {
  const file = path.join(dir, 'home', '.kube', 'config');
  await changeKubeconfig(file, (text) => withCluster(text, own, 'trellis'));
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const link = path.join(dir, 'link');
  symlinkSync(file, link);
  await changeKubeconfig(link, (text) => withoutCluster(text, 'trellis'));
  expect(parse(readFileSync(file, 'utf8')).users).toEqual([]);
  writeFileSync(link, '');
  await changeKubeconfig(link, (text) => withoutCluster(text, 'trellis'));
  expect(readFileSync(file, 'utf8')).toBe('');
});

test('is that of kubectl', () => {
  expect(userKubeconfig({ KUBECONFIG: ':/a/b:/c' })).toBe('/a/b');
  expect(userKubeconfig({})).toMatch(/\/\.kube\/config$/);
});
