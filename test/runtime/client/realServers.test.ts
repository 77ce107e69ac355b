// The client's workings on real apiservers: ours over HTTPS and by a call in the process, and any other by its kubeconfig.
// One's own: TRELLIS_TEST_KUBECONFIG=FILE npx vitest run --configLoader runner --project runtime test/runtime/client
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { V1ConfigMap } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { CONFIG_MAPS, EVENTS, NAMESPACES } from '../../../src/api/resources.js';
import { ApiError } from '../../../src/api/status.js';
import type { Client, WatchEvent } from '../../../src/client/client.js';
import { makeEventRecorder } from '../../../src/client/eventRecorder.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { transportOf } from '../../../src/client/kubeconfig.js';
import { runLeaderElection } from '../../../src/client/leaderElection.js';
import { openInformers } from '../../../src/client/sharedInformers.js';
import type { Transport, TransportRequest, TransportResponse } from '../../../src/client/transport.js';
import { openClient } from '../../../src/client/typedClient.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { until } from '../../support/until.js';

const own = process.env['TRELLIS_TEST_KUBECONFIG'];
let api: SecuredApiServer;
beforeAll(async () => {
  api = await startSecuredApiServer();
});
afterAll(() => api.close());

const doors: [string, () => Promise<Transport>][] = [
  ['HTTPS', async () => openHttps({ server: api.url, ca: api.pki.ca, ...(await admin()) })],
  ['a call in the process', async () => api.server.inProcess({ name: 'root', groups: ['system:masters'] })],
  ...(own === undefined ? [] : ([[own, () => transportOf(own)]] as [string, () => Promise<Transport>][])),
];
const admin = () => api.pki.client('root', 'system:masters');

/** The transport, with some requests answered by the test instead. */
function disturbed(
  transport: Transport,
  answer: (request: TransportRequest) => TransportResponse | undefined,
): Transport {
  return {
    request: async (request) => answer(request) ?? transport.request(request),
    close: () => transport.close(),
  };
}
const saying = (status: number, body: object, headers = {}): TransportResponse => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: (async function* () {
    yield Buffer.from(JSON.stringify(body));
  })(),
});

