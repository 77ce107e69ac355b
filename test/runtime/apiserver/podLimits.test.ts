// What bounds a pod on the real server after it was made: LimitRanges at a resize, Secrets of accounts that enforce them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { V1PodSpec } from '../../../src/api/gen/types.js';
import { LIMIT_RANGES, NAMESPACES, PODS, SERVICE_ACCOUNTS } from '../../../src/api/resources.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { until } from '../../support/until.js';

const namespace = 'team';
let api: SecuredApiServer;
beforeAll(async () => {
  api = await startSecuredApiServer();
  await api.client.of(NAMESPACES).create({ metadata: { name: namespace } });
  const accounts = api.client.of(SERVICE_ACCOUNTS);
  await accounts.create({ metadata: { name: 'default', namespace } });
  const annotations = { 'kubernetes.io/enforce-mountable-secrets': 'true' };
  await accounts.create({
    metadata: { name: 'strict', namespace, annotations },
    secrets: [{ name: 'mine' }],
    imagePullSecrets: [{ name: 'pull' }],
  });
});
afterAll(() => api.close());

const create = (name: string, spec: Partial<V1PodSpec>) =>
  api.client.of(PODS).create({
    metadata: { name, namespace },
    spec: { containers: [{ name: 'c', image: 'busybox' }], ...spec },
  });

test('a resize stays within the LimitRange of the namespace', async () => {
  const resources = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });
  const containers = (cpu: string) => [{ name: 'c', image: 'busybox', resources: resources(cpu) }];
  await create('sized', { containers: containers('100m') });
  await api.client.of(LIMIT_RANGES).create({
    metadata: { name: 'small', namespace },
    spec: { limits: [{ type: 'Container', max: { cpu: '500m' } }] },
  });
  const resize = (cpu: string) =>
    api.client.of(PODS).patch(
      { name: 'sized', namespace },
      'strategic',
      { spec: { containers: containers(cpu) } },
      {
        subresource: 'resize',
      },
    );
  await until(() =>
    expect(resize('2')).rejects.toThrow('maximum cpu usage per Container is 500m, but limit is 2'),
  );
  expect((await resize('400m')).spec.containers[0]?.resources?.limits).toEqual({ cpu: '400m' });
  await api.client.of(LIMIT_RANGES).delete({ name: 'small', namespace });
});

describe('an account that enforces its Secrets', () => {
  const because = 'is not allowed because service account strict does not reference that secret';
  const env = (name: string) => [{ name: 'E', valueFrom: { secretKeyRef: { name, key: 'k' } } }];
  const strict = (name: string, spec: Partial<V1PodSpec>) =>
    create(name, { serviceAccountName: 'strict', ...spec });

  test('gives its pods those', async () => {
    const volumes = [{ name: 'v', secret: { secretName: 'mine' } }];
    const { spec } = await strict('good', {
      volumes,
      containers: [{ name: 'c', image: 'i', env: env('mine') }],
    });
    expect(spec.imagePullSecrets).toEqual([{ name: 'pull' }]);
  });
  test.each<[string, Partial<V1PodSpec>, string]>([
    [
      'in a volume',
      { volumes: [{ name: 'v', secret: { secretName: 'other' } }] },
      `volume with secret.secretName="other" ${because}`,
    ],
    [
      'in a projected volume',
      {
        volumes: [
          { name: 'u', projected: { sources: [{ secret: { name: 'mine' } }] } },
          { name: 'v', projected: { sources: [{ downwardAPI: {} }, { secret: { name: 'other' } }] } },
        ],
      },
      `volume with projected secret.name="other" ${because}`,
    ],
    [
      'in the environment',
      { containers: [{ name: 'c', image: 'i', env: env('other') }] },
      `container c with envVar E referencing secret.secretName="other" ${because}`,
    ],
    [
      'as the environment of an init container',
      { initContainers: [{ name: 'i', image: 'i', envFrom: [{ secretRef: { name: 'other' } }] }] },
      `init container i with envFrom referencing secret.secretName="other" ${because}`,
    ],
    [
      'to pull images',
      { imagePullSecrets: [{ name: 'other' }] },
      'imagePullSecrets[0].name="other" is not allowed because service account strict does not reference that imagePullSecret',
    ],
  ])('gives them no other %s', async (_, spec, message) => {
    await expect(strict('bad', spec)).rejects.toThrow(message);
  });
  test('gives none to ephemeral containers', async () => {
    await strict('debugged', {});
    const debug = (secret: string) =>
      api.client
        .of(PODS)
        .patch(
          { name: 'debugged', namespace },
          'strategic',
          { spec: { ephemeralContainers: [{ name: 'd', image: 'i', env: env(secret) }] } },
          { subresource: 'ephemeralcontainers' },
        );
    await expect(debug('other')).rejects.toThrow(
      `ephemeral container d with envVar E referencing secret.secretName="other" ${because}`,
    );
    await debug('mine');
  });
});
