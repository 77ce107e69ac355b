// A watch in rows: what comes with the state at the start, and how its end is told.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/api/object.js';
import { startTestApiServer, type TestApiServer } from '../../../support/testApiServer.js';

interface Row {
  readonly type: string;
  readonly object: KubeObject & {
    readonly columnDefinitions: readonly unknown[] | null;
    readonly rows: readonly { readonly object: KubeObject | null }[];
  };
}

const PATH = '/api/v1/namespaces/default/configmaps';
let api: TestApiServer;
beforeEach(async () => {
  api = await startTestApiServer();
});
afterEach(() => api.close());

async function rowsOf(include: string): Promise<Row[]> {
  const start = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const { body } = await api.transport.request({
    method: 'GET',
    path: `${PATH}?watch=true&timeoutSeconds=1&${start}&includeObject=${include}`,
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  });
  let text = '';
  for await (const piece of body) text += Buffer.from(piece).toString();
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test.each(['None', 'Metadata', 'Object'])(
  'the end of the state at the start is a table with one row, whose metadata say so: %s',
  async (include) => {
    for (const name of ['a', 'b'])
      await api.transport.request({
        method: 'POST',
        path: PATH,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ metadata: { name } }),
      });
    const seen = await rowsOf(include);
    expect(seen.map(({ type }) => type)).toEqual(['ADDED', 'ADDED', 'BOOKMARK', 'BOOKMARK']);
    for (const [index, { object }] of seen.entries()) {
      expect(object).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
      expect(object.rows).toHaveLength(1);
      expect(object.columnDefinitions === null, `columns of event ${index}`).toBe(index > 0);
    }
    const [end, last] = seen.slice(2).map(({ object }) => object.rows[0]?.object);
    expect(end?.kind).toBe(include === 'Object' ? 'ConfigMap' : 'PartialObjectMetadata');
    expect(end?.metadata?.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    expect(last?.metadata?.annotations).toBeUndefined();
    expect(Number(end?.metadata?.resourceVersion)).toBeGreaterThan(0);
  },
);

test('where nothing is held the end comes first, and has the columns', async () => {
  const [end] = await rowsOf('Metadata');
  expect([end?.type, end?.object.kind, end?.object.columnDefinitions?.length]).toEqual([
    'BOOKMARK',
    'Table',
    3,
  ]);
});
