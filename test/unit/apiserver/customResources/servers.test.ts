import { expect, test } from 'vitest';
import {
  DEFINITIONS,
  definition,
  GROUP,
  startCustomServer,
  untilTrue,
  WIDGETS,
  widget,
} from '../../../support/customResources.js';
import { MemoryStore } from '../../../support/memoryStore.js';

const MERGE = { 'content-type': 'application/merge-patch+json' };

test('servers on one store learn of definitions from each other, and a later one finds all that is there', async () => {
  const store = new MemoryStore();
  const one = await startCustomServer({ store });
  const two = await startCustomServer({ store });
  await one.define();
  await untilTrue('the other serves it', async () => (await two.send('GET', WIDGETS)).status === 200);
  expect((await two.send('POST', WIDGETS, widget('x', { spec: { size: 1 } }))).status).toBe(201);
  expect((await one.send('GET', `${WIDGETS}/x`)).body.spec).toEqual({ size: 1 });
  const three = await startCustomServer({ store });
  expect((await three.send('GET', `${WIDGETS}/x`)).body.spec).toEqual({ size: 1 });
  await one.send('DELETE', `${DEFINITIONS}/widgets.${GROUP}`);
  await untilTrue('it is gone there too', async () => (await three.send('GET', WIDGETS)).status === 404);
  for (const { api } of [one, two, three]) {
    api.transport.close();
    await api.server.close();
  }
  await store.close();
});

test('a deletion that a server did not finish is finished by the next', async () => {
  const store = new MemoryStore();
  const first = await startCustomServer({ store });
  await first.define();
  await first.send(
    'POST',
    WIDGETS,
    widget('held', { metadata: { name: 'held', finalizers: ['example.com/x'] } }),
  );
  await first.send('DELETE', `${DEFINITIONS}/widgets.${GROUP}`);
  first.api.transport.close();
  await first.api.server.close();
  const second = await startCustomServer({ store });
  expect((await second.send('GET', `${WIDGETS}/held`)).status).toBe(200);
  await second.send('PATCH', `${WIDGETS}/held`, { metadata: { finalizers: null } }, MERGE);
  await untilTrue(
    'the definition is gone',
    async () => (await second.send('GET', `${DEFINITIONS}/widgets.${GROUP}`)).status === 404,
  );
  await second.close();
});

test('many definitions come at once, and a definition changes while clients write', async () => {
  const server = await startCustomServer();
  const { send, define } = server;
  await define();
  const names = Array.from({ length: 150 }, (_, i) => `things${i}`);
  const many = names.map((plural, i) =>
    send('POST', DEFINITIONS, definition({ plural, kind: `Thing${i}`, group: `g${i % 10}.${GROUP}` })),
  );
  const changes = (async () => {
    for (let i = 0; i < 10; i += 1)
      await send(
        'PATCH',
        `${DEFINITIONS}/widgets.${GROUP}`,
        { spec: { names: { plural: 'widgets', kind: 'Widget', categories: [`c${i}`] } } },
        MERGE,
      );
  })();
  const written = Array.from({ length: 200 }, (_, i) =>
    send('POST', WIDGETS, widget(`w${i}`, { spec: { size: i } })),
  );
  const statuses = new Set((await Promise.all([...many, ...written])).map(({ status }) => status));
  await changes;
  expect([...statuses]).toEqual([201]);
  expect((await send('GET', WIDGETS)).body.items).toHaveLength(200);
  await untilTrue('all are served', async () => {
    const { body } = await send('GET', '/apis', undefined, {
      accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    });
    const found = body.items.flatMap((group: { versions: { resources: { resource: string }[] }[] }) =>
      group.versions.flatMap(({ resources }) => resources.map(({ resource }) => resource)),
    );
    return names.every((name) => found.includes(name));
  });
  await server.close();
}, 120_000);

test('a definition in the store that cannot be served does not keep the server from starting', async () => {
  const store = new MemoryStore();
  const made = definition({
    version: { additionalPrinterColumns: [{ name: 'x', type: 'string', jsonPath: '.spec[' }] },
  });
  const stored = {
    ...made,
    status: { storedVersions: ['v1'], conditions: [{ type: 'Established', status: 'True' }] },
  };
  const key = `/registry/customresourcedefinitions.apiextensions.k8s.io/widgets.${GROUP}`;
  await store.create(key, Buffer.from(JSON.stringify(stored)));
  const server = await startCustomServer({ store });
  expect((await server.send('GET', '/api/v1/namespaces/default')).status).toBe(200);
  expect((await server.send('GET', WIDGETS)).status).toBe(404);
  await server.close();
});
