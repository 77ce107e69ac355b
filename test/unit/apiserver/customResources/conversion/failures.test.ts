import { describe, expect, test } from 'vitest';
import { startConversionWebhook } from '../../../../support/conversionWebhook.js';
import {
  causesOf,
  DEFINITIONS,
  definition,
  GROUP,
  OPEN,
  startCustomServer,
  untilTrue,
  WIDGETS,
  widget,
} from '../../../../support/customResources.js';
import { perTest } from '../../../../support/perTest.js';
import { until } from '../../../../support/until.js';

const server = perTest(() => startCustomServer());
const webhook = perTest(startConversionWebhook);

const MERGE = { 'content-type': 'application/merge-patch+json' };
const NEWER = WIDGETS.replace('/v1/', '/v2/');
const LEAD = `conversion webhook for ${GROUP}/v1, Kind=Widget`;
const VERSIONS = [
  { name: 'v1', storage: true, schema: { openAPIV3Schema: OPEN } },
  { name: 'v2', schema: { openAPIV3Schema: OPEN } },
];
const define = (more: object = {}) =>
  server.define({ versions: VERSIONS, conversion: webhook.conversion(more) });
const make = (name = 'one') => server.send('POST', WIDGETS, widget(name, { spec: { address: 'a:1' } }));

// biome-ignore lint/suspicious/noExplicitAny: what a webhook answers is anything
type Data = any;
const first = (review: Data, change: (object: Data) => void) => {
  change(review.response.convertedObjects[0]);
  return review;
};

test.each<[string, string, (review: Data) => Data]>([
  [
    'another question',
    ' failed: expected response.uid=',
    (review) => ({ ...review, response: { ...review.response, uid: 'x' } }),
  ],
  [
    'another version of the review',
    ` failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1beta1, Kind=ConversionReview`,
    (review) => ({ ...review, apiVersion: 'apiextensions.k8s.io/v1beta1' }),
  ],
  ['nothing', ' failed: no response provided', ({ response: _, ...review }) => review],
  [
    'a failure',
    ' failed: no such color',
    (review) => ({
      ...review,
      response: { ...review.response, result: { status: 'Failure', message: 'no such color' } },
    }),
  ],
  [
    'a failure without a word',
    " failed: response.result.status was '', not 'Success'",
    (review) => ({ ...review, response: { ...review.response, result: {} } }),
  ],
  [
    'too few objects',
    ' returned 0 objects, expected 1',
    (review) => ({ ...review, response: { ...review.response, convertedObjects: [] } }),
  ],
  [
    'the version that was sent',
    ` returned invalid object at index 0: invalid groupVersion (expected ${GROUP}/v2, received ${GROUP}/v1)`,
    (review) => first(review, (object) => (object.apiVersion = `${GROUP}/v1`)),
  ],
  [
    'another kind',
    ' returned invalid object at index 0: invalid kind (expected Widget, received Gadget)',
    (review) => first(review, (object) => (object.kind = 'Gadget')),
  ],
  [
    'another name',
    ' returned invalid object at index 0: must have the same name: one != two',
    (review) => first(review, (object) => (object.metadata.name = 'two')),
  ],
  [
    'another namespace',
    ' returned invalid object at index 0: must have the same namespace: default != kube-system',
    (review) => first(review, (object) => (object.metadata.namespace = 'kube-system')),
  ],
  [
    'another uid',
    ' returned invalid object at index 0: must have the same UID: ',
    (review) => first(review, (object) => (object.metadata.uid = 'x')),
  ],
  [
    'labels that are none',
    ' returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object',
    (review) => first(review, (object) => (object.metadata.labels = { a: 1 })),
  ],
  [
    'a label that is not allowed',
    ' returned invalid metadata: metadata.labels: Invalid value: "-": ',
    (review) => first(review, (object) => (object.metadata.labels = { a: '-' })),
  ],
  ['no JSON', " failed: couldn't get version/kind; json parse error: ", () => 'oh'],
  [
    'an error',
    ' failed: an error on the server ("out of order") has prevented the request from succeeding',
    () => 500,
  ],
  ['another path', ' failed: the server could not find the requested resource', () => 404],
  ['a flood', ' failed: Post "https://127.0.0.1:', () => `"${'x'.repeat(9 * 1024 * 1024)}"`],
])('an answer with %s is refused in the words of Kubernetes', async (_, words, change) => {
  const { send } = server;
  await define();
  await make();
  webhook.change = change;
  const refused = await send('GET', `${NEWER}/one`);
  expect(refused.status).toBe(500);
  expect(refused.body.message).toContain(`${LEAD}${words}`);
  expect(refused.body.reason).toBeUndefined();
  expect((await send('GET', NEWER)).body.message).toContain(LEAD);
  expect((await send('GET', `${WIDGETS}/one`)).status).toBe(200);
});

