// Watches over HTTPS: selections, resuming, bookmarks, and what is too old.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { linesOf } from '../../../src/client/answer.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';
import { webSocketMessages } from '../../support/webSocketClient.js';

interface Seen {
  readonly type: string;
  readonly object: {
    readonly code?: number;
    readonly message?: string;
    readonly metadata: {
      readonly name?: string;
      readonly resourceVersion: string;
      readonly annotations?: object;
    };
  };
}

describe('a watch', () => {
  let api: TestApiServer;
  let serial = 0;
  let path = '';

  beforeAll(async () => {
    api = await startTestApiServer();
  });
  afterAll(() => api?.close());
  beforeEach(() => {
    serial += 1;
    path = `/api/v1/namespaces/w${serial}/configmaps`;
  });

  async function send(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', to: string, body?: object) {
    const response = await api.transport.request({
      method,
      path: to,
      headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    let text = '';
    for await (const chunk of response.body) text += Buffer.from(chunk).toString();
    return JSON.parse(text);
  }
  const create = (name: string, labels = {}) => send('POST', path, { metadata: { name, labels } });
  const label = (name: string, labels: object) => send('PATCH', `${path}/${name}`, { metadata: { labels } });

  async function watch(query: string, enough: (events: readonly Seen[]) => boolean): Promise<Seen[]> {
    const stop = new AbortController();
    const response = await api.transport.request({
      method: 'GET',
      path: `${path}?watch=true&${query}`,
      signal: stop.signal,
    });
    const events: Seen[] = [];
    for await (const line of linesOf(response.body)) {
      events.push(JSON.parse(Buffer.from(line).toString()));
      if (enough(events)) break;
    }
    stop.abort();
    return events;
  }
  const kinds = (events: readonly Seen[]) =>
    events.map(({ type, object }) => `${type} ${object.metadata.name}`);

  test('starts with what is there, and ends at its time', async () => {
    await create('a');
    expect(kinds(await watch('timeoutSeconds=1', () => false))).toEqual(['ADDED a']);
  });

  test('goes on from a revision without losing or repeating anything', async () => {
    const first = await create('a');
    await create('b');
    await label('a', { x: '1' });
    await send('DELETE', `${path}/b`);
    const events = await watch(
      `resourceVersion=${first.metadata.resourceVersion}`,
      (seen) => seen.length === 3,
    );
    expect(kinds(events)).toEqual(['ADDED b', 'MODIFIED a', 'DELETED b']);
    const revisions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(revisions).toEqual([...revisions].sort((x, y) => x - y));
  });

  test('tells what enters and leaves a selection as added and deleted', async () => {
    const { metadata } = await create('a');
    await label('a', { x: '1' });
    await label('a', { x: '1', y: '2' });
    await label('a', { x: '2' });
    const query = `labelSelector=x%3D1&resourceVersion=${metadata.resourceVersion}`;
    const events = await watch(query, (seen) => seen.length === 3);
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
  });

  test('marks the end of the initial events', async () => {
    await create('a');
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const events = await watch(query, (seen) => seen.some(({ type }) => type === 'BOOKMARK'));
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK']);
    expect(events[1]?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
  });

  test('of more than may wait for a slow reader begins with all of it, and then tells what changed meanwhile', async () => {
    const names = Array.from({ length: 22 }, (_, i) => `m${String(i).padStart(2, '0')}`);
    const data = (name: string) => ({ text: name.repeat(300_000) });
    for (const name of names) await send('POST', path, { metadata: { name }, data: data(name) });
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    let later: Promise<unknown> | undefined;
    const events = await watch(query, (seen) => {
      later ??= create('z');
      return seen.length === names.length + 2;
    });
    await later;
    expect(kinds(events)).toEqual([...names.map((name) => `ADDED ${name}`), 'BOOKMARK undefined', 'ADDED z']);
    // The same as a list: larger than one write, and every byte in its place.
    const { items } = await send('GET', path);
    expect(items.map(({ metadata }: Seen['object']) => metadata.name)).toEqual([...names, 'z']);
    for (const [i, name] of names.entries()) expect(items[i].data).toEqual(data(name));
  });

  test('of a time before the window is refused as expired', async () => {
    await create('a');
    const old = await startTestApiServer({ store: api.store });
    const response = await old.transport.request({
      method: 'GET',
      path: `${path}?watch=true&resourceVersion=1`,
    });
    let text = '';
    for await (const chunk of response.body) text += Buffer.from(chunk).toString();
    old.transport.close();
    await old.server.close();
    const event = JSON.parse(text) as Seen;
    expect(event).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    expect(event.object.message).toMatch(/^too old resource version: 1 \(\d+\)$/);
  });

  test('of pages: the pages of a list are true at one revision', async () => {
    for (const name of ['a', 'b', 'c']) await create(name);
    const page = async (query: string) => {
      const response = await api.transport.request({ method: 'GET', path: `${path}?${query}` });
      let text = '';
      for await (const chunk of response.body) text += Buffer.from(chunk).toString();
      return JSON.parse(text);
    };
    const first = await page('limit=2');
    expect(first.metadata.remainingItemCount).toBe(1);
    await send('DELETE', `${path}/c`);
    const second = await page(`limit=2&continue=${first.metadata.continue}`);
    expect(second.items.map((item: Seen['object']) => item.metadata.name)).toEqual(['c']);
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    expect(second.metadata.continue).toBeUndefined();
  });

  test('is told over a WebSocket, an event a message', async () => {
    await create('one');
    await create('two');
    const names: unknown[] = [];
    for await (const { opcode, text } of webSocketMessages(api, `${path}?watch=true`, '')) {
      names.push([opcode, JSON.parse(text).object.metadata.name]);
      if (names.length === 2) await create('three');
      if (names.length === 3) break;
    }
    expect(names).toEqual([
      [1, 'one'],
      [1, 'two'],
      [1, 'three'],
    ]);
  });

  test.each([
    ['', 'as it is', (text: string) => text],
    ['base64.binary.k8s.io', 'in base64', (text: string) => Buffer.from(text, 'base64').toString()],
  ])(
    'tells a large event over a WebSocket (protocol "%s") in fragments of one message, %s',
    async (protocol, _, read) => {
      const note = 'ü'.repeat(120_000);
      await create('small');
      await send('POST', path, { metadata: { name: 'large', annotations: { note } } });
      await create('after');
      const seen: unknown[] = [];
      for await (const { text, frames } of webSocketMessages(api, `${path}?watch=true`, protocol)) {
        const { metadata } = JSON.parse(read(text)).object;
        seen.push([metadata.name, metadata.annotations?.note === note, frames > 1]);
        if (seen.length === 3) break;
      }
      expect(seen).toEqual([
        ['after', false, false],
        ['large', true, true],
        ['small', false, false],
      ]);
    },
  );

  test('is refused over a WebSocket whose protocol nobody knows, and answered as plain HTTP', async () => {
    const messages = webSocketMessages(api, `${path}?watch=true`, 'chat');
    await expect(messages.next()).rejects.toThrow('refused with 200');
  });
});
