// Who reads an object and writes it again: in turn within a server, by another try between servers.
import { expect, test } from 'vitest';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { configMapKind } from '../../../../src/api/kinds/configMap.js';
import { silentLog } from '../../../../src/api/log.js';
import type { WriteContext } from '../../../../src/apiserver/registry/admit.js';
import type { CachedObject } from '../../../../src/apiserver/registry/cached.js';
import { Feed } from '../../../../src/apiserver/registry/feed.js';
import { History } from '../../../../src/apiserver/registry/history.js';
import { KeyedLock } from '../../../../src/apiserver/registry/keyedLock.js';
import { readAndWrite } from '../../../../src/apiserver/registry/readAndWrite.js';
import type { ServerContext } from '../../../../src/apiserver/serverContext.js';
import { type Store, StoreError } from '../../../../src/store/store.js';
import { MemoryStore } from '../../../support/memoryStore.js';

const kind = configMapKind as KindDefinition;
const KEY = '/registry/configmaps/default/m';
const context = { kind, namespace: 'default', name: 'm', dryRun: false } as unknown as WriteContext;

interface Counted {
  readonly count: number;
}
const bytes = (count: number) => Buffer.from(JSON.stringify({ metadata: { name: 'm' }, count }));

interface Server {
  readonly serverContext: ServerContext;
  tries: number;
  /** Adds one to what is there. */
  add(): Promise<number>;
}

async function serverOn(store: Store): Promise<Server & { close(): void }> {
  const feed = new Feed(store, [kind], silentLog, new History({ ageMs: 60_000, now: () => 0 }));
  await feed.open();
  const serverContext = { store, feed, turns: new KeyedLock() } as unknown as ServerContext;
  const server = {
    serverContext,
    tries: 0,
    add: () =>
      readAndWrite(serverContext, context, async (held: CachedObject) => {
        server.tries += 1;
        const { count } = held.parse<Counted>();
        return store.update(KEY, bytes(count + 1), held.revision);
      }),
    close: () => feed.close(),
  };
  return server;
}

async function withServers(count: number, use: (...servers: Server[]) => Promise<void>): Promise<void> {
  const store = new MemoryStore();
  await store.create(KEY, bytes(0));
  const servers = await Promise.all(Array.from({ length: count }, () => serverOn(store)));
  try {
    await use(...servers);
  } finally {
    for (const server of servers) server.close();
    await store.close();
  }
}

const countIn = async ({ serverContext }: Server): Promise<number> =>
  (JSON.parse(Buffer.from((await serverContext.store.get(KEY))?.value ?? '').toString()) as Counted).count;
const times = (count: number, work: () => Promise<unknown>) =>
  Promise.all(Array.from({ length: count }, work));

test('150 writers in one server all write, and none of them tries twice', () =>
  withServers(1, async (server) => {
    await times(150, () => server.add());
    expect([await countIn(server), server.tries]).toEqual([150, 150]);
  }));

test('writers in two servers all write', () =>
  withServers(2, async (one, other) => {
    await Promise.all([times(20, () => one.add()), times(20, () => other.add())]);
    expect(await countIn(one)).toBe(40);
  }));

test.each([
  ['the object itself was written meanwhile', KEY, 'CONFLICT', 30, 'written'],
  ['what it needs besides was taken meanwhile', '/registry/ipaddresses/10.0.0.1', 'EXISTS', 5, 'written'],
  [
    'what it needs besides is taken again and again',
    '/registry/ipaddresses/10.0.0.1',
    'EXISTS',
    30,
    'Conflict',
  ],
  ['the object is gone', KEY, 'MISSING', 1, 'NotFound'],
  ['the store does not answer', KEY, 'UNAVAILABLE', 1, 'UNAVAILABLE'],
] as const)('%s', (_, key, code, failures, wanted) =>
  withServers(1, async ({ serverContext }) => {
    let tries = 0;
    const outcome = readAndWrite(serverContext, context, async () => {
      tries += 1;
      if (tries <= failures) throw new StoreError(code, 'no', { key });
      return 'written';
    }).catch((error: { reason?: string; code: unknown }) => error.reason ?? error.code);
    expect(await outcome).toBe(wanted);
  }),
);

test('a caller that has gone away writes nothing more', () =>
  withServers(1, async (server) => {
    const gone = { ...context, request: { isAllowed: () => false } } as unknown as WriteContext;
    const write = readAndWrite(server.serverContext, gone, () => server.add());
    await expect(write).rejects.toMatchObject({ reason: 'Timeout' });
    expect(await countIn(server)).toBe(0);
  }));
