// What a request says of the object it means: names, versions, policies and pages that do not fit are refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TransportRequest } from '../../../src/client/transport.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';

interface Answer {
  readonly code: number;
  readonly warning: string | undefined;
  readonly object: {
    readonly message?: string;
    readonly metadata?: Readonly<Record<string, unknown>> & { readonly resourceVersion?: string };
    readonly status?: {
      readonly conditions?: readonly { readonly type: string }[];
      readonly disruptionsAllowed?: number;
    };
    readonly spec?: Readonly<Record<string, unknown>>;
  };
}

const NAMESPACE = '/api/v1/namespaces/default';
const PODS = `${NAMESPACE}/pods`;
const CONTAINERS = [{ name: 'c', image: 'i' }];

let api: TestApiServer;
beforeAll(async () => {
  api = await startTestApiServer();
  await ask('POST', '/api/v1/namespaces', { metadata: { name: 'default' } });
});
afterAll(() => api?.close());

async function ask(method: TransportRequest['method'], path: string, body?: object): Promise<Answer> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const {
    status,
    headers,
    body: pieces,
  } = await api.transport.request({
    method,
    path,
    headers: { 'content-type': type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  let text = '';
  for await (const piece of pieces) text += Buffer.from(piece).toString();
  return { code: status, warning: headers['warning'], object: JSON.parse(text) };
}

const makePod = (name: string, spec: object = {}, labels: object = {}) =>
  ask('POST', PODS, { metadata: { name, labels }, spec: { containers: CONTAINERS, ...spec } });

describe('a binding', () => {
  const bind = (url: string, metadata: object) =>
    ask('POST', `${PODS}/${url}/binding`, { metadata, target: { kind: 'Node', name: 'n' } });

  test('is of the pod of its URL, and of no other', async () => {
    await makePod('one');
    expect(await bind('one', { name: 'other' })).toMatchObject({ code: 400 });
    expect(await bind('one', {})).toMatchObject({ code: 400 });
    expect(await bind('one', { name: 'one' })).toMatchObject({ code: 201 });
  });

  test('waits for the gates of the pod', async () => {
    await makePod('gated', { schedulingGates: [{ name: 'example.com/wait' }] });
    const refused = await bind('gated', { name: 'gated' });
    expect([refused.code, refused.object.message]).toEqual([
      409,
      expect.stringContaining('pod gated has non-empty .spec.schedulingGates'),
    ]);
    await ask('PATCH', `${PODS}/gated`, { spec: { schedulingGates: null } });
    expect(await bind('gated', { name: 'gated' })).toMatchObject({ code: 201 });
  });

  test('is of the version that it names', async () => {
    const { object } = await makePod('versioned');
    expect(await bind('versioned', { name: 'versioned', resourceVersion: '1' })).toMatchObject({ code: 409 });
    const { resourceVersion } = object.metadata ?? {};
    expect(await bind('versioned', { name: 'versioned', resourceVersion })).toMatchObject({ code: 201 });
  });
});

describe('an eviction with a version as precondition', () => {
  const budget = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  const evict = (name: string, resourceVersion: string | undefined) =>
    ask('POST', `${PODS}/${name}/eviction`, {
      metadata: { name },
      deleteOptions: { preconditions: { resourceVersion } },
    });

  test('takes that version, and leaves any other and the budget as they are', async () => {
    const labels = { app: 'evicted' };
    await makePod('evicted', { nodeName: 'n' }, labels);
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    const { object: pod } = await ask('PATCH', `${PODS}/evicted/status`, { status });
    await ask('POST', budget, {
      metadata: { name: 'b' },
      spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
    });
    await ask('PATCH', `${budget}/b/status`, {
      status: {
        disruptionsAllowed: 1,
        currentHealthy: 1,
        desiredHealthy: 0,
        expectedPods: 1,
        observedGeneration: 1,
      },
    });
    expect(await evict('evicted', '1')).toMatchObject({ code: 409 });
    const { object: untouched } = await ask('GET', `${PODS}/evicted`);
    expect(untouched.metadata?.resourceVersion).toBe(pod.metadata?.resourceVersion);
    expect((await ask('GET', `${budget}/b`)).object.status?.disruptionsAllowed).toBe(1);

    expect(await evict('evicted', pod.metadata?.resourceVersion)).toMatchObject({ code: 201 });
    const { object: gone } = await ask('GET', `${PODS}/evicted`);
    expect(gone.metadata).toHaveProperty('deletionTimestamp');
    expect(gone.status?.conditions?.map(({ type }) => type)).toContain('DisruptionTarget');
    expect((await ask('GET', `${budget}/b`)).object.status?.disruptionsAllowed).toBe(0);
  });
});

describe('a PUT', () => {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

  test('makes a Lease, and has to name the version that it replaces', async () => {
    const lease = { metadata: { name: 'put' }, spec: { holderIdentity: 'a' } };
    expect(await ask('PUT', `${leases}/put`, lease)).toMatchObject({ code: 201 });
    const refused = await ask('PUT', `${leases}/put`, lease);
    expect([refused.code, refused.object.message]).toEqual([
      422,
      'leases.coordination.k8s.io "put" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    ]);
    const { object } = await ask('GET', `${leases}/put`);
    expect(await ask('PUT', `${leases}/put`, object)).toMatchObject({ code: 200 });
    expect(await ask('PATCH', `${leases}/put`, { spec: { holderIdentity: 'b' } })).toMatchObject({
      code: 200,
    });
  });

  test('of a kind that needs no version replaces whatever is there, and makes none', async () => {
    const maps = `${NAMESPACE}/configmaps`;
    expect(await ask('PUT', `${maps}/put`, { metadata: { name: 'put' } })).toMatchObject({ code: 404 });
    await ask('POST', maps, { metadata: { name: 'put' } });
    expect(await ask('PUT', `${maps}/put`, { metadata: { name: 'put' }, data: { a: 'b' } })).toMatchObject({
      code: 200,
    });
  });

  test('that makes an object needs the right to create it', async () => {
    const may = new Set(['update']);
    const { pki, store } = api;
    const other = await startTestApiServer({ pki, store, allow: ({ verb }) => may.has(verb) });
    const { openHttps } = await import('../../../src/client/httpTransport.js');
    const limited = openHttps({ server: other.url, ca: pki.ca, ...(await pki.client('limited')) });
    const put = async () => {
      const { status, body } = await limited.request({
        method: 'PUT',
        path: `${leases}/mine`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ metadata: { name: 'mine' }, spec: {} }),
      });
      for await (const _ of body);
      return status;
    };
    try {
      expect(await put()).toBe(403);
      may.add('create');
      expect(await put()).toBe(201);
    } finally {
      limited.close();
      other.transport.close();
      await other.server.close();
    }
  });
});

describe('a DELETE', () => {
  const jobs = '/apis/batch/v1/namespaces/default/jobs';
  const template = { spec: { restartPolicy: 'Never', containers: CONTAINERS } };

  test.each([
    [
      'with no policy leaves its pods, and says so',
      undefined,
      ['orphan'],
      /child pods are preserved by default/,
    ],
    ['with a policy follows it', { propagationPolicy: 'Foreground' }, ['foregroundDeletion'], undefined],
    [
      'with a policy that leaves them warns of nothing',
      { propagationPolicy: 'Orphan' },
      ['orphan'],
      undefined,
    ],
  ])('of a Job %s', async (_, options, finalizers, warning) => {
    await ask('POST', jobs, { metadata: { name: 'j' }, spec: { template } });
    const { object, warning: told } = await ask('DELETE', `${jobs}/j`, options);
    expect(object.metadata?.['finalizers']).toEqual(finalizers);
    if (warning === undefined) expect(told).toBeUndefined();
    else expect(told).toMatch(warning);
    await ask('PATCH', `${jobs}/j`, { metadata: { finalizers: null } });
  });

  test('of a ReplicationController with no policy leaves its pods', async () => {
    const path = `${NAMESPACE}/replicationcontrollers`;
    const labels = { app: 'rc' };
    const spec = { selector: labels, template: { metadata: { labels }, spec: { containers: CONTAINERS } } };
    await ask('POST', path, { metadata: { name: 'rc' }, spec });
    expect((await ask('DELETE', `${path}/rc`)).object.metadata?.['finalizers']).toEqual(['orphan']);
  });

  test('of a collection is of one namespace', async () => {
    expect(await ask('DELETE', '/api/v1/secrets')).toMatchObject({ code: 405 });
    expect(await ask('DELETE', `${NAMESPACE}/secrets`)).toMatchObject({ code: 200 });
    expect(await ask('DELETE', '/api/v1/persistentvolumes')).toMatchObject({ code: 200 });
  });
});

test('a Scale is of the object of its URL', async () => {
  const path = '/apis/apps/v1/namespaces/default/deployments';
  const labels = { app: 'd' };
  const spec = {
    replicas: 1,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: CONTAINERS } },
  };
  await ask('POST', path, { metadata: { name: 'd' }, spec });
  const scale = (metadata: object) => ask('PUT', `${path}/d/scale`, { metadata, spec: { replicas: 2 } });
  expect(await scale({ name: 'other' })).toMatchObject({ code: 400 });
  expect(await scale({ name: 'd', namespace: 'other' })).toMatchObject({ code: 400 });
  expect(await scale({ name: 'd', uid: 'another' })).toMatchObject({ code: 409 });
  const { object } = await ask('GET', `${path}/d`);
  expect(object.spec?.['replicas']).toBe(1);
  expect(await scale({ name: 'd', uid: object.metadata?.['uid'] })).toMatchObject({ code: 200 });
});

