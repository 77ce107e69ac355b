// The real server over HTTPS: who may do what, quota under a storm, places in flight, the audit log and the metrics.
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import https from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import {
  CONFIG_MAPS,
  LIMIT_RANGES,
  NAMESPACES,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  RESOURCE_QUOTAS,
  ROLE_BINDINGS,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../../../src/api/resources.js';
import { type AuditSink, openAuditLog } from '../../../src/apiserver/audit/auditLog.js';
import { uniformPolicy } from '../../../src/apiserver/audit/policy.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import type { TransportRequest } from '../../../src/client/transport.js';
import { openClient } from '../../../src/client/typedClient.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { until } from '../../support/until.js';

const SECRET_WORDS = ['cGFzc3dvcmQtb2YtamFuZQ', 'password-of-jane', 'static-token-of-bob'];
let dir: string;
let sink: AuditSink;
let api: SecuredApiServer;

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'policy-'));
  sink = openAuditLog({ path: path.join(dir, 'audit.log'), log: silentLog });
  api = await startSecuredApiServer({
    server: {
      audit: { policy: uniformPolicy('RequestResponse'), sink },
      insecure: { host: '127.0.0.1', port: 0 },
    },
    security: {
      tokenFile: 'static-token-of-bob,bob,u2,"team-viewers"',
      basicAuthFile: 'password-of-jane,jane,u1',
      bootstrapTokens: true,
    },
  });
  for (const name of ['team', 'other', 'storm', 'limits']) {
    await api.client.of(NAMESPACES).create({ metadata: { name } });
    await api.client.of(SERVICE_ACCOUNTS).create({ metadata: { name: 'default', namespace: name } });
  }
  for (const [name, role, subject] of [
    ['view', 'view', { kind: 'Group', name: 'team-viewers' }],
    ['edit', 'edit', { kind: 'User', name: 'eve' }],
    ['admin', 'admin', { kind: 'User', name: 'ada' }],
  ] as const)
    await api.client.of(ROLE_BINDINGS).create({
      metadata: { name, namespace: 'team' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
    });
});
afterAll(async () => {
  await api?.close();
  await sink?.close();
  await rm(dir, { recursive: true, force: true });
});

const pod = (namespace: string, name: string, container = {}) => ({
  metadata: { namespace, name },
  spec: { containers: [{ name: 'c', image: 'busybox', ...container }] },
});

type Method = TransportRequest['method'];

/** As somebody over the wire: by certificate, token or nothing. */
async function over(who: { cn?: string; groups?: string[]; header?: string }) {
  const certificate = who.cn === undefined ? {} : await api.pki.client(who.cn, ...(who.groups ?? []));
  const transport = openHttps({ server: api.url, ca: api.pki.ca, ...certificate });
  return async (method: Method, url: string, body?: object) => {
    const headers = {
      'content-type': 'application/json',
      ...(who.header === undefined ? {} : { authorization: who.header }),
    };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await transport.request({ method, path: url, headers, ...sent });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    return { status: response.status, headers: response.headers, text: Buffer.concat(chunks).toString() };
  };
}

