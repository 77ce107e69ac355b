import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  causesOf,
  DEFINITIONS,
  definition,
  GROUP,
  OPEN,
  specOf,
  startCustomServer,
  untilTrue,
  WIDGETS,
  widget,
} from '../../../support/customResources.js';
import { perTest } from '../../../support/perTest.js';

const server = perTest(() => startCustomServer());

const MERGE = { 'content-type': 'application/merge-patch+json' };
const OLDER = WIDGETS.replace('/v1/', '/v1beta1/');

test('every served version shows the same objects by its own schema, and a deprecated one warns', async () => {
  const { send, define } = server;
  await define({
    versions: [
      {
        name: 'v1',
        storage: true,
        schema: { openAPIV3Schema: specOf({ size: { type: 'integer', default: 3 } }) },
      },
      {
        name: 'v1beta1',
        deprecated: true,
        schema: { openAPIV3Schema: specOf({ color: { type: 'string' }, size: { type: 'integer' } }) },
      },
    ],
  });
  await send('POST', WIDGETS, widget('one', { spec: {} }));
  const older = await send('GET', `${OLDER}/one`);
  expect(older.body).toMatchObject({ apiVersion: `${GROUP}/v1beta1`, spec: { size: 3 } });
  expect(older.headers['warning']).toContain(
    'example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget',
  );
  const made = await send('POST', OLDER, {
    ...widget('two'),
    apiVersion: `${GROUP}/v1beta1`,
    spec: { color: 'red' },
  });
  expect(made.body).toMatchObject({ apiVersion: `${GROUP}/v1beta1`, spec: { color: 'red' } });
  const list = await send('GET', OLDER);
  expect(list.body.items.map((item: { apiVersion: string }) => item.apiVersion)).toEqual(
    Array(2).fill(`${GROUP}/v1beta1`),
  );
  expect((await send('GET', `/apis/${GROUP}`)).body.preferredVersion.version).toBe('v1');
});

test('every served version tells by one hash in which version the objects are stored', async () => {
  const { send, define } = server;
  const schema = { openAPIV3Schema: specOf({}) };
  await define({
    versions: [
      { name: 'v1', storage: true, schema },
      { name: 'v1beta1', schema },
    ],
  });
  const hashes = await Promise.all(
    ['v1', 'v1beta1'].map(async (version) => {
      const { body } = await send('GET', `/apis/${GROUP}/${version}`);
      return body.resources.find(
        ({ kind, name }: { kind: string; name: string }) => kind === 'Widget' && !name.includes('/'),
      ).storageVersionHash;
    }),
  );
  const sum = createHash('sha256').update(`${GROUP}/v1/Widget`).digest('base64url');
  const expected = Buffer.from(sum, 'base64url').subarray(0, 8).toString('base64');
  expect(hashes).toEqual([expected, expected]);
});

test('objects that were stored before a default or another storage version came are read with it', async () => {
  const { send, define } = server;
  await define();
  await send('POST', WIDGETS, widget('old', { spec: { size: 1 } }));
  const next = definition({
    versions: [
      { name: 'v1', storage: false },
      {
        name: 'v2',
        storage: true,
        schema: {
          openAPIV3Schema: specOf({ size: { type: 'integer' }, color: { type: 'string', default: 'red' } }),
        },
      },
    ],
  });
  const changed = await send('PATCH', `${DEFINITIONS}/widgets.${GROUP}`, { spec: next.spec }, MERGE);
  expect(changed.body.status.storedVersions).toEqual(['v1', 'v2']);
  const newer = WIDGETS.replace('/v1/', '/v2/');
  await untilTrue('v2 is served', async () => (await send('GET', newer)).status === 200);
  const read = await send('GET', `${newer}/old`);
  expect(read.body).toMatchObject({ apiVersion: `${GROUP}/v2`, spec: { size: 1, color: 'red' } });
  expect((await send('GET', `${WIDGETS}/old`)).body).toMatchObject({
    apiVersion: `${GROUP}/v1`,
    spec: { size: 1 },
  });
  const gone = definition({ versions: [{ name: 'v2', storage: true }] });
  const refused = await send('PATCH', `${DEFINITIONS}/widgets.${GROUP}`, { spec: gone.spec }, MERGE);
  expect(causesOf(refused)[0]).toContain(
    'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version',
  );
});