test('metadata stay as they were but for labels and annotations', async () => {
  await define();
  const { body: made } = await make();
  webhook.change = (review) =>
    first(review, ({ metadata }) => {
      metadata.labels = { a: 'b' };
      metadata.finalizers = ['example.com/x'];
      metadata.creationTimestamp = '2001-01-01T00:00:00Z';
      metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'y' }];
    });
  const { body } = await server.send('GET', `${NEWER}/one`);
  expect(body.metadata).toEqual({ ...made.metadata, labels: { a: 'b' } });
});

test('nothing is written when what was sent cannot be converted, and nothing is lost while no webhook answers', async () => {
  const { send } = server;
  await define();
  await make();
  await webhook.close();
  const refused = await send('POST', NEWER, { ...widget('two'), apiVersion: `${GROUP}/v2`, spec: {} });
  expect(refused.status).toBe(500);
  expect(refused.body.message).toMatch(
    new RegExp(
      `^conversion webhook for ${GROUP}/v2, Kind=Widget failed: Post "https://127.0.0.1:\\d+/convert\\?timeout=30s": dial tcp 127.0.0.1:\\d+: connect: connection refused$`,
    ),
  );
  expect((await send('PATCH', `${NEWER}/one`, { spec: { host: 'x' } }, MERGE)).status).toBe(500);
  expect((await send('DELETE', `${NEWER}/one`)).status).toBe(500);
  expect((await send('GET', WIDGETS)).body.items).toHaveLength(1);
  expect((await send('PATCH', `${WIDGETS}/one`, { spec: { address: 'c:3' } }, MERGE)).status).toBe(200);
  // A definition goes with its objects, whoever could convert them.
  await send('DELETE', `${DEFINITIONS}/widgets.${GROUP}`);
  await untilTrue(
    'the definition is gone',
    async () => (await send('GET', `${DEFINITIONS}/widgets.${GROUP}`)).status === 404,
  );
});

test('a watch ends where its next event cannot be converted, and is refused where its first cannot', async () => {
  const { send, api } = server;
  await define();
  await make('one');
  const watch = await api.transport.request({ method: 'GET', path: `${NEWER}?watch=true` });
  let text = '';
  const ended = (async () => {
    for await (const part of watch.body) {
      text += Buffer.from(part).toString();
      webhook.change = (review) => ({ ...review, response: undefined });
      if (text.split('\n').length === 2) await make('two');
    }
  })();
  await ended;
  const events = text.split('\n').slice(0, -1);
  expect(events.map((line) => JSON.parse(line).object.metadata.name)).toEqual(['one']);
  const refused = await send('GET', `${NEWER}?watch=true`);
  expect(refused.status).toBe(500);
  expect(refused.body.message).toContain('no response provided');
});

test('a webhook that does not answer holds nobody but those who ask it', async () => {
  const { send } = server;
  await define();
  await make();
  let release = () => {};
  const hanging = new Promise<void>((resolve) => (release = resolve));
  webhook.change = async (review) => {
    await hanging;
    return review;
  };
  const waiting = Array.from({ length: 40 }, (_, i) => make(`w${i}`));
  await Promise.all(waiting);
  const stuck = Array.from({ length: 40 }, (_, i) => send('GET', `${NEWER}/w${i}`));
  await until(async () => expect(webhook.asked.length).toBeGreaterThanOrEqual(16));
  expect((await send('GET', `${WIDGETS}/one`)).status).toBe(200);
  expect((await make('other')).status).toBe(201);
  expect((await send('GET', '/api/v1/namespaces')).status).toBe(200);
  // One user has no more calls than these; the others of its requests wait their turn.
  expect(webhook.asked).toHaveLength(16);
  release();
  const answers = await Promise.all(stuck);
  expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200));
});

