// Clients that do not read, or read slowly: what the server holds for them, and what they get in the end.
// Guarantees: every form of a list is the same however slowly it is read, also when all of it has changed meanwhile.
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { PIECE } from '../../../src/apiserver/registry/frameChunks.js';
import { frames } from '../../../src/apiserver/registry/frames.js';
import { openLmdbStore } from '../../../src/store/lmdb/store.js';
import { storeFolder } from '../../support/storeFolder.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';
import { until } from '../../support/until.js';

const MAPS = '/api/v1/namespaces/default/configmaps';
const JSON_TYPE = 'application/json';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const PARTIAL = `${JSON_TYPE};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`;
const TABLE = `${JSON_TYPE};as=Table;g=meta.k8s.io;v=v1`;
const COUNT = 24;

interface Listed {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly name: string }; readonly data: object }[];
}

describe('clients that do not read', () => {
  let api: TestApiServer;
  let remove: () => Promise<void>;
  const open: IncomingMessage[] = [];
  /** The server's ends of the connections on which something was asked. */
  const sockets = new Set<Socket>();
  const onRequest = (message: unknown) => sockets.add((message as { readonly socket: Socket }).socket);

  beforeAll(async () => {
    diagnostics.subscribe('http.server.request.start', onRequest);
    const { folder, remove: removeFolder } = await storeFolder();
    remove = removeFolder;
    api = await startTestApiServer({ store: await openLmdbStore({ path: folder }) });
    // Larger than what sockets take by themselves: some objects larger than a piece, most much smaller.
    for (let i = 0; i < COUNT; i += 1) await put('POST', MAPS, map(i, 1));
  });
  afterAll(async () => {
    diagnostics.unsubscribe('http.server.request.start', onRequest);
    for (const answer of open) answer.destroy();
    await api.close();
    await remove();
  });

  const map = (i: number, generation: number) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `map-${String(i).padStart(3, '0')}`, annotations: { note: 'ü'.repeat(40_000) } },
    data: { generation: String(generation), text: `line ${i}\n`.repeat(i % 3 === 0 ? 80_000 : 10) },
  });

  async function put(method: 'POST' | 'PUT', path: string, body: object): Promise<void> {
    const { status, body: answer } = await api.transport.request({
      method,
      path,
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify(body),
    });
    for await (const _ of answer);
    expect(status).toBeLessThan(300);
  }

  /** The answer's head; its body is not read until somebody does. */
  async function ask(path: string, headers: Record<string, string>): Promise<IncomingMessage> {
    const request = https.get(`${api.url}${path}`, { agent: false, ca: api.pki.ca, ...api.admin, headers });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    answer.on('error', () => {});
    open.push(answer);
    return answer;
  }

  async function bytesOf(answer: IncomingMessage): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece as Buffer);
    return Buffer.concat(pieces);
  }

  const updateAll = async (generation: number) => {
    for (let i = 0; i < COUNT; i += 1) {
      const { metadata } = map(i, generation);
      await put('PUT', `${MAPS}/${metadata.name}`, map(i, generation));
    }
  };

  /** An item of a list, which says what its items are, as it is alone. */
  const typed = (item: Listed['items'][number]) => ({ kind: 'ConfigMap', apiVersion: 'v1', ...item });

  const list = async () => JSON.parse(String(await bytesOf(await ask(MAPS, {})))) as Listed;

  test('a list in each form is the same when its reader stalls and everything changes meanwhile', async () => {
    const before = await list();
    const protobuf = await bytesOf(await ask(MAPS, { accept: PROTOBUF }));
    const asked = {
      json: await ask(MAPS, { accept: JSON_TYPE }),
      gzip: await ask(MAPS, { accept: JSON_TYPE, 'accept-encoding': 'gzip' }),
      yaml: await ask(MAPS, { accept: 'application/yaml' }),
      protobuf: await ask(MAPS, { accept: PROTOBUF }),
      partial: await ask(MAPS, { accept: PARTIAL }),
      table: await ask(`${MAPS}?includeObject=Object`, { accept: TABLE }),
    };
    // Longer than a reader may stall before its objects are let go.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await updateAll(2);
    const text = Object.fromEntries(
      await Promise.all(
        Object.entries(asked).map(async ([form, answer]) => [form, await bytesOf(answer)] as const),
      ),
    ) as Record<keyof typeof asked, Buffer>;

    expect(JSON.parse(String(text.json))).toEqual(before);
    expect(asked.gzip.headers['content-encoding']).toBe('gzip');
    expect(JSON.parse(String(gunzipSync(text.gzip)))).toEqual(before);
    expect(parse(String(text.yaml))).toEqual(before);
    expect(text.protobuf.equals(protobuf)).toBe(true);
    expect(JSON.parse(String(text.partial)).items).toMatchObject(
      before.items.map(({ metadata }) => ({ kind: 'PartialObjectMetadata', metadata })),
    );
    const rows = JSON.parse(String(text.table)).rows as { readonly object: object }[];
    expect(rows.map(({ object }) => object)).toEqual(before.items.map(typed));
    expect((await list()).items[0]?.data).toMatchObject({ generation: '2' });
  });

  test('a watch of the first state, read late, has that state and then the changes', async () => {
    const { items } = await list();
    const watch = await ask(`${MAPS}?watch=1&timeoutSeconds=20`, {});
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await updateAll(3);
    let text = '';
    watch.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    const events = () =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { type: string; object: Listed['items'][number] });
    await until(() => expect(events()).toHaveLength(2 * COUNT));
    expect(events().map(({ type }) => type)).toEqual([
      ...items.map(() => 'ADDED'),
      ...items.map(() => 'MODIFIED'),
    ]);
    expect(
      events()
        .slice(0, COUNT)
        .map(({ object }) => object),
    ).toEqual(items.map(typed));
    watch.destroy();
  });

  test('fifty watches that are never read, and large changes: a piece each, and the bytes of an event once', async () => {
    const { resourceVersion } = (await list()).metadata;
    const accepts = [JSON_TYPE, PROTOBUF, TABLE];
    sockets.clear();
    const watches = await Promise.all(
      Array.from({ length: 48 }, (_, i) =>
        ask(`${MAPS}?watch=1&includeObject=Object&resourceVersion=${resourceVersion}`, {
          accept: accepts[i % 3] as string,
        }),
      ),
    );
    const large = { ...map(0, 4), data: { text: 'x'.repeat(950_000) } };
    for (let n = 0; n < 12; n += 1)
      await put('PUT', `${MAPS}/map-000`, { ...large, data: { ...large.data, n: String(n) } });
    // What Node has been given for each connection and could not hand to the kernel.
    const waiting = [...sockets].map(({ writableLength }) => writableLength);
    expect(waiting.filter((length) => length > 0).length).toBeGreaterThanOrEqual(watches.length);
    for (const length of waiting) expect(length).toBeLessThanOrEqual(PIECE + 1024);
    expect(frames.bytes).toBeLessThanOrEqual(8 * 1024 * 1024 + 4_000_000);
    for (const watch of watches) watch.destroy();
  });
});