test('an object that was written in the former storage version after the change is shown as what is asked for', async () => {
  const { send, define, api } = server;
  const color = specOf({ color: { type: 'string', default: 'red' } });
  const v2 = { name: 'v2', storage: true, schema: { openAPIV3Schema: color } };
  await define({ versions: [{ name: 'v1' }, v2] });
  // As a request does that had begun to write before the change, here or at another server.
  const late = { ...widget('late', { spec: { size: 1 } }), metadata: { name: 'late', namespace: 'default' } };
  const key = `/registry/widgets.${GROUP}/default/late`;
  await api.store.create(key, Buffer.from(JSON.stringify(late)));
  const newer = WIDGETS.replace('/v1/', '/v2/');
  const listed = await send('GET', newer);
  expect(listed.body.items).toMatchObject([{ apiVersion: `${GROUP}/v2`, spec: { color: 'red' } }]);
});

test('an object that was written by the former schema after the change is shown with its fields and defaults of now', async () => {
  const { send, define, api } = server;
  await define({ schema: specOf({ size: { type: 'integer' }, old: { type: 'string' } }) });
  expect((await send('POST', WIDGETS, widget('early', { spec: { size: 1, old: 'x' } }))).status).toBe(201);
  const path = `${DEFINITIONS}/widgets.${GROUP}`;
  const { body: held } = await send('GET', path);
  held.spec.versions[0].schema.openAPIV3Schema = specOf({
    size: { type: 'integer' },
    color: { type: 'string', default: 'red' },
  });
  expect((await send('PUT', path, held)).status).toBe(200);
  await untilTrue('the change is served', async () => {
    const { body } = await send('GET', `${WIDGETS}/early`);
    return body.spec.color === 'red';
  });
  // As a request does that had begun to write before the change, here or at another server.
  const metadata = { name: 'late', namespace: 'default' };
  const late = { ...widget('late', { spec: { size: 1, old: 'x' } }), metadata };
  await api.store.create(`/registry/widgets.${GROUP}/default/late`, Buffer.from(JSON.stringify(late)));
  const { body } = await send('GET', WIDGETS);
  expect(body.items.map(({ spec }: { spec: unknown }) => spec)).toEqual([
    { size: 1, color: 'red' },
    { size: 1, color: 'red' },
  ]);
});

test('status and scale are subresources: each changes its own part, and only the spec counts', async () => {
  const { send, define } = server;
  await define({
    schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { replicas: { type: 'integer' } } },
        status: {
          type: 'object',
          properties: { replicas: { type: 'integer' }, selector: { type: 'string' } },
        },
      },
    },
    version: {
      subresources: {
        status: {},
        scale: {
          specReplicasPath: '.spec.replicas',
          statusReplicasPath: '.status.replicas',
          labelSelectorPath: '.status.selector',
        },
      },
    },
  });
  const made = await send('POST', WIDGETS, widget('one', { spec: { replicas: 1 }, status: { replicas: 9 } }));
  expect(made.body.status).toBeUndefined();
  const told = await send('PUT', `${WIDGETS}/one/status`, {
    ...made.body,
    spec: { replicas: 5 },
    status: { replicas: 1, selector: 'app=x' },
  });
  expect(told.body).toMatchObject({
    spec: { replicas: 1 },
    status: { replicas: 1 },
    metadata: { generation: 1 },
  });
  const scaled = await send('PATCH', `${WIDGETS}/one/scale`, { spec: { replicas: 3 } }, MERGE);
  expect(scaled.body).toMatchObject({
    kind: 'Scale',
    spec: { replicas: 3 },
    status: { replicas: 1, selector: 'app=x' },
  });
  expect((await send('GET', `${WIDGETS}/one`)).body.metadata.generation).toBe(2);
  const negative = await send('PATCH', `${WIDGETS}/one`, { spec: { replicas: -1 } }, MERGE);
  expect(causesOf(negative)).toEqual(['.spec.replicas: Invalid value: -1: should be a non-negative integer']);
});

