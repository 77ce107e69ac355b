// What becomes of bodies when they are stored: what Kubernetes' own types leave out, keep exactly, or cannot read.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';

const IN = '/api/v1/namespaces/default';
const APPS = '/apis/apps/v1/namespaces/default';
const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const labels = { app: 'web' };
const pod = { containers: [{ name: 'c', image: 'i:1' }] };
const template = { metadata: { labels }, spec: pod };

interface Stored {
  readonly code?: number;
  readonly message?: string;
  readonly metadata: {
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly [name: string]: unknown;
  };
  readonly [name: string]: unknown;
}
interface Answer {
  readonly status: number;
  readonly body: Stored;
  readonly text: string;
  readonly warning: string | undefined;
}

let api: TestApiServer;
beforeAll(async () => {
  api = await startTestApiServer();
  await post('/api/v1/namespaces', { metadata: { name: 'default' } });
}, 60_000);
afterAll(() => api?.close());

async function send(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: object | string,
  type = 'application/json',
): Promise<Answer> {
  const response = await api.transport.request({
    method,
    path,
    headers: { 'content-type': type },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  return {
    status: response.status,
    body: JSON.parse(text) as Stored,
    text,
    warning: response.headers['warning'],
  };
}
const post = (path: string, body: object | string) => send('POST', path, body);

describe('empty members', () => {
  test('are dropped when stored, so that a write without them changes nothing', async () => {
    const spec = { ...pod, nodeSelector: {}, hostNetwork: false, hostname: '', tolerations: [] };
    const sent = { metadata: { name: 'empty', annotations: {}, ownerReferences: [], finalizers: [] }, spec };
    const made = await post(`${IN}/pods`, sent);
    expect(made.status).toBe(201);
    for (const field of ['annotations', 'ownerReferences', 'finalizers', 'nodeSelector', 'hostNetwork'])
      expect(made.text).not.toContain(`"${field}"`);
    const again = await send('PUT', `${IN}/pods/empty`, {
      metadata: { name: 'empty' },
      spec: made.body['spec'],
    });
    expect(again.body.metadata).toEqual(made.body.metadata);
  });

  test('stay where they say something: behind pointers and as values of maps', async () => {
    const container = { name: 'c', image: 'i:1', securityContext: { allowPrivilegeEscalation: false } };
    const spec = {
      containers: [container],
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      nodeSelector: { disk: '' },
      volumes: [{ name: 'v', emptyDir: {} }],
    };
    const { body } = await post(`${IN}/pods`, { metadata: { name: 'said', labels: { a: '' } }, spec });
    expect(body).toMatchObject({ metadata: { labels: { a: '' } }, spec });
  });

  test('make no new generation when a patch of nothing names them', async () => {
    const made = await post(`${APPS}/deployments`, {
      metadata: { name: 'web' },
      spec: { selector: { matchLabels: labels }, template },
    });
    const patch = { spec: { template: { metadata: { annotations: { nothere: null } } } } };
    const patched = await send('PATCH', `${APPS}/deployments/web`, patch, MERGE);
    expect(patched.status).toBe(200);
    expect(patched.body.metadata).toEqual(made.body.metadata);
  });

  test('are owned by whoever applies them, though they are not stored', async () => {
    const path = `${IN}/configmaps/applied?fieldManager=one`;
    const sent = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied', labels: {} }, data: {} };
    const { text, status } = await send('PATCH', path, sent, 'application/apply-patch+yaml');
    expect(status).toBe(201);
    expect(text).toContain('"f:data":{}');
    expect(text).not.toContain('"data":{}');
  });
});

describe('what may not change', () => {
  test.each([
    ['/spec/containers/0/securityContext/allowPrivilegeEscalation', 'remove', undefined],
    ['/spec/containers/0/securityContext/runAsNonRoot', 'add', false],
    ['/spec/automountServiceAccountToken', 'remove', undefined],
    ['/spec/nodeSelector', 'remove', undefined],
  ])('%s of a pod: %s is refused', async (path, op, value) => {
    const { status } = await send('PATCH', `${IN}/pods/said`, [{ op, path, value }], JSON_PATCH);
    expect(status).toBe(422);
  });
});

describe('server-side apply', () => {
  const APPLY = 'application/apply-patch+yaml';
  const head = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'parts' } };
  const entriesOf = ({ body }: Answer) => (body.metadata['managedFields'] ?? []) as readonly object[];

  test('adds ephemeral containers, and owns them alone', async () => {
    await post(`${IN}/pods`, { metadata: { name: 'parts' }, spec: pod });
    const spec = { hostname: 'not-mine', ephemeralContainers: [{ name: 'e', image: 'i:1' }] };
    const path = `${IN}/pods/parts/ephemeralcontainers`;
    expect((await send('PATCH', path, { ...head, spec }, APPLY)).status).toBe(422);
    const answer = await send('PATCH', `${path}?fieldManager=debugger`, { ...head, spec }, APPLY);
    expect(answer.status).toBe(200);
    expect(answer.body['spec']).toMatchObject({ ephemeralContainers: [{ name: 'e', image: 'i:1' }] });
    expect(answer.body['spec']).not.toHaveProperty('hostname');
    const entry = { manager: 'debugger', operation: 'Apply', subresource: 'ephemeralcontainers' };
    expect(entriesOf(answer)).toContainEqual(expect.objectContaining(entry));
    const none = { ...head, spec: { ephemeralContainers: [] } };
    const gone = await send('PATCH', `${path}?fieldManager=debugger`, none, APPLY);
    expect(gone.body.message).toContain('existing ephemeral containers "e" may not be removed');
  });

  test('resizes, and leaves the rest of the containers to others', async () => {
    const sized = { name: 'c', image: 'i:1', resources: { requests: { cpu: '1' } } };
    await post(`${IN}/pods`, { metadata: { name: 'sized' }, spec: { containers: [sized] } });
    const container = { name: 'c', image: 'other', resources: { requests: { cpu: '2' } } };
    const config = { ...head, metadata: { name: 'sized' }, spec: { containers: [container] } };
    const path = `${IN}/pods/sized/resize?fieldManager=sizer`;
    expect((await send('PATCH', path, config, APPLY)).status).toBe(409);
    const answer = await send('PATCH', `${path}&force=true`, config, APPLY);
    expect(answer.status).toBe(200);
    expect(answer.body['spec']).toMatchObject({
      containers: [{ image: 'i:1', resources: { requests: { cpu: '2' } } }],
    });
  });

  test('takes YAML, also what begins like JSON', async () => {
    const path = `${IN}/configmaps/yaml?fieldManager=one`;
    const bodies = [
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  a: "1"\n',
      '{apiVersion: v1, kind: ConfigMap, metadata: {name: yaml}, data: {a: "1"}}',
      '{\n\t"apiVersion": "v1",\n\t"kind": "ConfigMap",\n\t"metadata": {"name": "yaml",},\n\t"data": {"a": "1"},\n}',
    ];
    for (const body of bodies) {
      const answer = await send('PATCH', path, body, APPLY);
      expect(answer.status).toBeLessThan(300);
      expect(answer.body['data']).toEqual({ a: '1' });
    }
    expect((await send('PATCH', path, '{apiVersion: [', APPLY)).status).toBe(400);
  });
});

