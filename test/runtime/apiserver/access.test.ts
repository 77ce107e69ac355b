// Who reaches what: identities by verbs by resources over HTTPS, every route of discovery, impersonation, and what is written down.
// Guarantees: each refusal is a 403 Status of the authorizer; what the logs hold is read whole and searched for secrets.
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openHttps } from '../../../src/client/httpTransport.js';
import type { Transport } from '../../../src/client/transport.js';
import { type ApiServerCommand, startApiServerCommand } from '../../support/apiServerCommand.js';

const USERS = ['nobody', 'viewer', 'editor', 'owner', 'reader', 'actor'] as const;
type User = (typeof USERS)[number];
const TOKEN = (user: User) => `token-of-${user}-2c9d1f`;

let api: ApiServerCommand;
let files: string;
let auditLog: string;
const transports = new Map<string, Transport>();

beforeAll(async () => {
  files = path.join(os.tmpdir(), `trellis-access-${process.pid}`);
  auditLog = `${files}.audit`;
  await writeFile(files, USERS.map((user) => `${TOKEN(user)},${user},uid-${user},"team"`).join('\n'));
  const args = ['--token-auth-file', files, '--audit-log-path', auditLog, '--audit-level', 'RequestResponse'];
  api = await startApiServerCommand({ args });
  const { server, ca } = api.admin;
  for (const user of USERS) transports.set(user, openHttps({ server, ca, token: TOKEN(user) }));
  transports.set('anonymous', openHttps({ server, ca }));
  transports.set('admin', api.transport);
  await made('/api/v1/namespaces', { metadata: { name: 'team' } });
  const roles = { viewer: 'view', editor: 'edit', owner: 'admin' };
  for (const [user, role] of Object.entries(roles)) await bind('RoleBinding', user, role);
  await made('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name: 'nodes-only' },
    rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] }],
  });
  await bind('ClusterRoleBinding', 'reader', 'nodes-only');
  await made('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name: 'acts-as-viewer' },
    rules: [{ apiGroups: [''], resources: ['users'], resourceNames: ['viewer'], verbs: ['impersonate'] }],
  });
  await bind('ClusterRoleBinding', 'actor', 'acts-as-viewer');
  // What was granted is judged by a cache that follows the store.
  await vi.waitFor(
    async () => {
      expect((await ask('viewer', 'GET', '/api/v1/namespaces/team/pods')).code).toBe(200);
      expect((await ask('reader', 'GET', '/api/v1/nodes')).code).toBe(200);
    },
    { timeout: 30_000 },
  );
});
afterAll(async () => {
  for (const transport of transports.values()) transport.close();
  await api?.close();
  for (const file of [files, auditLog]) await rm(file, { force: true });
});

interface Answer {
  readonly code: number;
  readonly text: string;
}

type Headers = Readonly<Record<string, string>>;

async function ask(
  who: string,
  method: string,
  to: string,
  { body, headers = {} }: { readonly body?: object; readonly headers?: Headers } = {},
): Promise<Answer> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const response = await (transports.get(who) as Transport).request({
    method: method as 'GET',
    path: to,
    headers: { 'content-type': type, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  let text = '';
  for await (const chunk of response.body) text += Buffer.from(chunk).toString();
  return { code: response.status, text };
}

async function made(to: string, body: object): Promise<void> {
  expect(await ask('admin', 'POST', to, { body })).toMatchObject({ code: 201 });
}

async function bind(kind: 'RoleBinding' | 'ClusterRoleBinding', user: string, role: string): Promise<void> {
  const group = 'rbac.authorization.k8s.io';
  const place = kind === 'RoleBinding' ? 'namespaces/team/rolebindings' : 'clusterrolebindings';
  await made(`/apis/${group}/v1/${place}`, {
    metadata: { name: user },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: group, kind: 'User', name: user }],
  });
}

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection'];
const ALL = [...READ, ...WRITE];
const RESOURCES: Readonly<Record<string, string>> = {
  pods: '/api/v1/namespaces/team/pods',
  secrets: '/api/v1/namespaces/team/secrets',
  configmaps: '/api/v1/namespaces/team/configmaps',
  deployments: '/apis/apps/v1/namespaces/team/deployments',
  roles: '/apis/rbac.authorization.k8s.io/v1/namespaces/team/roles',
  quotas: '/api/v1/namespaces/team/resourcequotas',
  elsewhere: '/api/v1/namespaces/default/pods',
  everywhere: '/api/v1/pods',
  nodes: '/api/v1/nodes',
  clusterroles: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
};
/** As Kubernetes' default roles say. What is not listed is refused. */
const ALLOWED: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  anonymous: {},
  nobody: {},
  viewer: { pods: READ, configmaps: READ, deployments: READ, quotas: READ },
  editor: { pods: ALL, secrets: ALL, configmaps: ALL, deployments: ALL, quotas: READ },
  owner: { pods: ALL, secrets: ALL, configmaps: ALL, deployments: ALL, quotas: READ, roles: ALL },
  reader: { nodes: READ },
  admin: Object.fromEntries(Object.keys(RESOURCES).map((resource) => [resource, ALL])),
};