describe.each(doors)('over %s', (_, open) => {
  const namespace = `client-${randomUUID().slice(0, 8)}`;
  const closing: (() => void)[] = [];
  let client: Client;
  const another = async (through: (transport: Transport) => Transport = (same) => same): Promise<Client> => {
    const made = openClient(through(await open()));
    closing.push(() => made.close());
    return made;
  };
  const map = (name: string, data: Record<string, string> = {}, labels = {}): V1ConfigMap => ({
    metadata: { name, namespace, labels },
    data,
  });
  const at = (name: string) => ({ name, namespace });
  beforeAll(async () => {
    client = await another();
    await client.of(NAMESPACES).create({ metadata: { name: namespace } });
  });
  afterAll(async () => {
    for (const { metadata } of (await client.of(CONFIG_MAPS).list({ namespace })).items)
      await client.of(CONFIG_MAPS).delete(at(metadata.name));
    await client.of(NAMESPACES).delete({ name: namespace });
    for (const close of closing) close();
  });

  test('objects are made, read, changed in every way, refused when stale, and deleted', async () => {
    const maps = client.of(CONFIG_MAPS);
    const made = await maps.create(map('a', { k: '1' }));
    expect((await maps.get(at('a'))).metadata.uid).toBe(made.metadata.uid);
    const updated = await maps.update({ ...made, data: { k: '2' } });
    const stale = await maps.update({ ...made, data: { k: '3' } }).catch((error: unknown) => error);
    expect(ApiError.is(stale, 'Conflict')).toBe(true);
    expect(updated.data).toEqual({ k: '2' });
    await maps.patch(at('a'), 'merge', { data: { merge: 'm' } });
    await maps.patch(at('a'), 'strategic', { data: { strategic: 's' } });
    await maps.patch(at('a'), 'json', [{ op: 'add', path: '/data/json', value: 'j' }]);
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: at('a'), data: { apply: 'y' } };
    const last = await maps.patch(at('a'), 'apply', applied, { fieldManager: 'test' });
    expect(last.data).toEqual({ k: '2', merge: 'm', strategic: 's', json: 'j', apply: 'y' });
    await maps.delete(at('a'));
    await maps.delete(at('a'));
    await expect(maps.get(at('a'))).rejects.toMatchObject({ code: 404, reason: 'NotFound' });
  });

  test('a list comes in pages and whole', async () => {
    const names = Array.from({ length: 25 }, (_one, number) => `page-${String(number).padStart(2, '0')}`);
    for (const name of names) await client.of(CONFIG_MAPS).create(map(name, {}, { paged: 'yes' }));
    const pages: string[] = [];
    const watched = await another((transport) => disturbed(transport, ({ path }) => void pages.push(path)));
    const { items } = await watched
      .of(CONFIG_MAPS)
      .list({ namespace, labelSelector: 'paged=yes', limit: 10 });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(pages).toHaveLength(3);
  });

  test('a busy server is asked again after the time it names', async () => {
    let refusals = 2;
    const patient = await another((transport) =>
      disturbed(transport, ({ method }) =>
        method === 'POST' && refusals-- > 0
          ? saying(429, { kind: 'Status', code: 429, reason: 'TooManyRequests' }, { 'retry-after': '0' })
          : undefined,
      ),
    );
    const made = await patient.of(CONFIG_MAPS).create(map('patient'));
    expect([made.metadata.name, refusals]).toEqual(['patient', -1]);
  });

  test('a watch tells every change after the list, in order, and ends with its signal', async () => {
    const maps = client.of(CONFIG_MAPS);
    const { resourceVersion } = await maps.list({ namespace });
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      const query = { namespace, resourceVersion, labelSelector: 'seen=yes', signal: stop.signal };
      for await (const event of maps.watch(query) as AsyncIterable<WatchEvent<V1ConfigMap>>)
        if (event.type !== 'BOOKMARK') seen.push(`${event.type} ${event.object.metadata.name}`);
    })();
    await maps.create(map('w', {}, { seen: 'yes' }));
    await maps.patch(at('w'), 'merge', { data: { k: 'v' } });
    // To a watch with a selector, what leaves the selection is deleted.
    await maps.patch(at('w'), 'merge', { metadata: { labels: { seen: 'no' } } });
    await until(() => expect(seen).toEqual(['ADDED w', 'MODIFIED w', 'DELETED w']));
    stop.abort();
    await watching;
  });

  test('an informer keeps its copy and its indexes, also when it has to list again', async () => {
    let gone = false;
    let lists = 0;
    const shaken = await another((transport) =>
      disturbed(transport, ({ method, path }) => {
        if (method !== 'GET' || !path.includes('/configmaps')) return undefined;
        if (!path.includes('watch=')) lists += 1;
        else if (!gone) {
          gone = true;
          return saying(410, { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' });
        }
        return undefined;
      }),
    );
    const informers = openInformers(shaken);
    closing.push(() => informers.stop());
    const informer = informers.of(CONFIG_MAPS, { namespace });
    informer.index('color', ({ metadata }) => [metadata.labels?.['color'] ?? '']);
    const told: string[] = [];
    informer.on({
      added: ({ metadata }) => told.push(`+${metadata.name}`),
      updated: ({ metadata }) => told.push(`~${metadata.name}`),
      deleted: ({ metadata }) => told.push(`-${metadata.name}`),
    });
    await informers.synced();
    await until(() => expect([gone, lists]).toEqual([true, 2]));
    const maps = client.of(CONFIG_MAPS);
    await maps.create(map('i', {}, { color: 'red' }));
    await maps.patch(at('i'), 'merge', { metadata: { labels: { color: 'blue' } } });
    const names = (color: string) => informer.byIndex('color', color).map(({ metadata }) => metadata.name);
    await until(() => expect([names('red'), names('blue')]).toEqual([[], ['i']]));
    const held = informer.get(`${namespace}/i`) as Stored<V1ConfigMap>;
    expect([Object.isFrozen(held), Object.isFrozen(held.metadata.labels)]).toEqual([true, true]);
    await maps.delete(at('i'));
    await until(() => expect(told.filter((one) => one.endsWith('i'))).toEqual(['+i', '~i', '-i']));
    expect(informer.get(`${namespace}/i`)).toBeUndefined();
  });

  test('the same event again is counted, not written again', async () => {
    const about = await client.of(CONFIG_MAPS).create(map('subject'));
    const recorder = makeEventRecorder(client, { component: 'tester' });
    const subject = { ...about, apiVersion: 'v1', kind: 'ConfigMap' };
    for (let time = 0; time < 3; time += 1) recorder.event(subject, 'Warning', 'Tested', 'again');
    recorder.event(subject, 'Normal', 'Tested', 'once');
    await recorder.flush();
    const { items } = await client.of(EVENTS).list({ namespace });
    const counts = items
      .filter(({ involvedObject }) => involvedObject.uid === about.metadata.uid)
      .map(({ type, message, count }) => `${type} ${message} ${count}`);
    expect(counts.sort()).toEqual(['Normal once 1', 'Warning again 3']);
  });

  test('one of two leads, and the other when it ends', async () => {
    const led: string[] = [];
    const candidate = async (identity: string) => {
      const ending = new AbortController();
      const running = runLeaderElection({
        client: await another(),
        lease: at('election'),
        identity,
        signal: ending.signal,
        leaseDurationMs: 30_000,
        renewDeadlineMs: 20_000,
        retryPeriodMs: 50,
        lead: async ({ signal: term }) => {
          led.push(identity);
          await new Promise<void>((resolve) => term.addEventListener('abort', () => resolve()));
          led.push(`${identity} ends`);
        },
      });
      return async () => {
        ending.abort();
        await running;
      };
    };
    const endFirst = await candidate('first');
    await until(() => expect(led).toEqual(['first']));
    const endSecond = await candidate('second');
    await endFirst();
    await until(() => expect(led).toEqual(['first', 'first ends', 'second']));
    await endSecond();
  });
});