describe('a page', () => {
  const token = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const v = 'meta.k8s.io/v1';
  test.each<[string, object]>([
    ['of a time to come', { v, rv: 9_000_000, start: 'default/x' }],
    ['of no time', { v, rv: 0, start: 'default/x' }],
    ['behind a path', { v, rv: 1, start: 'default//x' }],
    ['behind itself', { v, rv: 1, start: './x' }],
    ['of another form', { v: 'meta.k8s.io/v2', rv: 1, start: 'default/x' }],
  ])('%s is refused', async (_, value) => {
    expect(await ask('GET', `/api/v1/configmaps?continue=${token(value)}`)).toMatchObject({
      code: 400,
      object: { message: 'invalid continue token: continue key is not valid' },
    });
  });
});

describe('options that belong to watches or to lists alone', () => {
  test.each([
    ['sendInitialEvents=true', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'],
    [
      'resourceVersion=1&continue=x&resourceVersionMatch=Exact',
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided',
    ],
    [
      'watch=1&resourceVersion=1&resourceVersionMatch=NotOlderThan',
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    ],
    [
      'watch=1&sendInitialEvents=true&resourceVersionMatch=Exact',
      'resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    ],
  ])('%s', async (query, message) => {
    const { code, object } = await ask('GET', `${PODS}?${query}`);
    expect([code, object.message]).toEqual([422, expect.stringContaining(message)]);
  });
});

describe('a PUT of a status', () => {
  const metadata = (name: string) => ({
    name,
    labels: { app: 'x' },
    annotations: { note: 'y' },
    finalizers: ['example.com/hold'],
  });
  const kept = ({ object }: Awaited<ReturnType<typeof ask>>) =>
    ['labels', 'annotations', 'finalizers'].filter((field) => object.metadata?.[field] !== undefined);
  const made = async (path: string, body: object) => {
    expect(await ask('POST', path, body)).toMatchObject({ code: 201 });
  };

  test.each<[string, string, object, string[]]>([
    [
      'of a Service changes the metadata too',
      '/api/v1/namespaces/default/services',
      { ports: [{ port: 1 }] },
      [],
    ],
    [
      'of a VolumeAttachment leaves the metadata as it is',
      '/apis/storage.k8s.io/v1/volumeattachments',
      { attacher: 'a.example.com', nodeName: 'n', source: { persistentVolumeName: 'v' } },
      ['labels', 'annotations', 'finalizers'],
    ],
  ])('%s', async (_, path, spec, stay) => {
    await made(path, { metadata: metadata('status-put'), spec });
    const { resourceVersion } = (await ask('GET', `${path}/status-put`)).object.metadata ?? {};
    const sent = { metadata: { name: 'status-put', resourceVersion, labels: {} }, spec, status: {} };
    const answer = await ask('PUT', `${path}/status-put/status`, sent);
    expect([answer.code, kept(answer)]).toEqual([200, stay]);
    await ask('PATCH', `${path}/status-put`, { metadata: { finalizers: null } });
    await ask('DELETE', `${path}/status-put`);
  });
});