describe('identities x verbs x resources', () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
  const identities = {
    stranger: {},
    jane: { header: basic('jane:password-of-jane') },
    bob: { header: 'Bearer static-token-of-bob' },
    eve: { cn: 'eve' },
    ada: { cn: 'ada' },
    kubelet: { cn: 'system:node:n1', groups: ['system:nodes'] },
    root: { cn: 'root', groups: ['system:masters'] },
  };
  const asks: Record<string, [method: Method, url: string, body?: object]> = {
    'list pods': ['GET', '/api/v1/namespaces/team/pods'],
    'list pods elsewhere': ['GET', '/api/v1/namespaces/other/pods'],
    'list all pods': ['GET', '/api/v1/pods'],
    'list pods of n1': ['GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn1'],
    'watch pods': ['GET', '/api/v1/namespaces/team/pods?watch=1&timeoutSeconds=1'],
    'read secrets': ['GET', '/api/v1/namespaces/team/secrets'],
    'create config maps': [
      'POST',
      '/api/v1/namespaces/team/configmaps',
      { metadata: { generateName: 'm-' } },
    ],
    'delete config maps': ['DELETE', '/api/v1/namespaces/team/configmaps/none'],
    'create roles': [
      'POST',
      '/apis/rbac.authorization.k8s.io/v1/namespaces/team/roles',
      { metadata: { generateName: 'r-' }, rules: [] },
    ],
    'create cluster roles': [
      'POST',
      '/apis/rbac.authorization.k8s.io/v1/clusterroles',
      { metadata: { generateName: 'r-' }, rules: [] },
    ],
    'read nodes': ['GET', '/api/v1/nodes'],
    exec: ['POST', '/api/v1/namespaces/team/pods/none/exec?command=ls'],
    'get a token': ['POST', '/api/v1/namespaces/team/serviceaccounts/none/token', { spec: {} }],
    'read metrics': ['GET', '/metrics'],
    'read version': ['GET', '/version'],
    'read keys': ['GET', '/openid/v1/jwks'],
    'ask about themselves': [
      'POST',
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      { spec: { nonResourceAttributes: { verb: 'get', path: '/' } } },
    ],
    impersonate: ['GET', '/api/v1/namespaces/team/pods?impersonated'],
  };
  const allowed: Record<keyof typeof identities, readonly string[]> = {
    stranger: ['read version'],
    jane: ['read version', 'ask about themselves'],
    bob: ['read version', 'ask about themselves', 'list pods', 'watch pods'],
    eve: [
      'read version',
      'ask about themselves',
      'list pods',
      'watch pods',
      'read secrets',
      'exec',
      'create config maps',
      'delete config maps',
      'get a token',
    ],
    ada: [
      'read version',
      'ask about themselves',
      'list pods',
      'watch pods',
      'read secrets',
      'exec',
      'create config maps',
      'delete config maps',
      'get a token',
      'create roles',
    ],
    kubelet: ['read version', 'ask about themselves', 'list pods of n1'],
    root: Object.keys(asks),
  };
  test.each(Object.keys(identities) as (keyof typeof identities)[])('%s', async (who) => {
    const ask = await over(identities[who]);
    const found: string[] = [];
    for (const [what, request] of Object.entries(asks)) {
      if (what === 'impersonate' && who !== 'root') continue;
      const { status, text } = await ask(...request);
      expect([200, 201, 400, 403, 404, 405], `${who}: ${what}: ${status} ${text}`).toContain(status);
      if (status !== 403) found.push(what);
    }
    expect(found.sort()).toEqual([...allowed[who]].sort());
  });
  test.each([
    ['a wrong password', basic('jane:wrong')],
    ['an unknown token', 'Bearer nope'],
    ['a bootstrap token nobody made', 'Bearer abcdef.0123456789abcdef'],
  ])('%s is nobody', async (_, header) => {
    const { status, text } = await (await over({ header }))('GET', '/version');
    expect([status, JSON.parse(text).message]).toEqual([401, 'Unauthorized']);
  });
  test('a bootstrap token is a bootstrapper', async () => {
    const data = {
      'token-id': 'abcdef',
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-authentication': 'true',
    };
    await api.client.of(SECRETS).create({
      metadata: { name: 'bootstrap-token-abcdef', namespace: 'kube-system' },
      type: 'bootstrap.kubernetes.io/token',
      stringData: data,
    });
    const ask = await over({ header: 'Bearer abcdef.0123456789abcdef' });
    const answer = await ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { metadata: {} });
    expect(JSON.parse(answer.text).status.userInfo).toMatchObject({
      username: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers', 'system:authenticated'],
    });
  });
  test('the insecure port is on loopback, and its visitors are administrators', async () => {
    const response = await fetch(`http://127.0.0.1:${api.server.insecurePort}/api/v1/nodes`);
    expect(response.status).toBe(200);
    await expect(
      startSecuredApiServer({ server: { insecure: { host: '0.0.0.0', port: 0 } } }),
    ).rejects.toThrow(/loopback/);
  });
});

