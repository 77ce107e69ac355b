// What the typed client and its informers promise, whatever transport is beneath them.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { V1ConfigMap } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { CONFIG_MAPS } from '../../../src/api/resources.js';
import { ApiError } from '../../../src/api/status.js';
import type { Client, WatchEvent } from '../../../src/client/client.js';
import { ClientError } from '../../../src/client/error.js';
import type { Informer, Informers } from '../../../src/client/informer.js';
import { openInformers } from '../../../src/client/sharedInformers.js';
import { openClient } from '../../../src/client/typedClient.js';
import { type Door, json, ScriptedServer, status, text } from '../scriptedServer.js';
import { until } from '../until.js';

const named = (name: string, data: Record<string, string> = {}): V1ConfigMap => ({
  metadata: { name, namespace: 'default' },
  data,
});
const soon = () => new Promise<void>((resolve) => setImmediate(resolve));
const at = (name: string) => ({ namespace: 'default', name });

export function clientContract(title: string, open: (api: ScriptedServer) => Promise<Door>): void {
  describe(`the client over ${title}`, () => {
    let api: ScriptedServer;
    let door: Door;
    let client: Client;
    const pauses: number[] = [];

    beforeEach(async () => {
      pauses.length = 0;
      api = new ScriptedServer();
      door = await open(api);
      client = openClient(door.transport, { pause: async (ms) => void pauses.push(ms) });
    });
    afterEach(async () => {
      client.close();
      await door.close();
    });

    test('creates, reads, updates, patches and deletes', async () => {
      const maps = client.of(CONFIG_MAPS);
      expect((await maps.create(named('a', { k: '1' }))).metadata.uid).toMatch(/^uid-/);
      expect(JSON.parse(String(api.requests[0]?.body))).toMatchObject({
        apiVersion: 'v1',
        kind: 'ConfigMap',
      });
      expect((await maps.get(at('a'))).data).toEqual({ k: '1' });
      expect((await maps.update(named('a', { k: '2' }))).data).toEqual({ k: '2' });
      expect((await maps.patch(at('a'), 'merge', { data: { k: '3' } })).data).toEqual({ k: '3' });
      await maps.delete(at('a'));
      await maps.delete(at('a'));
      await expect(maps.get(at('a'))).rejects.toMatchObject({ code: 404, reason: 'NotFound' });
    });

    test('asks for metadata alone where that is all that is wanted', async () => {
      const maps = client.of(CONFIG_MAPS);
      await maps.create(named('a', { k: '1' }));
      const accepted = () => api.requests.at(-1)?.headers?.['accept'];
      await maps.get(at('a'));
      expect(accepted()).toBe('application/json');
      const partial = (kind: string) => `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`;
      await maps.get(at('a'), { metadataOnly: true });
      expect(accepted()).toBe(partial('PartialObjectMetadata'));
      const { resourceVersion } = await maps.list({ metadataOnly: true });
      expect(accepted()).toBe(partial('PartialObjectMetadataList'));
      const ending = new AbortController();
      const watch = maps.watch({ metadataOnly: true, resourceVersion, signal: ending.signal });
      const first = watch[Symbol.asyncIterator]().next();
      await maps.update(named('a', { k: '2' }));
      await first;
      ending.abort();
      expect(api.requests.map(({ headers }) => headers?.['accept'])).toContain(
        partial('PartialObjectMetadata'),
      );
    });

    test('a refusal carries the Status of the server', async () => {
      const maps = client.of(CONFIG_MAPS);
      await maps.create(named('a'));
      const error = await maps.create(named('a')).catch((caught: unknown) => caught);
      expect(ApiError.is(error, 'AlreadyExists')).toBe(true);
      expect((error as ApiError).message).toBe('configmaps "a" already exists');
    });

    test('a refusal that is no Status still has its code and words', async () => {
      api.faults.push(() => text(502, '<html>bad gateway</html>'));
      await expect(client.raw('GET', '/version')).rejects.toMatchObject({
        code: 502,
        message: '<html>bad gateway</html>',
      });
    });

    test('an answer that is not JSON is refused', async () => {
      api.faults.push(() => text(200, '{"kind":'));
      await expect(client.of(CONFIG_MAPS).get(at('a'))).rejects.toMatchObject({ code: 'BAD_ANSWER' });
      api.faults.push(() => json(200, { items: 'many' }));
      await expect(client.of(CONFIG_MAPS).list()).rejects.toMatchObject({ code: 'BAD_ANSWER' });
      api.faults.push(() => json(200, null));
      await expect(client.of(CONFIG_MAPS).list()).rejects.toMatchObject({ code: 'BAD_ANSWER' });
    });

    test('objects without a name or namespace have no path', async () => {
      const maps = client.of(CONFIG_MAPS);
      await expect(maps.create({ metadata: { name: 'a' } })).rejects.toMatchObject({ code: 'BAD_REQUEST' });
      await expect(maps.update({ metadata: { namespace: 'a' } })).rejects.toMatchObject({
        code: 'BAD_REQUEST',
      });
      await expect(client.raw('BREW', '/')).rejects.toMatchObject({ code: 'BAD_REQUEST' });
    });

    test('lists page by page and returns everything', async () => {
      for (let i = 0; i < 7; i++) api.put(`m${i}`);
      const { items, resourceVersion } = await client.of(CONFIG_MAPS).list({ limit: 3 });
      expect(items.map(({ metadata }) => metadata.name)).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6']);
      expect(resourceVersion).toBe('17');
      expect(api.requests).toHaveLength(3);
    });

    test('a page that has expired starts the list again, all at once', async () => {
      for (let i = 0; i < 7; i++) api.put(`m${i}`);
      api.faults.push(
        () => undefined,
        () => status(410, 'Expired', 'the provided continue parameter is too old'),
      );
      expect((await client.of(CONFIG_MAPS).list({ limit: 3 })).items).toHaveLength(7);
      expect(api.requests.at(-1)?.path).toBe('/api/v1/configmaps');
    });

    test('waits as long as Retry-After says and sends again', async () => {
      api.faults.push(() => status(429, 'TooManyRequests', 'slow down', { 'retry-after': '2' }));
      api.faults.push(() => text(503, 'starting', { 'retry-after': '1' }));
      await client.of(CONFIG_MAPS).create(named('a'));
      expect(pauses).toEqual([2000, 1000]);
      api.faults.push(() => text(503, 'no hint'));
      await expect(client.of(CONFIG_MAPS).get(at('a'))).rejects.toMatchObject({ code: 503 });
    });

    test('watch events come whole whatever the chunks, with multi-byte text', async () => {
      api.chunkSize = 1;
      const seen: WatchEvent<V1ConfigMap>[] = [];
      api.put('a', { k: 'grüße 🌱' });
      api.put('b');
      api.remove('a');
      const stop = new AbortController();
      const watch = client.of(CONFIG_MAPS).watch({ resourceVersion: '10', signal: stop.signal });
      for await (const event of watch) if (seen.push(event) === 3) break;
      expect(seen.map(({ type }) => type)).toEqual(['ADDED', 'ADDED', 'DELETED']);
      expect(seen[0]).toMatchObject({ object: { data: { k: 'grüße 🌱' } } });
      await until(() => expect(api.watchers.size).toBe(0));
    });

    test('several events in one chunk are several events', async () => {
      const watch = client.of(CONFIG_MAPS).watch({ resourceVersion: '10' })[Symbol.asyncIterator]();
      const first = watch.next();
      await until(() => expect(api.watchers.size).toBe(1));
      const bookmark = '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}\n';
      api.sendRaw(`${bookmark}\n${bookmark}`);
      expect((await first).value).toEqual({ type: 'BOOKMARK', resourceVersion: '9' });
      expect((await watch.next()).done).toBe(false);
      api.cutWatches();
      expect((await watch.next()).done).toBe(true);
    });

    test.each([
      ['a line that is not JSON', '{"type":\n', 'BAD_ANSWER'],
      ['a line that is null', 'null\n', 'BAD_ANSWER'],
      [
        'an unknown type',
        '{"type":"SURPRISE","object":{"metadata":{"resourceVersion":"9"}}}\n',
        'BAD_ANSWER',
      ],
      ['an object without a version', '{"type":"ADDED","object":{"metadata":{}}}\n', 'BAD_ANSWER'],
      ['an ERROR event', '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n', 410],
    ])('%s ends the watch with an error', async (_what, line, code) => {
      const first = client.of(CONFIG_MAPS).watch({ resourceVersion: '10' })[Symbol.asyncIterator]().next();
      await until(() => expect(api.watchers.size).toBe(1));
      api.sendRaw(line);
      await expect(first).rejects.toMatchObject({ code });
    });

    test('a watch from too long ago is refused with 410', async () => {
      api.put('a');
      api.compact();
      const first = client.of(CONFIG_MAPS).watch({ resourceVersion: '3' })[Symbol.asyncIterator]().next();
      await expect(first).rejects.toMatchObject({ code: 410, reason: 'Expired' });
    });

    test('an aborted signal ends a watch normally, before it starts and while it runs', async () => {
      const stop = new AbortController();
      const query = { resourceVersion: '10', signal: stop.signal };
      const first = client.of(CONFIG_MAPS).watch(query)[Symbol.asyncIterator]().next();
      await until(() => expect(api.watchers.size).toBe(1));
      stop.abort();
      expect((await first).done).toBe(true);
      expect((await client.of(CONFIG_MAPS).watch(query)[Symbol.asyncIterator]().next()).done).toBe(true);
    });

    test('a closed client refuses and ends its watches', async () => {
      const first = client.of(CONFIG_MAPS).watch({ resourceVersion: '10' })[Symbol.asyncIterator]().next();
      await until(() => expect(api.watchers.size).toBe(1));
      client.close();
      expect((await first).done).toBe(true);
      const refused = await client
        .of(CONFIG_MAPS)
        .get(at('a'))
        .catch((error: unknown) => error);
      expect(ClientError.is(refused, 'CLOSED')).toBe(true);
    });
  });

  describe(`informers over ${title}`, () => {
    let api: ScriptedServer;
    let door: Door;
    let client: Client;
    let informers: Informers;
    let maps: Informer<V1ConfigMap>;
    const calls: string[] = [];
    const note = {
      added: ({ metadata }: Stored<V1ConfigMap>) => void calls.push(`+${metadata.name}`),
      updated: ({ metadata, data }: Stored<V1ConfigMap>) =>
        void calls.push(`~${metadata.name}${data?.['k'] ?? ''}`),
      deleted: ({ metadata }: Stored<V1ConfigMap>) => void calls.push(`-${metadata.name}`),
    };
    const expectCalls = (wanted: string[]) => until(() => expect(calls).toEqual(wanted));

    beforeEach(async () => {
      calls.length = 0;
      api = new ScriptedServer();
      door = await open(api);
      client = openClient(door.transport, { pause: soon });
      informers = openInformers(client, { pause: soon });
      api.put('a', { k: '1' });
      maps = informers.of(CONFIG_MAPS);
    });
    afterEach(async () => {
      informers.stop();
      client.close();
      await door.close();
    });

    test('have what is there once synced, and then every change in order', async () => {
      maps.on(note);
      await informers.synced();
      expect(calls).toEqual(['+a']);
      api.put('b');
      api.put('a', { k: '2' });
      api.remove('b');
      await expectCalls(['+a', '+b', '~a2', '-b']);
      expect(maps.list()).toHaveLength(1);
      expect(maps.get('default/a')?.data).toEqual({ k: '2' });
    });

    test('are shared by resource and selector', () => {
      expect(informers.of(CONFIG_MAPS)).toBe(maps);
      expect(informers.of(CONFIG_MAPS, { labelSelector: 'a=b' })).not.toBe(maps);
    });

    test('hold what is kept of each object, from a list and from a watch, beside those that hold all', async () => {
      const keep = ({ metadata, data }: Stored<V1ConfigMap>) => ({
        metadata,
        data: { size: String(data?.['k']) },
      });
      const kept = informers.of(CONFIG_MAPS, { keep });
      expect(kept).not.toBe(maps);
      expect(informers.of(CONFIG_MAPS, { keep })).toBe(kept);
      await informers.synced();
      expect(kept.get('default/a')?.data).toEqual({ size: '1' });
      expect(maps.get('default/a')?.data).toEqual({ k: '1' });
      api.put('a', { k: '2' });
      await until(() => expect(kept.get('default/a')?.data).toEqual({ size: '2' }));
    });

    test('give frozen objects, from a list and from a watch', async () => {
      await maps.synced();
      api.put('b', { k: '1' });
      await until(() => expect(maps.get('default/b')).toBeDefined());
      for (const object of maps.list()) {
        expect(
          Object.isFrozen(object) && Object.isFrozen(object.metadata) && Object.isFrozen(object.data),
        ).toBe(true);
      }
    });

    test('resume where a cut watch broke off: nothing lost, nothing doubled', async () => {
      maps.on(note);
      await maps.synced();
      const wanted = ['+a'];
      for (let i = 0; i < 20; i++) {
        api.put(`n${i}`);
        if (i % 3 === 0) api.cutWatches();
        api.put('a', { k: `v${i}` });
        wanted.push(`+n${i}`, `~av${i}`);
        if (i % 4 === 0) await soon();
      }
      await expectCalls(wanted);
      const lists = api.requests.filter(({ path }) => !path.includes('watch='));
      expect(lists).toHaveLength(1);
    });

    test('after 410 list again and tell of the deletes that were missed', async () => {
      api.put('b');
      await until(() => expect(maps.get('default/b')).toBeDefined());
      maps.on(note);
      calls.length = 0;
      await until(() => expect(api.watchers.size).toBe(1));
      // Whatever the watchers are not told is what happens while nobody watches.
      api.cutWatches();
      api.remove('b');
      api.put('c');
      api.put('a', { k: '9' });
      api.compact();
      await expectCalls(['-b', '~a9', '+c']);
    });

    test('an object that was replaced under its name was deleted and added', async () => {
      await maps.synced();
      maps.on(note);
      await until(() => expect(api.watchers.size).toBe(1));
      api.cutWatches();
      api.remove('a');
      api.put('a');
      api.compact();
      await expectCalls(['+a', '-a', '+a']);
    });

    test('survive lines that make no sense and errors of the server', async () => {
      maps.on(note);
      await maps.synced();
      await until(() => expect(api.watchers.size).toBe(1));
      api.faults.push(
        () => text(500, 'oops'),
        () => text(200, '\u0000\u0001\n'),
        () => text(200, '[]\n'),
      );
      api.sendRaw('}{ nonsense\n');
      api.put('b');
      await expectCalls(['+a', '+b']);
    });

    test('an exception in one handler is not seen by the others', async () => {
      maps.on({
        added: () => {
          throw new Error('broken handler');
        },
      });
      maps.on(note);
      await maps.synced();
      api.put('b');
      await expectCalls(['+a', '+b']);
    });

    test('a handler that joins late is told of everything once; one that left of nothing', async () => {
      await maps.synced();
      const leave = maps.on(note);
      maps.on({ added: ({ metadata }) => metadata.name === 'b' && maps.on(note) });
      leave();
      api.put('b');
      api.put('c');
      await expectCalls(['+a', '+a', '+b', '+c']);
    });

    test('find objects by index, also when the value changes or the function fails', async () => {
      await maps.synced();
      maps.index('k', ({ data }) => (data?.['k'] === undefined ? [] : [data['k']]));
      maps.index('broken', () => {
        throw new Error('broken index');
      });
      expect(maps.byIndex('k', '1').map(({ metadata }) => metadata.name)).toEqual(['a']);
      api.put('b', { k: '1' });
      await until(() => expect(maps.byIndex('k', '1')).toHaveLength(2));
      api.put('a', { k: '2' });
      await until(() => expect(maps.byIndex('k', '2')).toHaveLength(1));
      api.remove('b');
      await until(() => expect(maps.byIndex('k', '1')).toHaveLength(0));
    });
  });
}