test('what a scale reads and has another type is refused', async () => {
  const { send, define } = server;
  const scale = {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.deep.replicas',
    labelSelectorPath: '.status.selector',
  };
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  await define({ schema: open, version: { subresources: { scale } } });
  const made = (more: object) => send('POST', WIDGETS, widget('one', more));
  expect(causesOf(await made({ spec: { replicas: 'x' } }))).toEqual([
    '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64',
  ]);
  expect(causesOf(await made({ spec: 'x', status: { deep: true, selector: 1 } }))).toEqual([
    '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected map[string]interface{}',
    '.status.deep.replicas: Invalid value: 0: .status.deep.replicas accessor error: true is of the type bool, expected map[string]interface{}',
    '.status.selector: Invalid value: "": .status.selector accessor error: 1 is of the type int64, expected string',
  ]);
  expect(causesOf(await made({ spec: { replicas: -1 } }))).toEqual([
    '.spec.replicas: Invalid value: -1: should be a non-negative integer',
  ]);
  expect((await made({ spec: {}, status: { selector: 'a=b' } })).status).toBe(201);
});

test('a field that is not selectable is refused, also where the version has none and where there are no namespaces', async () => {
  const { send, define } = server;
  const selectableFields = [{ jsonPath: '.spec.size' }];
  await define({ versions: [{ name: 'v1', storage: true, selectableFields }, { name: 'v1beta1' }] });
  await define({ plural: 'rocks', kind: 'Rock', scope: 'Cluster' });
  const told = async (path: string, field: string) =>
    (await send('GET', `${path}?fieldSelector=${field}%3Dx`)).body.message;
  const older = WIDGETS.replace('/v1/', '/v1beta1/');
  expect(await told(older, 'spec.size')).toBe('field label not supported: spec.size');
  expect(await told(WIDGETS, 'spec.x')).toBe('field label not supported: spec.x');
  expect(await told(`/apis/${GROUP}/v1/rocks`, 'metadata.namespace')).toBe(
    'field label not supported: metadata.namespace',
  );
  expect(await told(WIDGETS, 'metadata.namespace')).toBeUndefined();
});

test('what speaks of a webhook is refused where none converts, by its place', async () => {
  const webhook = {
    conversionReviewVersions: ['v1'],
    clientConfig: { url: 'https://converter.example.com/' },
  };
  const refused = await server.define({ conversion: { strategy: 'None', webhook } });
  const why = 'Forbidden: should not be set when strategy is not set to Webhook';
  expect(causesOf(refused)).toEqual([
    `spec.conversion.webhookClientConfig: ${why}`,
    `spec.conversion.conversionReviewVersions: ${why}`,
  ]);
});

test('a scale that was never given is an error to whoever asks, and is given by whoever writes it', async () => {
  const { send, define } = server;
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
  await define({ schema: specOf({ replicas: { type: 'integer' } }), version: { subresources: { scale } } });
  await send('POST', WIDGETS, widget('one'));
  expect(await send('GET', `${WIDGETS}/one/scale`)).toMatchObject({
    status: 500,
    body: { message: 'Internal error occurred: the spec replicas field ".spec.replicas" does not exist' },
  });
  const empty = {
    status: 400,
    body: { message: 'the spec replicas field ".spec.replicas" cannot be empty' },
  };
  expect(await send('PATCH', `${WIDGETS}/one/scale`, { spec: {} }, MERGE)).toMatchObject(empty);
  const nothing = { apiVersion: 'autoscaling/v1', kind: 'Scale', spec: {} };
  const path = `${WIDGETS}/one/scale?fieldManager=me`;
  const applied = await send('PATCH', path, nothing, { 'content-type': 'application/apply-patch+yaml' });
  expect(applied).toMatchObject(empty);
  const given = await send('PATCH', `${WIDGETS}/one/scale`, { spec: { replicas: 2 } }, MERGE);
  expect(given.body).toMatchObject({ spec: { replicas: 2 }, status: { replicas: 0 } });
  expect(given.body.status).not.toHaveProperty('selector');
});

