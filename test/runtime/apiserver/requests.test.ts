// What a request may carry and how the server answers it, as a stock server does: over HTTPS, by table.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TransportRequest } from '../../../src/client/transport.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

let api: TestApiServer;
beforeAll(async () => {
  api = await startTestApiServer();
  await post('/api/v1/namespaces', { metadata: { name: 'default' } });
});
afterAll(() => api?.close());

async function ask(
  method: TransportRequest['method'],
  path: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await api.transport.request({
    method,
    path,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return { status: response.status, headers: response.headers, text: Buffer.concat(chunks).toString('utf8') };
}
const post = (path: string, body: object) => ask('POST', path, JSON.stringify(body));
const patchStatus = (path: string, status: object) =>
  ask('PATCH', `${path}/status`, JSON.stringify({ status }), {
    'content-type': 'application/merge-patch+json',
  });
const json = ({ text }: Answer) => JSON.parse(text);
const read = async (path: string) => json(await ask('GET', path));
const pods = '/api/v1/namespaces/default/pods';
const pod = (name: string, labels: object = {}) => ({
  metadata: { name, labels },
  spec: { containers: [{ name: 'c', image: 'i' }] },
});

describe('the time that a client names in the URL', () => {
  test.each([
    ['abc', 'time: invalid duration "abc"'],
    ['5', 'time: missing unit in duration "5"'],
  ])('%s is refused', async (timeout, why) => {
    const answer = await ask('GET', `/api/v1/nodes?timeout=${timeout}`);
    expect([answer.status, json(answer).message]).toEqual([
      400,
      `invalid timeout specified in the request URL - ${why}`,
    ]);
  });
  test.each(['', '0', '32s', '-1m'])('%j is taken', async (timeout) => {
    expect((await ask('GET', `/api/v1/nodes?timeout=${timeout}`)).status).toBe(200);
  });
});

describe('a head', () => {
  test('of 900 KiB is read, as with the command line of exec', async () => {
    const query = `a=${'x'.repeat(900 * 1024)}`;
    expect((await ask('GET', `/version?${query}`)).status).toBe(200);
  });
  test('of more than a MiB is refused in words', async () => {
    const answer = await ask('GET', `/version?a=${'x'.repeat(1100 * 1024)}`);
    expect([answer.status, json(answer).message]).toEqual([
      431,
      "the request's head is larger than 1048576 bytes",
    ]);
  });
});

describe('a binding', () => {
  const binding = (name: string, more: object = {}) => ({
    metadata: { name, ...more },
    target: { kind: 'Node', name: 'n1' },
  });

  test('may be posted beside the pods, and clears where the pod was to go', async () => {
    await post(pods, pod('b1'));
    await patchStatus(`${pods}/b1`, { nominatedNodeName: 'other' });
    const labels = { 'topology.kubernetes.io/zone': 'a' };
    const made = await post('/api/v1/namespaces/default/bindings', binding('b1', { labels }));
    expect([made.status, json(made).status]).toEqual([201, 'Success']);
    const { spec, status, metadata } = await read(`${pods}/b1`);
    expect([spec.nodeName, status.nominatedNodeName, metadata.labels]).toEqual(['n1', undefined, labels]);
  });

  test.each([
    ['of a pod that has a node', 'b1', 409, 'pod b1 is already assigned to node "n1"'],
    ['of no pod', 'b9', 404, 'pods "b9" not found'],
  ])('%s is refused', async (_, name, status, why) => {
    const answer = await post('/api/v1/namespaces/default/bindings', binding(name));
    expect(answer.status).toBe(status);
    expect(json(answer).message).toContain(why);
  });

  test('is told by discovery, and can be made only', async () => {
    const { resources } = await read('/api/v1');
    expect(resources.find(({ name }: { name: string }) => name === 'bindings')).toMatchObject({
      singularName: 'binding',
      namespaced: true,
      kind: 'Binding',
      verbs: ['create'],
    });
    expect((await ask('GET', '/api/v1/namespaces/default/bindings')).status).toBe(405);
  });
});

describe('an eviction', () => {
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  const running = (isReady: boolean) => ({
    phase: 'Running',
    conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
  });
  const budget = async (name: string, status: object, spec: object = {}) => {
    await post(budgets, {
      metadata: { name },
      spec: { minAvailable: 1, selector: { matchLabels: { app: name } }, ...spec },
    });
    await patchStatus(`${budgets}/${name}`, status);
  };
  const started = async (name: string, app: string, isReady = true) => {
    await post(pods, pod(name, { app }));
    await patchStatus(`${pods}/${name}`, running(isReady));
  };
  const evict = (name: string) =>
    post(`${pods}/${name}/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } });

  const NONE = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 };
  test('without room is refused without a time to wait, so that clients do not try again by themselves', async () => {
    await budget('full', { ...NONE, observedGeneration: 1 });
    await started('full', 'full');
    const answer = await evict('full');
    expect([answer.status, answer.headers['retry-after']]).toEqual([429, undefined]);
    expect(json(answer).details).toEqual({
      causes: [
        {
          reason: 'DisruptionBudget',
          message: 'The disruption budget full needs 1 healthy pods and has 1 currently',
        },
      ],
    });
  });

  test('by a budget that is not counted yet says when to try again', async () => {
    await budget('new', { ...NONE, observedGeneration: 0 });
    await started('new', 'new');
    const answer = await evict('new');
    expect([answer.status, answer.headers['retry-after']]).toEqual([429, '10']);
    expect(json(answer).details.causes[0].message).toBe(
      'The disruption budget new is still being processed by the server.',
    );
  });

  test('by a budget whose count failed says so', async () => {
    const failed = {
      type: 'DisruptionAllowed',
      status: 'False',
      reason: 'SyncFailed',
      message: 'no scale',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    await budget('failed', { ...NONE, observedGeneration: 1, conditions: [failed] });
    await started('failed', 'failed');
    expect(json(await evict('failed')).details.causes[0].message).toBe(
      'The disruption budget failed does not allow evicting pods currently because it failed sync: no scale',
    );
  });

  test.each([
    ['IfHealthyBudget', 0, 429],
    ['IfHealthyBudget', 1, 201],
    ['AlwaysAllow', 0, 201],
  ])('of an unready pod, %s with %d healthy: %d', async (policy, currentHealthy, status) => {
    const app = `${policy.toLowerCase()}-${currentHealthy}`;
    const counted = { ...NONE, currentHealthy, observedGeneration: 1 };
    await budget(app, counted, { unhealthyPodEvictionPolicy: policy });
    await started(app, app, false);
    expect((await evict(app)).status).toBe(status);
    // It counts towards nothing, so it spends nothing.
    expect((await read(`${budgets}/${app}`)).status.disruptedPods).toBeUndefined();
  });

  test('spends the last of its budget once', async () => {
    await budget('last', { ...NONE, currentHealthy: 2, disruptionsAllowed: 1, observedGeneration: 1 });
    await started('last-1', 'last');
    await started('last-2', 'last');
    expect([(await evict('last-1')).status, (await evict('last-2')).status]).toEqual([201, 429]);
    const { status } = await read(`${budgets}/last`);
    expect([status.disruptionsAllowed, Object.keys(status.disruptedPods)]).toEqual([0, ['last-1']]);
    expect(status.conditions).toMatchObject([
      { type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' },
    ]);
  });
});

describe('a resize', () => {
  const container = (name: string) => ({ name, image: 'i', resources: { requests: { cpu: '10m' } } });
  beforeAll(async () => {
    const spec = { containers: [container('a'), container('b')], initContainers: [container('i')] };
    await post(pods, { metadata: { name: 'sized' }, spec });
  });
  const resize = async (change: (spec: { containers: object[]; initContainers: object[] }) => void) => {
    const sent = await read(`${pods}/sized`);
    change(sent.spec);
    return ask('PUT', `${pods}/sized/resize`, JSON.stringify(sent));
  };
  test.each<[string, Parameters<typeof resize>[0], string]>([
    [
      'that renames',
      (spec) => void spec.containers.splice(1, 1, container('z')),
      'spec.containers[1].name: Forbidden: containers may not be renamed or reordered on resize',
    ],
    [
      'that reorders',
      (spec) => void spec.containers.reverse(),
      'spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize',
    ],
    [
      'that adds',
      (spec) => void spec.containers.push(container('z')),
      'spec.containers: Forbidden: containers may not be added or removed on resize',
    ],
    [
      'that removes',
      (spec) => void spec.initContainers.pop(),
      'spec.initContainers: Forbidden: initContainers may not be added or removed on resize',
    ],
  ])('%s is refused', async (_, change, why) => {
    const answer = await resize(change);
    expect([answer.status, json(answer).message]).toEqual([422, expect.stringContaining(why)]);
  });
});
