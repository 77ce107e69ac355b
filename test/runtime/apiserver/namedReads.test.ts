// What a read that names an object shows, whatever else it selects, to users whose rights end at that name.
// Guarantees: each answer is read whole, up to the end of the watch.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, NAMESPACES, SECRETS } from '../../../src/api/resources.js';
import type { Transport } from '../../../src/client/transport.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { until } from '../../support/until.js';

let api: SecuredApiServer;
let limited: Transport;
const USER = { name: 'limited', groups: ['system:authenticated'] };
const SECRETS_PATH = 'namespaces/team/secrets';

beforeAll(async () => {
  api = await startSecuredApiServer();
  for (const name of ['team', 'other']) await api.client.of(NAMESPACES).create({ metadata: { name } });
  for (const name of ['allowed', 'hidden'])
    await api.client.of(SECRETS).create({ metadata: { name, namespace: 'team' }, type: 'Opaque' });
  const rule = (resource: string, name: string) => ({
    apiGroups: [''],
    resources: [resource],
    resourceNames: [name],
    verbs: ['get', 'list', 'watch'],
  });
  const rules = [rule('secrets', 'allowed'), rule('namespaces', 'team')];
  await api.client.of(CLUSTER_ROLES).create({ metadata: { name: 'one' }, rules });
  await api.client.of(CLUSTER_ROLE_BINDINGS).create({
    metadata: { name: 'one' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'one' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER.name }],
  });
  limited = api.server.inProcess(USER);
  await until(async () => expect((await get(`/api/v1/${SECRETS_PATH}/allowed`)).status).toBe(200));
});
afterAll(async () => {
  limited.close();
  await api.close();
});

async function get(path: string) {
  const { status, body } = await limited.request({ method: 'GET', path });
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return { status, text: Buffer.concat(pieces).toString() };
}

const ONE_SECOND = 'timeoutSeconds=1';

test.each([
  ['an empty field selector', 'fieldSelector='],
  ['a selector of another field', `fieldSelector=${encodeURIComponent('type!=x')}`],
  ['a selector that excludes a name', `fieldSelector=${encodeURIComponent('metadata.name!=x')}`],
  ['two selectors', `fieldSelector=&fieldSelector=${encodeURIComponent('metadata.name=hidden')}`],
  ['a label selector', `labelSelector=${encodeURIComponent('!x')}`],
])('a watch of a name with %s shows that name alone', async (_what, query) => {
  for (const path of [`/api/v1/${SECRETS_PATH}/allowed?watch=1&`, `/api/v1/watch/${SECRETS_PATH}/allowed?`]) {
    const { status, text } = await get(`${path}${ONE_SECOND}&${query}`);
    expect(status).toBe(200);
    expect(text).toContain('"allowed"');
    expect(text).not.toContain('"hidden"');
  }
});

test('a watch of a namespace shows that namespace alone', async () => {
  const selector = encodeURIComponent('status.phase!=x');
  for (const path of ['/api/v1/namespaces/team?watch=1&', '/api/v1/watch/namespaces/team?']) {
    const { text } = await get(`${path}${ONE_SECOND}&fieldSelector=${selector}`);
    expect(text).toContain('"team"');
    expect(text).not.toContain('"other"');
  }
});

test('a selector that names another object is refused', async () => {
  for (const path of [`/api/v1/${SECRETS_PATH}/allowed?watch=1&`, `/api/v1/watch/${SECRETS_PATH}/allowed?`]) {
    const { status, text } = await get(
      `${path}${ONE_SECOND}&fieldSelector=${encodeURIComponent('metadata.name=hidden')}`,
    );
    expect(status).toBe(400);
    expect(text).toContain("fieldSelector metadata.name doesn't match requested name");
  }
});

test('a name inside the value of another field is no name', async () => {
  const selector = encodeURIComponent('type!=x\\,metadata.name=allowed');
  for (const query of [`fieldSelector=${selector}`, `watch=1&${ONE_SECOND}&fieldSelector=${selector}`])
    expect((await get(`/api/v1/${SECRETS_PATH}?${query}`)).status).toBe(403);
});

test('a list or watch of a name is authorized as that name', async () => {
  const selector = `fieldSelector=${encodeURIComponent('metadata.name=allowed,type!=x')}`;
  for (const query of [selector, `watch=1&${ONE_SECOND}&${selector}`]) {
    const { status, text } = await get(`/api/v1/${SECRETS_PATH}?${query}`);
    expect(status).toBe(200);
    expect(text).toContain('"allowed"');
    expect(text).not.toContain('"hidden"');
  }
});