describe('quota', () => {
  test('of a hundred creates at once, exactly as many pass as are allowed', async () => {
    const name = { name: 'q', namespace: 'storm' };
    await api.client.of(RESOURCE_QUOTAS).create({ metadata: name, spec: { hard: { pods: '10' } } });
    await until(() => expect(api.informers.of(RESOURCE_QUOTAS).get('storm/q')).toBeDefined());
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, (_, n) => api.client.of(PODS).create(pod('storm', `p${n}`))),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(90);
    expect(refused[0]?.reason.message).toMatch(
      /^pods "p\d+" is forbidden: exceeded quota: q, requested: pods=1, used: pods=10, limited: pods=10$/,
    );
    expect((await api.client.of(PODS).list({ namespace: 'storm' })).items).toHaveLength(10);
    expect((await api.client.of(RESOURCE_QUOTAS).get(name)).status?.used).toEqual({ pods: '10' });
  });
  test('what failed writes took is given back, however many fail at once', async () => {
    const name = { name: 'q', namespace: 'failing' };
    await api.client.of(NAMESPACES).create({ metadata: { name: 'failing' } });
    await api.client
      .of(RESOURCE_QUOTAS)
      .create({ metadata: name, spec: { hard: { 'count/configmaps': '50' } } });
    await until(() => expect(api.informers.of(RESOURCE_QUOTAS).get('failing/q')).toBeDefined());
    const create = () =>
      api.client.of(CONFIG_MAPS).create({ metadata: { name: 'one', namespace: 'failing' } });
    await create();
    const { status: before } = await api.client.of(RESOURCE_QUOTAS).get(name);
    const results = await Promise.allSettled(Array.from({ length: 25 }, create));
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect((await api.client.of(RESOURCE_QUOTAS).get(name)).status?.used).toEqual(before?.used);
  });
  test('a write that fails gives back what it had reserved', async () => {
    const quotas = api.client.of(RESOURCE_QUOTAS);
    const name = { name: 'maps', namespace: 'limits' };
    await quotas.create({ metadata: name, spec: { hard: { 'count/configmaps': '2' } } });
    await until(() => expect(api.informers.of(RESOURCE_QUOTAS).get('limits/maps')).toBeDefined());
    const map = { metadata: { name: 'm', namespace: 'limits' } };
    await api.client.of(CONFIG_MAPS).create(map);
    await expect(api.client.of(CONFIG_MAPS).create(map)).rejects.toMatchObject({ reason: 'AlreadyExists' });
    expect((await quotas.get(name)).status?.used).toEqual({ 'count/configmaps': '1' });
  });
  test('a resize takes no more than is left', async () => {
    const namespace = 'limits';
    await api.client
      .of(RESOURCE_QUOTAS)
      .create({ metadata: { name: 'cores', namespace }, spec: { hard: { 'requests.cpu': '1' } } });
    await until(() => expect(api.informers.of(RESOURCE_QUOTAS).get('limits/cores')).toBeDefined());
    const asking = (cpu: string) => ({ containers: [{ name: 'c', resources: { requests: { cpu } } }] });
    const made = pod(namespace, 'growing');
    const [container] = made.spec?.containers ?? [];
    const spec = { ...made.spec, containers: [{ ...container, ...asking('600m').containers[0], name: 'c' }] };
    await api.client.of(PODS).create({ ...made, spec: spec as typeof made.spec });
    const resize = (cpu: string) =>
      api.client
        .of(PODS)
        .patch({ namespace, name: 'growing' }, 'strategic', { spec: asking(cpu) }, { subresource: 'resize' });
    await expect(resize('1100m')).rejects.toThrow(
      'exceeded quota: cores, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1',
    );
    await resize('900m');
    const quota = await api.client.of(RESOURCE_QUOTAS).get({ name: 'cores', namespace });
    expect(quota.status?.used).toEqual({ 'requests.cpu': '900m' });
    await api.client.of(PODS).delete({ namespace, name: 'growing' }, { gracePeriodSeconds: 0 });
    await api.client.of(RESOURCE_QUOTAS).delete({ name: 'cores', namespace });
  });
  test('claims count by the class of their attributes, also by the one that their status tells', async () => {
    const namespace = 'limits';
    const matchExpressions = [{ scopeName: 'VolumeAttributesClass', operator: 'In', values: ['gold'] }];
    const spec = { hard: { persistentvolumeclaims: '1' }, scopeSelector: { matchExpressions } };
    const quotas = api.client.of(RESOURCE_QUOTAS);
    await quotas.create({ metadata: { name: 'golden', namespace }, spec });
    await until(() => expect(api.informers.of(RESOURCE_QUOTAS).get('limits/golden')).toBeDefined());
    const claims = api.client.of(PERSISTENT_VOLUME_CLAIMS);
    const make = (name: string, volumeAttributesClassName: string) => {
      const asked = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
      return claims.create({ metadata: { name, namespace }, spec: { ...asked, volumeAttributesClassName } });
    };
    await make('first', 'gold');
    const other = await make('other', 'silver');
    const why = 'exceeded quota: golden, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=1';
    await expect(make('second', 'gold')).rejects.toThrow(why);
    const status = { ...other.status, currentVolumeAttributesClassName: 'gold' };
    await expect(claims.update({ ...other, status }, { subresource: 'status' })).rejects.toThrow(why);
    const quota = await quotas.get({ name: 'golden', namespace });
    expect(quota.status?.used).toEqual({ persistentvolumeclaims: '1' });
    for (const name of ['first', 'other']) await claims.delete({ name, namespace });
    await quotas.delete({ name: 'golden', namespace });
  });
  test('limits are filled in and kept', async () => {
    await api.client.of(LIMIT_RANGES).create({
      metadata: { name: 'l', namespace: 'limits' },
      spec: { limits: [{ type: 'Container', max: { cpu: '1' }, defaultRequest: { cpu: '100m' } }] },
    });
    await until(() => expect(api.informers.of(LIMIT_RANGES).get('limits/l')).toBeDefined());
    const created = await api.client.of(PODS).create(pod('limits', 'small'));
    expect(created.spec.containers[0]?.resources).toEqual({
      limits: { cpu: '1' },
      requests: { cpu: '100m' },
    });
    const large = pod('limits', 'large', { resources: { limits: { cpu: '2' } } });
    await expect(api.client.of(PODS).create(large)).rejects.toThrow(
      'pods "large" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
    );
  });
});

