// Kubeconfigs: what is read from them, and what is said of those that cannot be used.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readKubeconfig, transportOf } from '../../../src/client/kubeconfig.js';

const base64 = (text: string) => Buffer.from(text).toString('base64');

function config({
  cluster = {},
  user = {},
  current = 'main',
}: {
  cluster?: object;
  user?: object;
  current?: string;
}) {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': current,
    contexts: [
      { name: 'main', context: { cluster: 'c', user: 'u' } },
      { name: 'lost', context: { cluster: 'nowhere', user: 'u' } },
    ],
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
  });
}

describe('a kubeconfig', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'kubeconfig-'));
    file = path.join(folder, 'config');
  });
  afterEach(() => rm(folder, { recursive: true }));

  test('gives server, authority and client certificate, embedded or in files beside it', async () => {
    await writeFile(path.join(folder, 'client.key'), 'KEY');
    const user = { 'client-certificate-data': base64('CERT'), 'client-key': 'client.key' };
    await writeFile(file, config({ cluster: { 'certificate-authority-data': base64('CA') }, user }));
    expect(await readKubeconfig(file)).toEqual({
      server: 'https://127.0.0.1:6443',
      ca: Buffer.from('CA'),
      cert: Buffer.from('CERT'),
      key: Buffer.from('KEY'),
    });
  });

  test('gives a token or the file of one', async () => {
    await writeFile(file, config({ user: { token: 't', tokenFile: 'token' } }));
    expect(await readKubeconfig(file)).toMatchObject({ token: 't', tokenFile: path.join(folder, 'token') });
  });

  test.each([
    ['no current context', config({ current: '' }), 'current-context is not set and no context was named'],
    ['an unknown context', config({ current: 'x' }), 'contexts has no entry named "x"'],
    ['an unknown cluster', config({ current: 'lost' }), 'clusters has no entry named "nowhere"'],
    ['no server', config({ cluster: { server: '' } }), 'clusters[c].cluster.server is missing'],
    [
      'a server of another kind',
      config({ cluster: { server: 'ftp://x' } }),
      'server must begin with https://',
    ],
    [
      'a key without its certificate',
      config({ user: { 'client-key-data': 'YQ==' } }),
      'users[u].user.client-certificate is missing',
    ],
    [
      'bad base64',
      config({ user: { 'client-key-data': '§§' } }),
      'users[u].user.client-key-data is not base64',
    ],
    ['a token that is no text', config({ user: { token: 5 } }), 'users[u].user.token must be text'],
    [
      'a missing file',
      config({ cluster: { 'certificate-authority': 'no.crt' } }),
      'clusters[c].cluster.certificate-authority: ENOENT',
    ],
    ['an exec plugin', config({ user: { exec: {} } }), 'users[u].user.exec is not supported'],
    ['a list instead of a mapping', '[]', 'the file must be a mapping'],
    ['no YAML', 'token: "secret', 'it is not valid YAML'],
  ])('%s is refused by name', async (_what, content, message) => {
    await writeFile(file, content);
    const error = await readKubeconfig(file).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'CONFIG' });
    expect(String(error)).toContain(message);
    expect(String(error)).toContain(file);
    expect(String(error)).not.toContain('secret');
  });

  test('that is not there is said so', async () => {
    await expect(transportOf(path.join(folder, 'none'))).rejects.toThrow(
      /cannot read the kubeconfig: ENOENT/,
    );
  });
});