function requestOf(verb: string, collection: string): [method: string, path: string, body?: object] {
  const one = `${collection}/missing`;
  switch (verb) {
    case 'get':
      return ['GET', one];
    case 'list':
      return ['GET', collection];
    case 'watch':
      return ['GET', `${collection}?watch=1&timeoutSeconds=1&resourceVersion=0`];
    case 'create':
      return ['POST', `${collection}?dryRun=All`, { metadata: { name: 'Not_A_Name' } }];
    case 'update':
      return ['PUT', one, { metadata: { name: 'missing' } }];
    case 'patch':
      return ['PATCH', one, {}];
    case 'delete':
      return ['DELETE', one];
    default:
      return ['DELETE', `${collection}?dryRun=All`];
  }
}

describe('identities by verbs by resources', () => {
  test.each(Object.keys(ALLOWED))('%s', async (who) => {
    const told: Record<string, readonly string[]> = {};
    for (const [resource, collection] of Object.entries(RESOURCES)) {
      const asked = ALL.map(async (verb) => {
        const [method, to, body] = requestOf(verb, collection);
        // One object cannot be asked for everywhere.
        if (resource === 'everywhere' && verb !== 'list' && verb !== 'watch') return [];
        const { code, text } = await ask(who, method, to, body === undefined ? {} : { body });
        // Admission may refuse what authorization allowed: a pod whose account is not there.
        if (code !== 403 || !text.includes(' cannot ')) return [verb];
        expect(JSON.parse(text)).toMatchObject({ kind: 'Status', reason: 'Forbidden', code });
        return [];
      });
      const allowed = (await Promise.all(asked)).flat();
      if (allowed.length > 0) told[resource] = allowed;
    }
    const expected = { ...ALLOWED[who] };
    if (who === 'admin') expected['everywhere'] = ['list', 'watch'];
    expect(told).toEqual(expected);
  });
});

describe('every route of discovery', () => {
  /** What anybody who is known may ask about themselves. */
  const ABOUT_ONESELF = /\/(selfsubject\w*reviews)$/;

  interface Resource {
    readonly name: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }

  async function routes(): Promise<[verb: string, path: string][]> {
    const { groups } = JSON.parse((await ask('admin', 'GET', '/apis')).text);
    const roots = groups.flatMap((group: { versions: { groupVersion: string }[] }) =>
      group.versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
    );
    const found: [string, string][] = [];
    for (const root of ['/api/v1', ...roots]) {
      const { resources } = JSON.parse((await ask('admin', 'GET', root)).text) as { resources: Resource[] };
      for (const { name, namespaced, verbs } of resources) {
        const [resource, subresource] = name.split('/');
        const collection = `${root}${namespaced ? '/namespaces/team' : ''}/${resource}`;
        for (const verb of verbs) {
          const place = subresource === undefined ? collection : `${collection}/missing/${subresource}`;
          found.push([verb, place]);
        }
      }
    }
    return found;
  }
  const METHODS: Readonly<Record<string, string>> = {
    create: 'POST',
    update: 'PUT',
    patch: 'PATCH',
    delete: 'DELETE',
    deletecollection: 'DELETE',
  };

  test.each(['anonymous', 'nobody'])('is closed to %s', { timeout: 120_000 }, async (who) => {
    const all = await routes();
    expect(all.length).toBeGreaterThan(400);
    const asked = all.map(async ([verb, place]) => {
      if (who === 'nobody' && ABOUT_ONESELF.test(place)) return [];
      const isOne = ['get', 'update', 'patch', 'delete'].includes(verb) && !place.includes('/missing/');
      const to = `${place}${isOne ? '/missing' : ''}${verb === 'watch' ? '?watch=1' : ''}`;
      const { code } = await ask(who, METHODS[verb] ?? 'GET', to);
      return code === 403 ? [] : [`${verb} ${to}: ${code}`];
    });
    const open = (await Promise.all(asked)).flat();
    expect(open).toEqual([]);
  });

  test.each([
    '/api/v1/namespaces/team/secrets/',
    '//api/v1/namespaces/team/secrets',
    '/api//v1/namespaces/team//secrets',
    '/api/v1/namespaces/team/%73ecrets',
    '/%61pi/v1/namespaces/team/secrets',
    '/api/v1/watch/namespaces/team/secrets',
    '/api/v1/watch/secrets',
    '/api/v1/secrets?fieldSelector=metadata.name%3Dmissing',
    '/api/v1/namespaces/team/secrets?watch=true&watch=false',
    '/api/v1/namespaces/team/../team/secrets',
    '/api/v1/namespaces/team/pods/..%2fsecrets',
    '/api/v1/namespaces/team/secrets#x',
  ])('no spelling of a path leads around: %s', async (to) => {
    for (const who of ['anonymous', 'nobody', 'viewer']) {
      const { code, text } = await ask(who, 'GET', to);
      expect([400, 403, 404], `${who}: ${code} ${text}`).toContain(code);
    }
  });
});

