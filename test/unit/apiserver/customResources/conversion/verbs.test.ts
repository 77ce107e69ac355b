import { describe, expect, test } from 'vitest';
import { startConversionWebhook } from '../../../../support/conversionWebhook.js';
import {
  type Answer,
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

const server = perTest(() => startCustomServer());
const webhook = perTest(startConversionWebhook);

const MERGE = { 'content-type': 'application/merge-patch+json' };
const APPLY = { 'content-type': 'application/apply-patch+yaml' };
const NEWER = WIDGETS.replace('/v1/', '/v2/');
const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

const SUBRESOURCES = {
  subresources: {
    status: {},
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
  },
};
const schemaOf = (properties: object) => ({
  openAPIV3Schema: {
    type: 'object' as const,
    properties: { spec: { type: 'object' as const, properties }, status: OPEN },
  },
});
const V1 = {
  name: 'v1',
  schema: schemaOf({
    address: { type: 'string', maxLength: 30 },
    replicas: { type: 'integer' },
    color: { type: 'string' },
  }),
  additionalPrinterColumns: [{ name: 'Address', type: 'string', jsonPath: '.spec.address' }],
  selectableFields: [{ jsonPath: '.spec.address' }],
  ...SUBRESOURCES,
};
const V2 = {
  name: 'v2',
  schema: schemaOf({
    host: { type: 'string' },
    port: { type: 'integer', maximum: 65535 },
    replicas: { type: 'integer' },
    color: { type: 'string', default: 'red' },
  }),
  additionalPrinterColumns: [{ name: 'Port', type: 'integer', jsonPath: '.spec.port' }],
  selectableFields: [{ jsonPath: '.spec.port' }],
  ...SUBRESOURCES,
};

/** Both versions, with that one stored. */
const versions = (stored: 'v1' | 'v2') => [
  { ...V1, storage: stored === 'v1' },
  { ...V2, storage: stored === 'v2' },
];

const define = (stored: 'v1' | 'v2' = 'v1') =>
  server.define({ versions: versions(stored), conversion: webhook.conversion() } as never);

const older = (name: string, address = 'a.example:80', more: object = {}) =>
  widget(name, { spec: { address }, ...more });
const newer = (name: string, host = 'a.example', port = 80) => ({
  ...widget(name, { spec: { host, port } }),
  apiVersion: `${GROUP}/v2`,
});

const storedBytes = async (name: string) => {
  const { entries } = await server.api.store.list({ prefix: `/registry/widgets.${GROUP}/default/${name}` });
  return JSON.parse(Buffer.from(entries[0]?.value ?? []).toString());
};

/** The events of a watch until `count` have come. */
async function watched(path: string, count: number, during: () => Promise<unknown>) {
  const aborted = new AbortController();
  const watch = await server.api.transport.request({ method: 'GET', path, signal: aborted.signal });
  const work = during();
  let text = '';
  const lines = () => text.split('\n').slice(0, -1);
  try {
    for await (const part of watch.body) {
      text += Buffer.from(part).toString();
      if (lines().length >= count) break;
    }
  } finally {
    aborted.abort();
  }
  await work;
  return lines().map((line) => JSON.parse(line));
}

describe('a webhook converts', () => {
  test('what is created, read, listed, updated, patched and deleted in a version that is not stored', async () => {
    const { send } = server;
    await define();
    const made = await send('POST', NEWER, newer('one'));
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ apiVersion: `${GROUP}/v2`, spec: { host: 'a.example', port: 80 } });
    expect(await storedBytes('one')).toMatchObject({
      apiVersion: `${GROUP}/v1`,
      spec: { address: 'a.example:80' },
    });
    expect((await send('GET', `${WIDGETS}/one`)).body.spec).toMatchObject({ address: 'a.example:80' });
    expect((await send('GET', `${NEWER}/one`)).body.spec).toMatchObject({ host: 'a.example', port: 80 });
    await send('POST', WIDGETS, older('two', 'b.example:81'));
    const list = (await send('GET', NEWER)).body;
    expect(list.apiVersion).toBe(`${GROUP}/v2`);
    expect(list.items.map((item: Answer['body']) => item.spec.port)).toEqual([80, 81]);
    expect(list.items[0].apiVersion).toBe(`${GROUP}/v2`);
    const put = await send('PUT', `${NEWER}/one`, {
      ...made.body,
      spec: { ...made.body.spec, port: 90 },
    });
    expect(put.body).toMatchObject({ spec: { port: 90 }, metadata: { generation: 2 } });
    const patched = await send('PATCH', `${NEWER}/one`, { spec: { port: 91 } }, MERGE);
    expect(patched.body.spec).toMatchObject({ host: 'a.example', port: 91 });
    expect((await storedBytes('one')).spec).toMatchObject({ address: 'a.example:91' });
    expect((await send('DELETE', `${NEWER}/one`)).status).toBe(200);
    const gone = await send('DELETE', NEWER);
    expect(gone.body.items[0].spec.port).toBe(81);
    expect((await send('GET', WIDGETS)).body.items).toEqual([]);
  });

  test('with faults, columns, fields and defaults of the version that is asked for', async () => {
    const { send } = server;
    await define();
    const refused = await send('POST', NEWER, newer('one', 'a', 70000));
    expect(causesOf(refused)).toEqual([
      'spec.port: Invalid value: 70000: spec.port in body should be less than or equal to 65535',
    ]);
    await send('POST', WIDGETS, older('one', 'a:1'));
    await send('POST', WIDGETS, older('two', 'b:2'));
    expect((await send('GET', `${NEWER}/one`)).body.spec).toEqual({ host: 'a', port: 1, color: 'red' });
    const table = await send('GET', NEWER, undefined, TABLE);
    expect(table.body.rows.map(({ cells }: { cells: unknown[] }) => cells)).toEqual([
      ['one', 1],
      ['two', 2],
    ]);
    const some = await send('GET', `${NEWER}?fieldSelector=spec.port%3D2`);
    expect(some.body.items.map((item: Answer['body']) => item.metadata.name)).toEqual(['two']);
    expect((await send('GET', `${NEWER}?fieldSelector=spec.address%3Da`)).status).toBe(400);
  });

  test('status and scale, each by its own path', async () => {
    const { send } = server;
    await define();
    const made = await send('POST', WIDGETS, older('one', 'a:1', { spec: { address: 'a:1', replicas: 2 } }));
    expect((await send('GET', `${NEWER}/one/scale`)).body.spec).toEqual({ replicas: 2 });
    const scaled = await send('PATCH', `${NEWER}/one/scale`, { spec: { replicas: 3 } }, MERGE);
    expect(scaled.body.spec).toEqual({ replicas: 3 });
    const told = await send('PATCH', `${NEWER}/one/status`, { status: { ready: true } }, MERGE);
    expect(told.body).toMatchObject({ apiVersion: `${GROUP}/v2`, status: { ready: true } });
    expect(await storedBytes('one')).toMatchObject({
      apiVersion: `${GROUP}/v1`,
      spec: { address: 'a:1', replicas: 3 },
      status: { ready: true },
      metadata: { uid: made.body.metadata.uid, generation: 2 },
    });
  });

  test('pages of a list, each with its rest, and by the labels that the webhook shows', async () => {
    const { send } = server;
    await define();
    webhook.change = (review, { desiredAPIVersion }) => {
      for (const object of review.response.convertedObjects)
        if (desiredAPIVersion.endsWith('v2')) object.metadata.labels = { port: String(object.spec.port) };
      return review;
    };
    for (let i = 0; i < 7; i++) await send('POST', WIDGETS, older(`w${i}`, `a:${i % 2}`));
    const first = (await send('GET', `${NEWER}?limit=3`)).body;
    expect(first.metadata.remainingItemCount).toBe(4);
    const second = (await send('GET', `${NEWER}?limit=3&continue=${first.metadata.continue}`)).body;
    const third = (await send('GET', `${NEWER}?limit=3&continue=${second.metadata.continue}`)).body;
    const names = [first, second, third].flatMap(({ items }) =>
      items.map((item: Answer['body']) => item.metadata.name),
    );
    expect(names).toEqual(Array.from({ length: 7 }, (_, i) => `w${i}`));
    expect(third.metadata.continue).toBeUndefined();
    const even = (await send('GET', `${NEWER}?limit=2&labelSelector=port%3D0`)).body;
    expect(even.items.map((item: Answer['body']) => item.metadata.name)).toEqual(['w0', 'w2']);
    const rest = await send('GET', `${NEWER}?labelSelector=port%3D0&continue=${even.metadata.continue}`);
    expect(rest.body.items.map((item: Answer['body']) => item.metadata.name)).toEqual(['w4', 'w6']);
    expect((await send('GET', `${WIDGETS}?labelSelector=port%3D0`)).body.items).toEqual([]);
  });

  test('a list in few questions, and each object once for all who ask', async () => {
    const { send } = server;
    await define();
    for (let i = 0; i < 30; i++) await send('POST', WIDGETS, older(`w${i}`));
    webhook.asked.length = 0;
    await Promise.all([send('GET', NEWER), send('GET', NEWER), send('GET', `${NEWER}/w3`)]);
    expect(webhook.asked.flatMap(({ objects }) => objects)).toHaveLength(30);
    expect(webhook.asked.length).toBeLessThanOrEqual(2);
    webhook.asked.length = 0;
    await send('GET', WIDGETS);
    expect(webhook.asked).toEqual([]);
  });

  test('what watchers see, in order, with the state at the start and what leaves their selection', async () => {
    const { send } = server;
    await define();
    await send('POST', WIDGETS, older('first', 'a:1'));
    const events = await watched(`${NEWER}?watch=true&fieldSelector=spec.port%3D1`, 4, async () => {
      await send('POST', WIDGETS, older('second', 'b:2'));
      await send('PATCH', `${WIDGETS}/second`, { spec: { address: 'b:1' } }, MERGE);
      await send('PATCH', `${WIDGETS}/first`, { spec: { address: 'a:9' } }, MERGE);
      await send('DELETE', `${WIDGETS}/second`);
    });
    expect(
      events.map(({ type, object }) => [type, object.apiVersion, object.metadata.name, object.spec.host]),
    ).toEqual([
      ['ADDED', `${GROUP}/v2`, 'first', 'a'],
      ['ADDED', `${GROUP}/v2`, 'second', 'b'],
      ['DELETED', `${GROUP}/v2`, 'first', 'a'],
      ['DELETED', `${GROUP}/v2`, 'second', 'b'],
    ]);
  });

  test('no object for its own version, and none again after a migration to another storage version', async () => {
    const { send } = server;
    await define('v1');
    await send('POST', WIDGETS, older('one', 'a:1'));
    const next = definition({ versions: versions('v2'), conversion: webhook.conversion() } as never);
    const changed = await send('PATCH', `${DEFINITIONS}/widgets.${GROUP}`, { spec: next.spec }, MERGE);
    expect(changed.body.status.storedVersions).toEqual(['v1', 'v2']);
    await untilTrue('v2 is stored', async () => {
      await send('DELETE', `${NEWER}/probe`);
      await send('POST', NEWER, newer('probe'));
      return (await storedBytes('probe')).apiVersion === `${GROUP}/v2`;
    });
    webhook.asked.length = 0;
    expect((await send('GET', `${WIDGETS}/one`)).body.spec).toMatchObject({ address: 'a:1' });
    expect(webhook.asked).toEqual([]);
    const before = (await send('GET', `${NEWER}/one`)).body;
    const same = await send('PUT', `${NEWER}/one`, before);
    expect(same.body.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion);
    expect(same.body.metadata.generation).toBe(1);
    expect(await storedBytes('one')).toMatchObject({ apiVersion: `${GROUP}/v2`, spec: { port: 1 } });
    const again = await send('PUT', `${NEWER}/one`, same.body);
    expect(again.body.metadata.resourceVersion).toBe(same.body.metadata.resourceVersion);
  });

  test('an object that is applied, with the fields of whoever applied it in another version', async () => {
    const { send } = server;
    await define();
    const config = { apiVersion: `${GROUP}/v1`, kind: 'Widget', spec: { address: 'a:1' } };
    const one = await send('PATCH', `${WIDGETS}/one?fieldManager=ann`, config, APPLY);
    expect(one.status).toBe(201);
    const theirs = { apiVersion: `${GROUP}/v2`, kind: 'Widget', spec: { host: 'b' } };
    const refused = await send('PATCH', `${NEWER}/one?fieldManager=bob`, theirs, APPLY);
    expect(refused.status).toBe(409);
    expect(refused.body.message).toContain('conflict with "ann"');
    const forced = await send('PATCH', `${NEWER}/one?fieldManager=bob&force=true`, theirs, APPLY);
    expect(forced.body.spec).toMatchObject({ host: 'b', port: 1 });
    expect(
      forced.body.metadata.managedFields.map((entry: Answer['body']) => [entry.manager, entry.apiVersion]),
    ).toEqual([['bob', `${GROUP}/v2`]]);
    const own = { ...theirs, spec: { host: 'c' } };
    expect((await send('PATCH', `${NEWER}/one?fieldManager=bob`, own, APPLY)).body.spec.host).toBe('c');
    const back = { ...config, spec: { color: 'blue' } };
    const other = await send('PATCH', `${WIDGETS}/one?fieldManager=bob&force=true`, back, APPLY);
    expect(other.status).toBe(200);
    expect(other.body.spec.color).toBe('blue');
  });

  test('an object that is applied without sending the webhook one that lacks what others own', async () => {
    const { send } = server;
    await define();
    const apply = (path: string, manager: string, version: string, spec: object) => {
      const config = { apiVersion: `${GROUP}/${version}`, kind: 'Widget', spec };
      return send('PATCH', `${path}/one?fieldManager=${manager}&force=true`, config, APPLY);
    };
    await apply(NEWER, 'ann', 'v2', { host: 'a', port: 1 });
    await apply(WIDGETS, 'bob', 'v1', { color: 'blue', replicas: 2 });
    const less = await apply(WIDGETS, 'bob', 'v1', { color: 'blue' });
    expect(less.body.spec).toEqual({ address: 'a:1', color: 'blue' });
    // What was given up in one version goes from an object that is applied in the other.
    const other = await apply(NEWER, 'bob', 'v2', { replicas: 3 });
    expect(other.body.spec).toEqual({ host: 'a', port: 1, color: 'red', replicas: 3 });
    expect((await apply(NEWER, 'bob', 'v2', {})).body.spec).toEqual({ host: 'a', port: 1, color: 'red' });
    const objects = webhook.asked.flatMap((review) => review.objects);
    expect(objects.filter(({ spec }) => spec.address === undefined && spec.host === undefined)).toEqual([]);
  });
});
