// A watch by a client in the process of the server: the objects are what the wire says, but for who wrote which field, frozen,
// and the same for all.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1ConfigMap } from '../../../src/api/gen/types.js';
import { CONFIG_MAPS, PODS } from '../../../src/api/resources.js';
import type { Client, WatchEvent, WatchQuery } from '../../../src/client/client.js';
import type { Transport } from '../../../src/client/transport.js';
import { openClient } from '../../../src/client/typedClient.js';
import { startCustomServer } from '../../support/customResources.js';

const ROOT = { name: 'root', groups: ['system:masters'] };
type Server = Awaited<ReturnType<typeof startCustomServer>>;
let server: Server;
let objects: Client;
let lines: Client;
/** How many events came as objects. */
let told = 0;

beforeAll(async () => {
  server = await startCustomServer();
  const inner = server.api.server.inProcess(ROOT);
  const counted: Transport = {
    ...inner,
    request: async (request) => {
      const response = await inner.request(request);
      const { events } = response;
      return events === undefined ? response : { ...response, events: counting(events) };
    },
  };
  objects = openClient(counted);
  lines = openClient({
    ...inner,
    request: (request) => inner.request({ ...request, takesObjects: false }),
  });
});
afterAll(() => server.close());

async function* counting<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
  for await (const event of events) {
    told += 1;
    yield event;
  }
}

type Events = readonly WatchEvent<V1ConfigMap>[];

/** What a watch tells until that many events have come. */
async function watched(client: Client, count: number, query: WatchQuery): Promise<Events> {
  const ending = new AbortController();
  const found: WatchEvent<V1ConfigMap>[] = [];
  const { signal } = ending;
  for await (const event of client.of(CONFIG_MAPS).watch({ ignoresManagers: true, ...query, signal })) {
    if (found.push(event) === count) ending.abort();
  }
  return found;
}

const named = (name: string) => ({ name, namespace: 'default' });

/** Makes a ConfigMap, takes it out of the selection `a=b`, and deletes it. Answers where that began. */
async function change(name: string): Promise<string> {
  const { resourceVersion } = await lines.of(CONFIG_MAPS).list();
  const maps = lines.of(CONFIG_MAPS);
  await maps.create({ metadata: { ...named(name), labels: { a: 'b' } }, data: { text: 'ä "quoted"\n' } });
  await maps.patch(named(name), 'merge', { metadata: { labels: { a: null } } });
  await maps.delete(named(name));
  return resourceVersion;
}

/** As it is told to those who do not ask who wrote which field. */
function unmanaged(event: WatchEvent<V1ConfigMap>): unknown {
  if (!('object' in event)) return event;
  expect(event.object.metadata.managedFields).toHaveLength(1);
  const { managedFields: _, ...metadata } = event.object.metadata;
  return { ...event, object: { ...event.object, metadata } };
}

const isFrozen = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every((member) => isFrozen(member)));

test.each([
  ['of everything', 'all', {}, 3],
  ['with a selector that one of them leaves', 'leaving', { labelSelector: 'a=b' }, 2],
  ['of the metadata alone', 'metadata', { metadataOnly: true }, 3],
])('events %s are what the bytes say', async (_, name, query, count) => {
  const resourceVersion = await change(name);
  const before = told;
  const asObjects = await watched(objects, count, { ...query, resourceVersion });
  expect(told - before).toBe(count);
  const asLines = await watched(lines, count, { ...query, resourceVersion });
  expect(JSON.parse(JSON.stringify(asObjects))).toEqual(asLines.map(unmanaged));
  expect(asObjects.map(({ type }) => type)).toEqual(asLines.map(({ type }) => type));
  for (const event of asObjects) expect('object' in event && isFrozen(event.object)).toBe(true);
});

test('who does not say that managed fields are of no use gets them', async () => {
  const resourceVersion = await change('managed');
  const before = told;
  const [event] = await watched(objects, 1, { resourceVersion, ignoresManagers: false });
  expect(told).toBe(before);
  expect(event).toHaveProperty('object.metadata.managedFields.0.manager');
});

test('two clients get the same object', async () => {
  const resourceVersion = await change('both');
  const [one, other] = await Promise.all([
    watched(objects, 1, { resourceVersion }),
    watched(objects, 1, { resourceVersion }),
  ]);
  const objectOf = ([event]: Events) => event !== undefined && 'object' in event && event.object;
  expect(objectOf(one)).toBeTruthy();
  expect(objectOf(one)).toBe(objectOf(other));
});

test('a watch from a time that is forgotten is refused in the same words', async () => {
  const refusal = async (client: Client) => {
    for await (const _ of client.of(PODS).watch({ resourceVersion: '99999999', timeoutSeconds: 1 }));
  };
  const [one, other] = await Promise.all(
    [objects, lines].map((client) => refusal(client).catch((error: Error) => error.message)),
  );
  expect(one).toBeTruthy();
  expect(one).toBe(other);
});

test('a watch that ends says so', async () => {
  const before = told;
  const { resourceVersion } = await objects.of(PODS).list();
  const events = [];
  for await (const event of objects.of(PODS).watch({
    resourceVersion,
    timeoutSeconds: 1,
    ignoresManagers: true,
  }))
    events.push(event);
  expect(events.map(({ type }) => type)).toEqual(['BOOKMARK']);
  expect(told - before).toBe(1);
});