test('every type that the OpenAPI documents of custom kinds name is in them', async () => {
  const { send, define } = server;
  await define();
  for (const path of ['/openapi/v2', `/openapi/v3/apis/${GROUP}/v1`]) {
    const { body } = await send('GET', path);
    const known = Object.keys(body.definitions ?? body.components.schemas);
    const named = [
      ...JSON.stringify(body).matchAll(/"\$ref":"#\/(?:definitions|components\/schemas)\/([^"]+)"/g),
    ];
    expect(named.length).toBeGreaterThan(0);
    expect(named.map(([, name]) => name).filter((name) => !known.includes(name ?? ''))).toEqual([]);
  }
});

test('columns, selectable fields, discovery and OpenAPI are those of the definition', async () => {
  const { send, define } = server;
  await define({
    names: { shortNames: ['wd'], categories: ['all'] },
    schema: specOf({ color: { type: 'string', description: 'What it looks like.' } }),
    version: {
      selectableFields: [{ jsonPath: '.spec.color' }],
      additionalPrinterColumns: [{ name: 'Color', type: 'string', jsonPath: '.spec.color' }],
    },
  });
  for (const color of ['red', 'blue']) await send('POST', WIDGETS, widget(color, { spec: { color } }));
  const table = await send('GET', WIDGETS, undefined, {
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  });
  expect(table.body.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual(['Name', 'Color']);
  expect(table.body.rows.map(({ cells }: { cells: unknown[] }) => cells)).toEqual([
    ['blue', 'blue'],
    ['red', 'red'],
  ]);
  const some = await send('GET', `${WIDGETS}?fieldSelector=spec.color%3Dred`);
  expect(some.body.items).toHaveLength(1);
  expect((await send('GET', `${WIDGETS}?fieldSelector=spec.size%3D1`)).status).toBe(400);
  const { body: resources } = await send('GET', `/apis/${GROUP}/v1`);
  expect(resources.resources[0]).toMatchObject({
    name: 'widgets',
    shortNames: ['wd'],
    categories: ['all'],
    kind: 'Widget',
  });
  const { body: v3 } = await send('GET', `/openapi/v3/apis/${GROUP}/v1`);
  const schema = v3.components.schemas['com.example.v1.Widget'];
  expect(schema.properties.spec.properties.color.description).toBe('What it looks like.');
  expect(schema['x-kubernetes-group-version-kind']).toEqual([
    { group: GROUP, version: 'v1', kind: 'Widget' },
  ]);
  const { body: v2 } = await send('GET', '/openapi/v2');
  expect(v2.definitions['com.example.v1.Widget'].properties.spec.properties.color.type).toBe('string');
  const partial = await send('GET', `${WIDGETS}/red`, undefined, {
    accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  });
  expect(partial.body).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'red' } });
});

