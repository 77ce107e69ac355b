// Verbs and options over HTTPS that kubectl does not show: old paths, formats, budgets, proxies, who is impersonated.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TransportRequest } from '../../../src/client/transport.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';
import { makeTestPki } from '../../support/testPki.js';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  readonly bytes: Buffer;
}

describe('verbs', () => {
  let api: TestApiServer;
  beforeAll(async () => {
    const pki = await makeTestPki();
    const kubelet = { ...(await pki.client('kube-apiserver')), ca: pki.ca, allowLoopback: true };
    api = await startTestApiServer({ pki, kubelet });
    await post('/api/v1/namespaces', { metadata: { name: 'default' } });
  });
  afterAll(() => api?.close());

  async function ask(
    method: TransportRequest['method'] | 'OPTIONS',
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await api.transport.request({
      // Clients have no use for OPTIONS; what is behind a proxy may.
      method: method as TransportRequest['method'],
      path,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    return { status: response.status, headers: response.headers, text: bytes.toString('utf8'), bytes };
  }
  const post = (path: string, body: object) => ask('POST', path, JSON.stringify(body));
  const json = ({ text }: Answer) => JSON.parse(text) as Record<string, unknown>;
  const pods = '/api/v1/namespaces/default/pods';
  const pod = (name: string, labels: object = {}) => ({
    metadata: { name, labels },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });
  const ready = {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True' }],
  };

  test('a page whose revision is forgotten: 410 and a token for what is left, as it is now', async () => {
    const templates = '/api/v1/namespaces/default/podtemplates';
    const template = (name: string) => ({ metadata: { name }, template: { spec: pod('p').spec } });
    for (const name of ['a', 'b', 'c', 'd']) await post(templates, template(name));
    interface Page {
      readonly metadata: { readonly continue: string; readonly resourceVersion: string };
      readonly items: readonly { readonly metadata: { readonly name: string } }[];
    }
    const page = async (token = '') => {
      const { text } = await ask('GET', `${templates}?limit=1&continue=${token}`);
      return JSON.parse(text) as Page;
    };
    const namesOf = ({ items }: Page) => items.map(({ metadata }) => metadata.name);
    const first = await page();
    expect(namesOf(await page(first.metadata.continue))).toEqual(['b']);
    // Of another kind: what the server knows of this one is still as it was.
    await post('/api/v1/namespaces/default/configmaps', { metadata: { name: 'later' } });
    await api.store.compact(Number(first.metadata.resourceVersion) + 1);
    const refused = await page(first.metadata.continue);
    expect(refused).toMatchObject({ code: 410, reason: 'Expired' });
    const second = await page(refused.metadata.continue);
    expect(namesOf(second)).toEqual(['b']);
    expect(second.metadata.resourceVersion).not.toBe(first.metadata.resourceVersion);
    const third = await page(second.metadata.continue);
    expect([namesOf(third), third.metadata.resourceVersion]).toEqual([
      ['c'],
      second.metadata.resourceVersion,
    ]);
  });

  test('the old paths of watches', async () => {
    await post(pods, pod('w1'));
    for (const path of ['/api/v1/watch/pods', '/api/v1/watch/namespaces/default/pods/w1']) {
      const { text } = await ask('GET', `${path}?timeoutSeconds=1`);
      expect(text).toMatch(/^\{"type":"ADDED","object":\{"kind":"Pod"/);
    }
  });

  test.each([
    ['Strict', 400],
    ['Warn', 201],
    ['Ignore', 201],
  ])('a key named twice, with fieldValidation=%s', async (validation, status) => {
    const name = `twice-${validation.toLowerCase()}`;
    const body = `{"metadata":{"name":"${name}","name":"${name}"},"data":{"a":"1","b":"{\\"a\\":1,\\"a\\":2}","a":"2"}}`;
    const path = `/api/v1/namespaces/default/configmaps?fieldValidation=${validation}`;
    const answer = await ask('POST', path, body);
    expect(answer.status).toBe(status);
    const told = `${answer.headers['warning'] ?? ''}${answer.text}`.replaceAll('\\', '');
    const named = ['duplicate field "metadata.name"', 'duplicate field "data.a"'];
    for (const sentence of named) expect(told.includes(sentence)).toBe(validation !== 'Ignore');
    if (status === 400) expect(answer.text).toContain('strict decoding error');
  });

  test('YAML in and out, read as YAML 1.1', async () => {
    const body =
      'metadata:\n  name: yam\n  labels: {a: "yes"}\nspec:\n  containers:\n  - {name: c, image: i}\n  volumes:\n  - name: v\n    configMap: {name: x, defaultMode: 0644}\n';
    const made = await ask('POST', pods, body, { 'content-type': 'application/yaml' });
    expect(made.status).toBe(201);
    expect(json(made)).toMatchObject({ spec: { volumes: [{ configMap: { defaultMode: 420 } }] } });
    const shown = await ask('GET', `${pods}/yam`, undefined, { accept: 'application/yaml' });
    expect(shown.headers['content-type']).toBe('application/yaml');
    expect(shown.text).toMatch(/^kind: Pod\n/);
    expect(shown.text).toContain('a: "yes"');
  });

  test('large answers are gzipped for those who can read it', async () => {
    const data = { a: 'x'.repeat(200_000) };
    await post('/api/v1/namespaces/default/configmaps', { metadata: { name: 'large' }, data });
    const path = '/api/v1/namespaces/default/configmaps/large';
    const packed = await ask('GET', path, undefined, { 'accept-encoding': 'gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(JSON.parse(gunzipSync(packed.bytes).toString())).toMatchObject({ data });
    const plain = await ask('GET', path, undefined, { 'accept-encoding': 'identity' });
    expect(plain.headers['content-encoding']).toBeUndefined();
  });

  test('metadata alone, in lists and watches with a bookmark after the first events', async () => {
    const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
    const path = `${pods}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1`;
    const { text } = await ask('GET', path, undefined, { accept });
    const events = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; object: { kind: string; metadata: object } });
    expect(new Set(events.map(({ object }) => object.kind))).toEqual(new Set(['PartialObjectMetadata']));
    expect(events.find(({ type }) => type === 'BOOKMARK')?.object.metadata).toMatchObject({
      annotations: { 'k8s.io/initial-events-end': 'true' },
    });
  });

  test('what resourceVersion and its match may ask of lists and objects', async () => {
    const list = async (query: string) => (await ask('GET', `${pods}?${query}`)).status;
    const { metadata } = json(await ask('GET', pods)) as { metadata: { resourceVersion: string } };
    const revision = metadata.resourceVersion;
    expect(await list(`resourceVersion=${revision}&resourceVersionMatch=Exact`)).toBe(200);
    expect(await list(`resourceVersion=1&resourceVersionMatch=NotOlderThan`)).toBe(200);
    expect(await list('resourceVersion=0&resourceVersionMatch=Exact')).toBe(422);
    expect(await list('resourceVersionMatch=Exact')).toBe(422);
    expect(await list('resourceVersion=999999999')).toBe(504);
    expect((await ask('GET', `${pods}/w1?resourceVersion=999999999`)).status).toBe(504);
    expect((await ask('GET', `${pods}/w1?resourceVersion=${revision}`)).status).toBe(200);
  });

  describe('eviction', () => {
    const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
    const evict = (name: string) =>
      post(`${pods}/${name}/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } });
    const status = async (name: string, value: object) => {
      const body = JSON.stringify({ status: value });
      const type = { 'content-type': 'application/merge-patch+json' };
      expect((await ask('PATCH', `${budgets}/${name}/status`, body, type)).status).toBe(200);
    };

    test('names its pod', async () => {
      await post(pods, pod('unnamed'));
      for (const metadata of [undefined, {}, { name: '' }, { name: 'other' }]) {
        const refused = await post(`${pods}/unnamed/eviction`, { metadata });
        expect(refused.status).toBe(400);
        expect(refused.text).toContain('name in URL does not match name in Eviction object');
      }
      expect((await ask('GET', `${pods}/unnamed`)).status).toBe(200);
      expect((await evict('unnamed')).status).toBe(201);
    });

    test('waits for the budget, spends it, and is refused when nothing is left', async () => {
      const labels = { app: 'guarded' };
      for (const name of ['e1', 'e2']) {
        await post(pods, pod(name, labels));
        const type = { 'content-type': 'application/merge-patch+json' };
        await ask('PATCH', `${pods}/${name}/status`, JSON.stringify({ status: ready }), type);
      }
      const spec = { minAvailable: 1, selector: { matchLabels: labels } };
      expect((await post(budgets, { metadata: { name: 'b' }, spec })).status).toBe(201);
      const early = await evict('e1');
      expect(early.status).toBe(429);
      expect(early.headers['retry-after']).toBe('10');
      expect(early.text).toContain('The disruption budget b is still being processed by the server.');
      const counts = { currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, observedGeneration: 1 };
      await status('b', { ...counts, disruptionsAllowed: 1 });
      expect((await evict('e1')).status).toBe(201);
      expect(json(await ask('GET', `${budgets}/b`))).toMatchObject({
        status: { disruptionsAllowed: 0, disruptedPods: { e1: expect.any(String) } },
      });
      const refused = await evict('e2');
      expect(refused.status).toBe(429);
      expect(refused.text).toContain('does not allow evicting pods currently');
      expect((await ask('GET', `${pods}/e2`)).status).toBe(200);
    });

    test('says on the pod why it goes', async () => {
      const { metadata, ...rest } = pod('told') as { metadata: object };
      await post(pods, { ...rest, metadata: { ...metadata, finalizers: ['example.org/held'] } });
      expect((await evict('told')).status).toBe(201);
      expect(json(await ask('GET', `${pods}/told`))).toMatchObject({
        metadata: { deletionTimestamp: expect.any(String) },
        status: {
          conditions: expect.arrayContaining([
            expect.objectContaining({ type: 'DisruptionTarget', reason: 'EvictionByEvictionAPI' }),
          ]),
        },
      });
    });

    test('a pod that nothing guards goes at once', async () => {
      await post(pods, pod('free'));
      expect((await evict('free')).status).toBe(201);
      expect((await ask('GET', `${pods}/free`)).status).toBe(404);
      expect((await evict('free')).status).toBe(404);
    });
  });

  test('ephemeral containers are added, and never changed', async () => {
    await post(pods, pod('debugged'));
    const patch = (container: object) =>
      ask(
        'PATCH',
        `${pods}/debugged/ephemeralcontainers`,
        JSON.stringify({ spec: { ephemeralContainers: [container] } }),
        { 'content-type': 'application/strategic-merge-patch+json' },
      );
    expect((await patch({ name: 'd', image: 'busybox' })).status).toBe(200);
    expect(json(await ask('GET', `${pods}/debugged`))).toMatchObject({
      spec: { containers: [{ name: 'c' }], ephemeralContainers: [{ name: 'd', image: 'busybox' }] },
    });
    const changed = await patch({ name: 'd', image: 'other' });
    expect(changed.status).toBe(422);
    expect(changed.text).toContain('may not be changed');
    expect((await patch({ name: 'c', image: 'x' })).status).toBe(422);
  });

  describe('proxies', () => {
    let backend: http.Server;
    let port: number;
    beforeAll(async () => {
      backend = http.createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          const seen = {
            url: request.url,
            method: request.method,
            token: request.headers.authorization ?? null,
          };
          response.setHeader('x-seen', JSON.stringify(seen));
          if (request.url === '/page') response.setHeader('content-type', 'text/html; charset=utf-8');
          if (request.url === '/moved') response.writeHead(302, { location: '/page' });
          response.end(request.url === '/page' ? '<a href="/there">there</a>' : Buffer.concat(chunks));
        });
      });
      await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
      port = (backend.address() as AddressInfo).port;
      await post('/api/v1/nodes', { metadata: { name: 'n1' } });
      const status = { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] };
      await ask('PATCH', '/api/v1/nodes/n1/status', JSON.stringify({ status }), {
        'content-type': 'application/merge-patch+json',
      });
    });
    afterAll(() => void backend.close());

    test('a node: path, query and body travel on, credentials do not', async () => {
      const path = `/api/v1/nodes/n1:${port}/proxy/stats/%20summary?only=cpu`;
      const answer = await ask('POST', path, 'hello', { authorization: 'Bearer secret' });
      expect(answer.text).toBe('hello');
      expect(JSON.parse(answer.headers['x-seen'] ?? '')).toEqual({
        url: '/stats/%20summary?only=cpu',
        method: 'POST',
        token: null,
      });
    });

    test('links and redirects of a page lead through the proxy; a page has a slash at its end', async () => {
      const proxy = `/api/v1/nodes/n1:${port}/proxy`;
      const page = await ask('GET', `${proxy}/page`);
      expect(page.text).toBe(`<a href="${proxy}/there">there</a>`);
      expect((await ask('GET', `${proxy}/moved`)).headers['location']).toBe(`${proxy}/page`);
      const bare = await ask('GET', `${proxy}?a=b`);
      expect([bare.status, bare.headers['location']]).toEqual([301, `${proxy}/?a=b`]);
    });

    test.each(['DELETE', 'OPTIONS', 'PATCH', 'POST', 'PUT'] as const)(
      '%s without a path travels on',
      async (method) => {
        const answer = await ask(method, `/api/v1/nodes/n1:${port}/proxy?a=b`);
        expect(answer.status).toBe(200);
        expect(JSON.parse(answer.headers['x-seen'] ?? '')).toMatchObject({ method, url: '/?a=b' });
      },
    );

    test.each(['127.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1', '0.0.0.0'])(
      'a pod that says it is at %s is not asked',
      async (podIP) => {
        await post(pods, pod('liar'));
        await ask('PATCH', `${pods}/liar/status`, JSON.stringify({ status: { podIP } }), {
          'content-type': 'application/merge-patch+json',
        });
        const answer = await ask('GET', `${pods}/liar:${port}/proxy/`);
        expect(answer.status).toBe(400);
        expect(answer.text).toContain('address not allowed');
      },
    );

    test('a node that states the address and port of this server is not asked', async () => {
      const own = Number(new URL(api.url).port);
      await post('/api/v1/nodes', { metadata: { name: 'mirror' } });
      const status = {
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: own } },
      };
      await ask('PATCH', '/api/v1/nodes/mirror/status', JSON.stringify({ status }), {
        'content-type': 'application/merge-patch+json',
      });
      for (const path of ['mirror/proxy/api', `n1:${own}/proxy/api`, `https:n1:${own}/proxy/api`]) {
        const answer = await ask('GET', `/api/v1/nodes/${path}`);
        expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('address not allowed')]);
      }
    });

    test.each(['169.254.169.254', '0.0.0.0', '::', 'fe80::1'])(
      'a node that says it is at %s is not asked',
      async (address) => {
        await post('/api/v1/nodes', { metadata: { name: 'liar' } });
        const status = { addresses: [{ type: 'InternalIP', address }] };
        await ask('PATCH', '/api/v1/nodes/liar/status', JSON.stringify({ status }), {
          'content-type': 'application/merge-patch+json',
        });
        const answer = await ask('GET', '/api/v1/nodes/liar/proxy/healthz');
        expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('address not allowed')]);
      },
    );

    test('a service without endpoints', async () => {
      const spec = { ports: [{ port: 80 }], selector: { a: 'b' } };
      await post('/api/v1/namespaces/default/services', { metadata: { name: 's' }, spec });
      const answer = await ask('GET', '/api/v1/namespaces/default/services/s/proxy/');
      expect(answer.status).toBe(503);
      expect(answer.text).toContain('no endpoints available for service');
    });
  });
});