describe('impersonation', () => {
  const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const as = (who: string, headers: Headers) => ask(who, 'POST', review, { body: { metadata: {} }, headers });

  test.each<[string, Headers]>([
    ['another user', { 'Impersonate-User': 'owner' }],
    ['a service account', { 'Impersonate-User': 'system:serviceaccount:team:default' }],
    ['a group', { 'Impersonate-User': 'viewer', 'Impersonate-Group': 'system:masters' }],
    ['a uid', { 'Impersonate-User': 'viewer', 'Impersonate-Uid': '1' }],
    ['something extra', { 'Impersonate-User': 'viewer', 'Impersonate-Extra-scopes': 'all' }],
  ])('of %s needs the right to it', async (_, headers) => {
    for (const who of ['anonymous', 'nobody', 'actor']) {
      const { code, text } = await as(who, headers);
      expect(code, text).toBe(403);
      expect(JSON.parse(text).message).toContain('cannot impersonate resource');
    }
  });

  test('without a user is no request', async () => {
    expect((await as('admin', { 'Impersonate-Group': 'x' })).code).toBe(400);
  });

  test('gives the rights of the other, and takes one’s own away', async () => {
    const headers = { 'Impersonate-User': 'viewer' };
    expect((await ask('actor', 'GET', '/api/v1/namespaces/team/pods', { headers })).code).toBe(200);
    expect((await ask('actor', 'GET', '/api/v1/namespaces/team/secrets', { headers })).code).toBe(403);
    expect((await ask('admin', 'GET', '/api/v1/namespaces/team/secrets', { headers })).code).toBe(403);
  });

  test('carries user, groups, uid and extras of an administrator’s choice', async () => {
    const { code, text } = await as('admin', {
      'Impersonate-User': 'someone',
      'Impersonate-Group': 'a, b',
      'Impersonate-Uid': 'u-1',
      'Impersonate-Extra-Example.com%2fScopes': 'view',
    });
    expect(code, text).toBe(201);
    expect(JSON.parse(text).status.userInfo).toEqual({
      username: 'someone',
      groups: ['a', 'b', 'system:authenticated'],
      uid: 'u-1',
      extra: { 'example.com/scopes': ['view'] },
    });
  });
});

describe('what is written down', () => {
  test('holds no secret, no key and no token, at the level that records most', async () => {
    const marks = ['plain-secret-91f3', 'patched-secret-77aa', 'wrong-token-5be0', 'deep-secret-03cd'];
    const [first = '', second = '', wrong = '', deep = ''] = marks;
    const encoded = (text: string) => Buffer.from(text).toString('base64');
    const secrets = '/api/v1/namespaces/team/secrets';
    await made(secrets, { metadata: { name: 'kept' }, stringData: { a: first } });
    await ask('admin', 'PATCH', `${secrets}/kept`, { body: { stringData: { a: second } } });
    await ask('admin', 'PUT', `${secrets}/kept`, {
      body: { metadata: { name: 'other' }, data: { a: encoded(deep) } },
    });
    await ask('admin', 'POST', secrets, { body: { metadata: { name: 'Bad' }, data: { a: `!${deep}` } } });
    for (const to of [secrets, `${secrets}/kept`]) await ask('admin', 'GET', to);
    await made('/api/v1/namespaces/team/serviceaccounts', { metadata: { name: 'bot' } });
    const issued = await ask('admin', 'POST', '/api/v1/namespaces/team/serviceaccounts/bot/token', {
      body: { spec: {} },
    });
    const { token } = JSON.parse(issued.text).status;
    await ask('admin', 'POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body: { spec: { token } } });
    await ask('anonymous', 'GET', secrets, { headers: { authorization: `Bearer ${wrong}` } });
    await ask('anonymous', 'GET', secrets, { headers: { authorization: `Basic ${encoded(`a:${wrong}`)}` } });
    await ask('admin', 'DELETE', `${secrets}/kept`);

    const written = () => readFile(auditLog, 'utf8');
    await expect
      .poll(written, { timeout: 30_000 })
      .toMatch(/"verb":"delete".*secrets\/kept|secrets\/kept.*"verb":"delete"/);
    const text = (await written()) + api.output();
    expect(text).toContain('/secrets/kept');
    const keys = [api.admin.key, ...USERS.map(TOKEN), token as string];
    for (const hidden of [...marks, ...marks.map(encoded), ...keys.map((key) => key.slice(0, 400))]) {
      expect(text.includes(hidden), hidden).toBe(false);
    }
  });

  test('is for its owner alone', async () => {
    expect((await stat(auditLog)).mode & 0o077).toBe(0);
  });
});
