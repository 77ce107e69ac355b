// What a client may rely on when it writes objects, whatever server is behind it.
// Guarantees: the fake API of the tests and the real server are held to the same sentences.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { V1Pod } from '../../../src/api/gen/types.js';
import { CONFIG_MAPS, PODS } from '../../../src/api/resources.js';
import type { Client, WatchEvent } from '../../../src/client/client.js';

interface Opened {
  readonly client: Client;
  close(): Promise<void>;
}

const at = { namespace: 'default', name: 'one' };
const map = (data: Record<string, string>, more: object = {}) => ({ metadata: { ...at, ...more }, data });
const refusal = (code: number, reason: string) => ({ code, reason });

export function objectsContract(title: string, open: () => Promise<Opened>): void {
  describe(`objects of ${title}`, () => {
    let opened: Opened;
    let client: Client;
    beforeEach(async () => {
      opened = await open();
      client = opened.client;
    });
    afterEach(() => opened.close());

    test('are made once, with an identity of their own', async () => {
      const maps = client.of(CONFIG_MAPS);
      const made = await maps.create(map({ k: '1' }));
      expect(made.metadata).toMatchObject({
        ...at,
        uid: expect.any(String),
        resourceVersion: expect.any(String),
      });
      await expect(maps.create(map({ k: '2' }))).rejects.toMatchObject(refusal(409, 'AlreadyExists'));
      expect((await maps.get(at)).data).toEqual({ k: '1' });
      const named = await maps.create({ metadata: { namespace: 'default', generateName: 'some-' } });
      expect(named.metadata.name).toMatch(/^some-.{5}$/);
    });

    test('that are not there are refused, and to delete them is done', async () => {
      const maps = client.of(CONFIG_MAPS);
      await expect(maps.get(at)).rejects.toMatchObject(refusal(404, 'NotFound'));
      await expect(maps.update(map({}))).rejects.toMatchObject(refusal(404, 'NotFound'));
      await expect(maps.patch(at, 'merge', {})).rejects.toMatchObject(refusal(404, 'NotFound'));
      await maps.delete(at);
    });

    test('change only for who saw them as they are', async () => {
      const maps = client.of(CONFIG_MAPS);
      const first = await maps.create(map({ k: '1' }));
      const second = await maps.update({ ...first, data: { k: '2' } });
      expect(second.metadata.resourceVersion).not.toBe(first.metadata.resourceVersion);
      await expect(maps.update({ ...first, data: { k: '3' } })).rejects.toMatchObject(
        refusal(409, 'Conflict'),
      );
      const stale = { preconditions: { resourceVersion: first.metadata.resourceVersion } };
      await expect(maps.delete(at, stale)).rejects.toMatchObject(refusal(409, 'Conflict'));
      expect((await maps.update(second)).metadata.resourceVersion).toBe(second.metadata.resourceVersion);
    });

    test('are patched member by member, and null removes one', async () => {
      const maps = client.of(CONFIG_MAPS);
      await maps.create(map({ a: '1', b: '2' }));
      const patched = await maps.patch(at, 'merge', { data: { a: null, c: '3' } });
      expect(patched.data).toEqual({ b: '2', c: '3' });
    });

    test('with a finalizer stay until it is gone', async () => {
      const maps = client.of(CONFIG_MAPS);
      await maps.create(map({}, { finalizers: ['example.com/hold'] }));
      await maps.delete(at);
      const held = await maps.get(at);
      expect(held.metadata.deletionTimestamp).toEqual(expect.any(String));
      await maps.update({ ...held, metadata: { ...held.metadata, finalizers: [] } });
      await expect(maps.get(at)).rejects.toMatchObject(refusal(404, 'NotFound'));
    });

    test('keep their spec when their status is written, and the other way round', async () => {
      const pods = client.of(PODS);
      const spec = { containers: [{ name: 'c', image: 'i' }] };
      const made = await pods.create({ metadata: at, spec, status: { phase: 'Running' } });
      expect(made.status?.phase).not.toBe('Running');
      const labelled = { ...made, metadata: { ...made.metadata, labels: { a: 'b' } } };
      const told = await pods.update(
        { ...labelled, status: { phase: 'Running' } },
        { subresource: 'status' },
      );
      expect([told.status?.phase, told.spec?.containers[0]?.image]).toEqual(['Running', 'i']);
      const moved: V1Pod = {
        ...told,
        metadata: { ...told.metadata, labels: { a: 'c' } },
        status: { phase: 'Failed' },
      };
      expect((await pods.update(moved)).status?.phase).toBe('Running');
    });

    test('are watched from where a list ended, in order', async () => {
      const maps = client.of(CONFIG_MAPS);
      const made = await maps.create(map({ k: '1' }));
      const { items, resourceVersion } = await maps.list({ namespace: 'default' });
      expect(items.map(({ metadata }) => metadata.name)).toContain('one');
      const ending = new AbortController();
      const seen: WatchEvent<(typeof items)[number]>[] = [];
      const watched = (async () => {
        const query = { resourceVersion, namespace: 'default', signal: ending.signal };
        for await (const event of maps.watch(query)) if (seen.push(event) === 3) return;
      })();
      await maps.update({ ...made, data: { k: '2' } });
      await maps.delete(at);
      await maps.create(map({ k: '3' }));
      await watched;
      ending.abort();
      expect(seen.map(({ type }) => type)).toEqual(['MODIFIED', 'DELETED', 'ADDED']);
    });
  });
}