test('a column shows what is of its type: a time by its age, of a list the text, of several values the first', async () => {
  const { send, define } = server;
  const cells = {
    tags: ['["x","y"]', { type: 'string', jsonPath: '.spec.tags' }],
    first: ['x', { type: 'string', jsonPath: '.spec.tags[*]' }],
    ready: ['True', { type: 'string', jsonPath: '.spec.list[?(@.type=="Ready")].status' }],
    nothing: ['<no value>', { type: 'string', jsonPath: '.spec.nothing' }],
    missing: [null, { type: 'string', jsonPath: '.spec.missing.deep' }],
    whole: [1, { type: 'integer', jsonPath: '.spec.ratio' }],
    ratio: [1.5, { type: 'number', jsonPath: '.spec.ratio' }],
    notWhole: [null, { type: 'integer', jsonPath: '.spec.day' }],
    on: [true, { type: 'boolean', jsonPath: '.spec.on' }],
    day: ['<invalid>', { type: 'date', jsonPath: '.spec.day' }],
    at: [expect.stringMatching(/^\d+y/), { type: 'date', jsonPath: '.spec.at' }],
  } as const;
  const additionalPrinterColumns = Object.entries(cells).map(([name, [, column]]) => ({ name, ...column }));
  await define({
    schema: { type: 'object', properties: { spec: OPEN } },
    version: { additionalPrinterColumns },
  });
  const list = [{ type: 'Ready', status: 'True' }];
  const times = { at: '2001-02-03T04:05:06Z', day: '2001-02-03' };
  const spec = { tags: ['x', 'y'], list, nothing: null, ratio: 1.5, on: true, ...times };
  await send('POST', WIDGETS, widget('one', { spec }));
  const table = await send('GET', WIDGETS, undefined, {
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  });
  expect(table.body.rows[0].cells).toEqual(['one', ...Object.values(cells).map(([cell]) => cell)]);
});

test('of a kind that is open at its root v2 says that it is an object, v3 what the definition says', async () => {
  const { send, define } = server;
  await define({ schema: { ...specOf({ size: { type: 'integer' } }), ...OPEN, description: 'Open.' } });
  const gvk = { 'x-kubernetes-group-version-kind': [{ group: GROUP, version: 'v1', kind: 'Widget' }] };
  const { body: v2 } = await send('GET', '/openapi/v2');
  expect(v2.definitions['com.example.v1.Widget']).toEqual({ type: 'object', ...gvk });
  const { body: v3 } = await send('GET', `/openapi/v3/apis/${GROUP}/v1`);
  const schema = v3.components.schemas['com.example.v1.Widget'];
  expect(schema).toMatchObject({ ...OPEN, description: 'Open.', ...gvk });
  expect(Object.keys(schema.properties).sort()).toEqual(['apiVersion', 'kind', 'metadata', 'spec', 'status']);
});

test('an update is not refused for what was wrong before it', async () => {
  const { send, define } = server;
  await define({ schema: specOf({ size: { type: 'integer' }, color: { type: 'string' } }) });
  await send('POST', WIDGETS, widget('one', { spec: { size: 100, color: 'red' } }));
  const tighter = definition({
    schema: specOf({ size: { type: 'integer', maximum: 10 }, color: { type: 'string' } }),
  });
  await send('PATCH', `${DEFINITIONS}/widgets.${GROUP}`, { spec: tighter.spec }, MERGE);
  await untilTrue(
    'the bound holds',
    async () =>
      (await send('POST', `${WIDGETS}?dryRun=All`, widget('x', { spec: { size: 11 } }))).status === 422,
  );
  expect((await send('PATCH', `${WIDGETS}/one`, { spec: { color: 'blue' } }, MERGE)).status).toBe(200);
  const worse = await send('PATCH', `${WIDGETS}/one`, { spec: { size: 101 } }, MERGE);
  expect(causesOf(worse)).toEqual([
    'spec.size: Invalid value: 101: spec.size in body should be less than or equal to 10',
  ]);
});

test('watches end when their definition changes or goes, and go on from where they were', async () => {
  const { send, define, api } = server;
  await define({ schema: OPEN });
  const watch = await api.transport.request({ method: 'GET', path: `${WIDGETS}?watch=true` });
  const events: string[] = [];
  const ended = (async () => {
    for await (const part of watch.body) events.push(Buffer.from(part).toString());
  })();
  await send('POST', WIDGETS, widget('one'));
  await untilTrue('the event came', async () => events.join('').includes('"one"'));
  await send('DELETE', `${DEFINITIONS}/widgets.${GROUP}`);
  await ended;
  expect(events.join('')).toContain('"type":"DELETED"');
});
