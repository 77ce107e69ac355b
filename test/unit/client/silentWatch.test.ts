// A watch whose connection is dead without saying so: it is ended and resumed; one that speaks goes on.
import { expect, test } from 'vitest';
import { PODS } from '../../../src/api/resources.js';
import { openInformers } from '../../../src/client/sharedInformers.js';
import type { Transport, TransportRequest } from '../../../src/client/transport.js';
import { openClient } from '../../../src/client/typedClient.js';
import { until } from '../../support/until.js';

const bytes = (value: unknown) => Buffer.from(`${JSON.stringify(value)}\n`);
const added = {
  type: 'ADDED',
  object: {
    metadata: {
      name: 'p',
      namespace: 'n',
      uid: 'u',
      resourceVersion: '8',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
  },
};
const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } };

/** Answers a list, and each watch with the next of the bodies; every body stays open when it has nothing left to say. */
function transportOf(...watches: readonly AsyncIterable<Uint8Array>[]): Transport & { watched: string[] } {
  const watched: string[] = [];
  const left = [...watches];
  const open = async function* (
    body: AsyncIterable<Uint8Array> | undefined,
    signal: AbortSignal | undefined,
  ) {
    if (body !== undefined) yield* body;
    await new Promise<void>((resolve) => {
      if (signal?.aborted === true) resolve();
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
  };
  return {
    watched,
    request: async ({ path, signal }: TransportRequest) => {
      const isWatch = path.includes('watch=true');
      if (isWatch) watched.push(path);
      const list = bytes({ metadata: { resourceVersion: '7' }, items: [] });
      const body = isWatch ? open(left.shift(), signal) : one(list);
      return { status: 200, headers: {}, body };
    },
    close: () => {},
  };
}

async function* one(chunk: Uint8Array) {
  yield chunk;
}

test('a watch that says nothing is resumed, and what came meanwhile is heard', async () => {
  const transport = transportOf((async function* () {})(), one(bytes(added)));
  const client = openClient(transport, { watchSilenceMs: 30 });
  const informers = openInformers(client);
  const pods = informers.of(PODS);
  try {
    await until(() => expect(pods.get('n/p')).toBeDefined());
    expect(transport.watched.slice(0, 2).every((path) => path.includes('resourceVersion=7'))).toBe(true);
    await until(() =>
      expect(transport.watched.some((path) => path.includes('resourceVersion=8'))).toBe(true),
    );
  } finally {
    informers.stop();
    client.close();
  }
});

test('bookmarks are words: a watch that gets them goes on for longer than its silence', async () => {
  const speaking = async function* () {
    for (let count = 0; count < 20; count++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      yield bytes(bookmark);
    }
  };
  const transport = transportOf(speaking());
  const client = openClient(transport, { watchSilenceMs: 300 });
  let heard = 0;
  for await (const event of client.of(PODS).watch({ resourceVersion: '7' }))
    if (event.type === 'BOOKMARK') heard += 1;
  expect(heard).toBe(20);
  client.close();
});