describe('doubtful bodies', () => {
  test('name unknown fields first, then those that came twice, in patches too', async () => {
    const twice = '"data":{"a":"1","a":"2"},"odd":1';
    const sentence = 'strict decoding error: unknown field "odd", duplicate field "data.a"';
    const made = await post(
      `${IN}/configmaps?fieldValidation=Strict`,
      `{"metadata":{"name":"odd"},${twice}}`,
    );
    expect(made.body.message).toContain(sentence);
    await post(`${IN}/configmaps`, { metadata: { name: 'odd' } });
    const patched = await send('PATCH', `${IN}/configmaps/odd?fieldValidation=Strict`, `{${twice}}`, MERGE);
    expect(patched.body.message).toContain(sentence);
    const warned = await send('PATCH', `${IN}/configmaps/odd`, `{${twice}}`, MERGE);
    expect(warned.warning).toBe('299 - "unknown field \\"odd\\"", 299 - "duplicate field \\"data.a\\""');
  });

  test('a resourceVersion of 0 asks for nothing', async () => {
    await post(`${IN}/configmaps`, { metadata: { name: 'zero' } });
    const sent = { metadata: { name: 'zero', resourceVersion: '0' }, data: { a: '1' } };
    expect(await send('PUT', `${IN}/configmaps/zero`, sent)).toMatchObject({
      status: 200,
      body: { data: { a: '1' } },
    });
    const old = { metadata: { name: 'zero', resourceVersion: '1' } };
    expect((await send('PUT', `${IN}/configmaps/zero`, old)).status).toBe(409);
  });
});

