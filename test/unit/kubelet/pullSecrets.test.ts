import { expect, test } from 'vitest';
import { credentialsFor } from '../../../src/kubelet/pullSecrets.js';

const secretOf = (auths: Readonly<Record<string, object>>) => ({
  type: 'kubernetes.io/dockerconfigjson',
  data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths })).toString('base64') },
});
/** The entry's own name as its user shows which were found. */
const found = (image: string, registries: readonly string[]) =>
  credentialsFor(image, [
    secretOf(Object.fromEntries(registries.map((name) => [name, { username: name, password: 'p' }]))),
  ]).map(({ auth }) => auth.username);

test.each([
  ['registry.example.com/shop/web:1', 'registry.example.com', true],
  ['registry.example.com/shop/web:1', 'https://registry.example.com/v1/', true],
  ['registry.example.com/shop/web:1', '*.example.com', true],
  ['registry.example.com/shop/web:1', 'reg*.example.com/shop', true],
  ['registry.example.com/shop/web:1', 'registr?.*.com', true],
  ['registry.example.com/shop/web:1', '*.com', false],
  ['registry.example.com/shop/web:1', '*.example.com/other', false],
  ['registry.example.com/shop/web:1', '*.example.com/sho', false],
  ['registry.example.com/shop/web:1', '*.example.com:5000', false],
  ['registry.example.com:5000/shop/web', '*.example.com:5000', true],
  ['registry.example.com:5000/shop/web', '*.example.com', false],
  ['a.b.example.com/web', '*.example.com', false],
  ['registry.example.com/web', 'registry.example', false],
  ['web', '*.docker.io', true],
  ['web', 'https://index.docker.io/v1/', true],
  ['docker.io/library/web', 'docker.io', true],
  ['other.org/web', '*.example.com', false],
])('%s and credentials for %s: %s', (image, registry, fits) => {
  expect(found(image, [registry])).toEqual(fits ? [registry] : []);
});

test('the longest comes first', () => {
  const registries = ['*.example.com', 'registry.example.com/shop', 'registry.example.com'];
  expect(found('registry.example.com/shop/web', registries)).toEqual([
    'registry.example.com/shop',
    'registry.example.com',
    '*.example.com',
  ]);
});

test('a hostile pattern costs no more than its length', () => {
  expect(found(`${'a'.repeat(200)}.com/web`, [`${'*a'.repeat(5_000)}b.com`])).toEqual([]);
});