test('an older webhook is asked in the older version, and one that knows none of ours is refused', async () => {
  const { send } = server;
  const unknown = await send(
    'POST',
    DEFINITIONS,
    definition({ versions: VERSIONS, conversion: webhook.conversion({ conversionReviewVersions: ['v7'] }) }),
  );
  expect(causesOf(unknown)).toEqual([
    'spec.conversion.conversionReviewVersions: Invalid value: ["v7"]: must include at least one of v1, v1beta1',
  ]);
  await define({ conversionReviewVersions: ['v7', 'v1beta1', 'v1'] });
  await make();
  let version = '';
  webhook.change = (review) => {
    version = review.apiVersion;
    return { response: { ...review.response, uid: undefined } };
  };
  expect((await send('GET', `${NEWER}/one`)).body.spec).toMatchObject({ host: 'a' });
  expect(version).toBe('apiextensions.k8s.io/v1beta1');
});

describe('the bundle by which a webhook is known', () => {
  const bundled = (caBundle: string) => webhook.conversion({ clientConfig: { url: webhook.url, caBundle } });
  const path = `${DEFINITIONS}/widgets.${GROUP}`;
  const setBundle = (caBundle: string) =>
    server.send('PATCH', path, { spec: { conversion: bundled(caBundle) } }, MERGE);
  const NO_PEM = Buffer.from('no certificate').toString('base64');

  test('that cannot be read lets no definition be established until it can', async () => {
    const { send } = server;
    const made = await send(
      'POST',
      DEFINITIONS,
      definition({ versions: VERSIONS, conversion: bundled(NO_PEM) }),
    );
    expect(made.status).toBe(201);
    await until(async () => {
      const { body } = await send('GET', path);
      expect(body.status.conditions).toContainEqual(
        expect.objectContaining({
          type: 'Established',
          status: 'False',
          reason: 'InvalidCABundle',
          message: 'The conversion webhook CABundle is invalid',
        }),
      );
    });
    expect((await setBundle(webhook.caBundle)).status).toBe(200);
    await untilTrue('it is served', async () => (await send('GET', NEWER)).status === 200);
  });

  test('is not replaced by one that cannot be read', async () => {
    await define();
    const refused = await setBundle(NO_PEM);
    expect(causesOf(refused)).toEqual([
      expect.stringContaining(
        'spec.conversion.webhookClientConfig.caBundle: Invalid value: ' +
          `"${NO_PEM}": unable to load root certificates: unable to parse bytes as PEM block`,
      ),
    ]);
  });

  test('is the only one that is believed', async () => {
    const other = await startConversionWebhook();
    await define({ clientConfig: { url: webhook.url, caBundle: other.caBundle } });
    await make();
    expect((await server.send('GET', `${NEWER}/one`)).body.message).toContain(
      'tls: failed to verify certificate: x509: certificate signed by unknown authority',
    );
    expect(webhook.asked).toEqual([]);
    await other.close();
  });
});

test('calls are counted as Kubernetes counts them', async () => {
  const { send } = server;
  await define();
  await make();
  await send('GET', `${NEWER}/one`);
  webhook.change = () => 500;
  await make('two');
  await send('GET', `${NEWER}/two`);
  const { body } = await send('GET', '/metrics');
  expect(body).toContain('apiserver_conversion_webhook_request_total{failure_type="",result="success"} 1');
  expect(body).toContain(
    'apiserver_conversion_webhook_request_total{failure_type="conversion_webhook_call_failure",result="failure"} 1',
  );
  expect(body).toContain(
    `apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="widgets.${GROUP}",from_version="v1",succeeded="true",to_version="v2"} 1`,
  );
});