describe('over HTTPS', () => {
  test('metrics count requests under Kubernetes’ names', async () => {
    const root = await over({ cn: 'root', groups: ['system:masters'] });
    await (await over({}))('GET', '/api/v1/secrets');
    const { status, headers, text } = await root('GET', '/metrics');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const count = /apiserver_request_total\{code="403",.*resource="secrets".*verb="LIST".*\} (\d+)/.exec(
      text,
    );
    expect(Number(count?.[1])).toBeGreaterThan(0);
    for (const name of [
      'apiserver_request_duration_seconds_bucket',
      'apiserver_current_inflight_requests',
      'apiserver_longrunning_requests',
      'process_resident_memory_bytes',
    ])
      expect(text).toContain(name);
  });
  test('the audit log has a line a request, is private, and holds no secret', async () => {
    const root = await over({ cn: 'root', groups: ['system:masters'] });
    const secret = {
      metadata: { name: 's', namespace: 'team' },
      stringData: { password: 'password-of-jane' },
    };
    await root('POST', '/api/v1/namespaces/team/secrets', secret);
    const map = { metadata: { name: 'seen', namespace: 'team' }, data: { a: 'b' } };
    const made = await root('POST', '/api/v1/namespaces/team/configmaps', map);
    const file = path.join(dir, 'audit.log');
    const lines = await until(async () => {
      const all = (await readFile(file, 'utf8'))
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
      const mine = all.filter(({ auditID }) => auditID === made.headers['audit-id']);
      expect(mine).toHaveLength(1);
      return mine;
    });
    expect(lines[0]).toMatchObject({
      level: 'RequestResponse',
      verb: 'create',
      stage: 'ResponseComplete',
      sourceIPs: ['127.0.0.1'],
      user: { username: 'root', groups: ['system:masters', 'system:authenticated'] },
      objectRef: { resource: 'configmaps', namespace: 'team', apiVersion: 'v1' },
      responseStatus: { code: 201 },
      requestObject: { data: { a: 'b' } },
      responseObject: { metadata: { name: 'seen' } },
    });
    const text = await readFile(file, 'utf8');
    for (const word of SECRET_WORDS) expect(text).not.toContain(word);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });
  test('too many at once are asked to come again; watches and administrators are served', async () => {
    const small = await startSecuredApiServer({
      server: { load: { maxReading: 1, maxMutating: 1 } },
      security: { modes: ['AlwaysAllow'] },
    });
    try {
      const certificate = await small.pki.client('jane');
      const url = '/api/v1/namespaces/default/configmaps';
      // A body that does not come holds the only place for writes.
      const held = https.request(`${small.url}${url}`, {
        method: 'POST',
        ca: small.pki.ca,
        ...certificate,
        headers: { 'content-type': 'application/json', 'content-length': 2 },
      });
      held.on('error', () => {});
      held.write('{');
      const transport = openHttps({ server: small.url, ca: small.pki.ca, ...certificate });
      const get = async (method: Method, path: string) => {
        const response = await transport.request({ method, path });
        const chunks: Uint8Array[] = [];
        for await (const chunk of response.body) chunks.push(chunk);
        return { ...response, text: Buffer.concat(chunks).toString() };
      };
      await until(async () =>
        expect((await get('GET', '/metrics')).text).toContain(
          'apiserver_current_inflight_requests{request_kind="mutating"} 1',
        ),
      );
      const { status, headers, text } = await get('DELETE', `${url}/x`);
      expect([status, headers['retry-after'], JSON.parse(text).reason]).toEqual([
        429,
        '1',
        'TooManyRequests',
      ]);
      expect((await get('GET', url)).status).toBe(200);
      expect((await get('GET', `${url}?watch=1&timeoutSeconds=1`)).status).toBe(200);
      const root = openClient(
        openHttps({
          server: small.url,
          ca: small.pki.ca,
          ...(await small.pki.client('r', 'system:masters')),
        }),
      );
      await root.of(CONFIG_MAPS).create({ metadata: { name: 'm', namespace: 'default' } });
      root.close();
      held.destroy();
      await until(async () => expect((await get('DELETE', `${url}/x`)).status).toBe(404));
      transport.close();
    } finally {
      await small.close();
    }
  });
});