describe('names', () => {
  const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';

  test('outside of ASCII are on one page each, in the order of their bytes', async () => {
    const names = ['a', 'z', '\u00e4', '\uffee', '\u{1f600}', '\u{1f600}b'];
    for (const name of names) expect((await post(ROLES, { metadata: { name } })).status).toBe(201);
    const seen: string[] = [];
    for (let token = ''; ; ) {
      const { body } = await send('GET', `${ROLES}?limit=1&continue=${token}`);
      const [first] = body['items'] as { metadata: { name: string } }[];
      seen.push(first?.metadata.name ?? '');
      token = (body.metadata['continue'] as string | undefined) ?? '';
      const left = names.length - seen.length;
      expect(body.metadata['remainingItemCount'] ?? 0).toBe(left);
      if (token === '') break;
    }
    expect(seen).toEqual(names);
  });

  test('with half of a pair are stored, and found, as Go reads them', async () => {
    expect((await post(ROLES, '{"metadata":{"name":"half-\\ud800-x"}}')).status).toBe(201);
    expect((await send('GET', `${ROLES}/${encodeURIComponent('half-\ufffd-x')}`)).status).toBe(200);
  });

  test('too long for the store are refused', async () => {
    const { body } = await post(ROLES, { metadata: { name: 'a'.repeat(2500) } });
    expect(body.code).toBe(422);
    expect(body.message).toContain('metadata.name: Too long: may not be more than 1500 bytes');
  });
});

test('all namespaces cannot be deleted by one request, and discovery does not say so', async () => {
  const { status, body } = await send('DELETE', '/api/v1/namespaces');
  expect([status, body['reason']]).toEqual([405, 'MethodNotAllowed']);
  expect((await send('GET', '/api/v1/namespaces/default')).body['status']).toEqual({ phase: 'Active' });
  const resources = (await send('GET', '/api/v1')).body['resources'] as { name: string; verbs: string[] }[];
  const verbsOf = (wanted: string) => resources.find(({ name }) => name === wanted)?.verbs;
  expect(verbsOf('namespaces')).toEqual(['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']);
  expect(verbsOf('nodes')).toContain('deletecollection');
});

test('further pages have the revision of the first, and no other can be asked for', async () => {
  const maps = `${IN}/configmaps`;
  for (const name of ['page-a', 'page-b']) await post(maps, { metadata: { name } });
  const { metadata } = (await send('GET', `${maps}?limit=1`)).body;
  const next = `${maps}?limit=1&continue=${metadata['continue']}`;
  expect((await send('GET', `${next}&resourceVersion=${metadata.resourceVersion}`)).body).toMatchObject({
    code: 400,
    message: 'specifying resource version is not allowed when using continue',
  });
  expect((await send('GET', `${next}&resourceVersion=0`)).status).toBe(200);
});

test('an ephemeral container that is there neither changes nor gains anything, be it empty', async () => {
  const path = `${IN}/pods/debugged/ephemeralcontainers`;
  await post(`${IN}/pods`, { metadata: { name: 'debugged' }, spec: pod });
  const list = '/spec/ephemeralContainers';
  const patch = (op: string, at: string, value?: unknown) =>
    send('PATCH', path, [{ op, path: `${list}${at}`, value }], JSON_PATCH);
  expect((await patch('add', '', [{ name: 'e', image: 'i:1' }])).status).toBe(200);
  const refused = [
    await patch('add', '/0/securityContext', {}),
    await patch('add', '/0/securityContext', { privileged: false }),
    await patch('replace', '/0/image', 'i:2'),
    await patch('remove', '/0'),
  ];
  expect(refused.map(({ status }) => status)).toEqual([422, 422, 422, 422]);
  expect((await patch('add', '/-', { name: 'f', image: 'i:1' })).status).toBe(200);
});
