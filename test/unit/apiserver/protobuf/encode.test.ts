// Protobuf answers: every kind comes back from its protobuf as it was, and the server sends it to who asks.
import { describe, expect, test } from 'vitest';
import { schemas } from '../../../../src/api/gen/schemas.js';
import { KINDS } from '../../../../src/api/kinds/index.js';
import type { KubeObject } from '../../../../src/api/object.js';
import { apiVersionOf, CONFIG_MAPS } from '../../../../src/api/resources.js';
import { decodeProtobuf, openEnvelope } from '../../../../src/apiserver/protobuf/decode.js';
import { encodeProtobuf } from '../../../../src/apiserver/protobuf/encode.js';
import { fieldNumbers } from '../../../../src/apiserver/protobuf/fieldNumbers.js';
import { messageOf } from '../../../../src/apiserver/protobuf/messages.js';
import { bytesOf, wireFields } from '../../../../src/apiserver/protobuf/wire.js';
import { servedForms } from '../../../../src/apiserver/verbs/served.js';
import { openClient } from '../../../../src/client/typedClient.js';
import { startTestApiServer } from '../../../support/testApiServer.js';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const DEEPEST = 9;

/** A small generator with a seed, so that a failure can be seen again. */
function makeRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Chance {
  random(): number;
  /** How likely a field is there. */
  readonly filled: number;
}

const pick = <T>({ random }: Chance, ...values: T[]) => values[Math.floor(random() * values.length)] as T;

/** Values that JSON keeps: no zero that Go would leave out, times as the server writes them. */
function someValue(code: string, chance: Chance, depth: number): unknown {
  const some = <T>(make: () => T) => Array.from({ length: 1 + Math.floor(chance.random() * 3) }, make);
  if (code.startsWith('[]')) return some(() => someValue(code.slice(2), chance, depth));
  if (code.startsWith('{}'))
    return Object.fromEntries(
      some(() => [pick(chance, 'a', 'ü', '__proto__x'), someValue(code.slice(2), chance, depth)]),
    );
  switch (code) {
    case 's':
      return pick(chance, 'x', 'größer 語', 'y'.repeat(300));
    case 'y':
      return Buffer.from(pick(chance, 'secret', '\0ÿ')).toString('base64');
    case 'i':
      return pick(chance, 1, -7, 127, 128, 2 ** 31 - 1, 2 ** 40);
    case 'b':
      return true;
    case 'n':
      return pick(chance, 0.5, -1e9);
    case 't':
      return pick(chance, '2026-01-02T03:04:05Z', '1970-01-01T00:00:01Z', '1969-12-31T23:59:58Z');
    case 'u':
      return pick(chance, '2026-01-02T03:04:05.000006Z', '2026-01-02T03:04:05.123456Z');
    case 'q':
      return pick(chance, '100m', '2Gi');
    case 'x':
      return pick<number | string>(chance, 8080, 'http', '25%');
    case 'l':
      return some(() => pick(chance, 'a', 'b'));
    case 'any':
      return { 'f:spec': { 'f:replicas': {} } };
    case 'any-e':
      return {};
    case 'any-a':
      return pick<unknown>(chance, { type: 'object' }, [{ type: 'object' }]);
    case 'any-o':
      return pick<unknown>(chance, { type: 'object' }, true, false);
    case 'any-d':
      return pick<unknown>(chance, { type: 'object' }, ['a', 'b']);
    default:
      // Schemas hold schemas in a dozen fields.
      if (code === 'V1JSONSchemaProps' && depth > 5) return { type: 'object' };
      return objectOf(code, chance, depth + 1);
  }
}

function objectOf(model: string, chance: Chance, depth = 0): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const { name, code, inline } of messageOf(model).fields) {
    if (inline) Object.assign(object, objectOf(`${model}+${name}`, chance, depth));
    else if (depth <= DEEPEST && chance.random() < chance.filled)
      object[name] = someValue(code, chance, depth);
  }
  return object;
}

describe('protobuf that is written', () => {
  const forms = servedForms(KINDS);
  test.each(forms.map(({ type, model }) => [`${apiVersionOf(type)} ${type.kind}`, type, model] as const))(
    'of %s reads back the same, full and by chance',
    (_, type, model) => {
      const head = { apiVersion: apiVersionOf(type), kind: type.kind };
      const chances = [{ random: () => 0, filled: 1 }].concat(
        [1, 2, 3, 4, 5].map((seed) => ({ random: makeRandom(seed), filled: 0.4 })),
      );
      for (const chance of chances) {
        const object = { ...head, ...objectOf(model, chance) } as KubeObject;
        expect(decodeProtobuf(encodeProtobuf(object))).toEqual(object);
      }
    },
  );

  test('has a number for every field of every kind', () => {
    const missing = new Set<string>();
    const seen = new Set<string>();
    const look = (model: string) => {
      const schema = schemas[model];
      if (schema === undefined || seen.has(model)) return;
      seen.add(model);
      const parts = Object.keys(fieldNumbers).filter((key) => key === model || key.startsWith(`${model}+`));
      const known = new Set(parts.flatMap((part) => messageOf(part).fields.map(({ name }) => name)));
      for (const [name, code] of Object.entries(schema)) {
        const isHead = seen.size > 0 && (name === 'apiVersion' || name === 'kind');
        if (!isHead && !known.has(name)) missing.add(`${model}.${name}`);
        else look(code.replace(/^!/, '').replace(/(\[\]|\{\})+/g, ''));
      }
    };
    for (const { model } of forms) look(model);
    look('V1Status');
    expect([...missing].sort()).toEqual([]);
  });
});

/** The events of a watch: type, and the object inside. */
function* events(stream: Buffer): Generator<[string, KubeObject]> {
  for (const [type, object] of framed(stream)) yield [type, decodeProtobuf(object) as KubeObject];
}

function* framed(stream: Buffer): Generator<[string, Buffer]> {
  for (let at = 0; at + 4 <= stream.length; ) {
    const length = stream.readUInt32BE(at);
    if (at + 4 + length > stream.length) return;
    const [type, extension] = [...wireFields(stream.subarray(at + 4, at + 4 + length))];
    const [raw] = [...wireFields(bytesOf(extension?.value as Buffer))];
    yield [bytesOf(type?.value as Buffer).toString(), bytesOf(raw?.value as Buffer)];
    at += 4 + length;
  }
}

test('raw values have the escapes of Go, since controllers compare their bytes', () => {
  const revision = {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    revision: 1,
    data: { run: 'a > b & c' },
  };
  expect(encodeProtobuf(revision).toString()).toContain('{"run":"a \\u003e b \\u0026 c"}');
});

test.each(['v1', 'v1beta1'])(
  'the metadata of objects alone are protobuf too, by %s',
  async (version) => {
    const { transport, close } = await startTestApiServer();
    const client = openClient(transport);
    const get = async (as: string, path: string) => {
      const accept = `${PROTOBUF};as=${as};g=meta.k8s.io;v=${version},application/json;as=${as};g=meta.k8s.io;v=${version}`;
      const answer = await transport.request({ method: 'GET', path, headers: { accept } });
      const pieces: Uint8Array[] = [];
      for await (const piece of answer.body) pieces.push(piece);
      return { type: answer.headers['content-type'], body: Buffer.concat(pieces) };
    };
    try {
      const { metadata } = await client.of(CONFIG_MAPS).create({
        metadata: { name: 'a', namespace: 'default', labels: { x: 'y' } },
        data: { n: 'a' },
      });
      const apiVersion = `meta.k8s.io/${version}`;
      const path = '/api/v1/namespaces/default/configmaps';
      // The message is that of a ConfigMap which has nothing else.
      const { raw: expected } = openEnvelope(
        encodeProtobuf({ apiVersion: 'v1', kind: 'ConfigMap', metadata } as KubeObject),
      );
      const one = await get('PartialObjectMetadata', `${path}/a`);
      expect(one.type).toBe(PROTOBUF);
      expect(openEnvelope(one.body)).toEqual({ apiVersion, kind: 'PartialObjectMetadata', raw: expected });

      const list = await get('PartialObjectMetadataList', path);
      expect(list.type).toBe(PROTOBUF);
      const { raw, ...head } = openEnvelope(list.body);
      expect(head).toEqual({ apiVersion, kind: 'PartialObjectMetadataList' });
      const [meta, ...items] = [...wireFields(raw)];
      expect(meta?.number).toBe(1);
      expect(items.map(({ number, value }) => [number, bytesOf(value)])).toEqual([[2, expected]]);

      const watch = await get(
        'PartialObjectMetadata',
        `${path}?watch=1&timeoutSeconds=1&allowWatchBookmarks=1`,
      );
      expect(watch.type).toBe(`${PROTOBUF};stream=watch`);
      const seen = [...framed(watch.body)].map(([type, object]) => [type, openEnvelope(object).kind]);
      expect(seen).toEqual([
        ['ADDED', 'PartialObjectMetadata'],
        ['BOOKMARK', 'PartialObjectMetadata'],
      ]);
    } finally {
      client.close();
      await close();
    }
  },
  60_000,
);

test('an apiserver answers objects, lists and watches in protobuf, and errors as JSON', async () => {
  const { transport, close } = await startTestApiServer();
  const client = openClient(transport);
  const send = (path: string) =>
    transport.request({ method: 'GET', path, headers: { accept: `${PROTOBUF}, */*` } });
  const bodyOf = async (answer: Awaited<ReturnType<typeof send>>) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of answer.body) pieces.push(piece);
    return Buffer.concat(pieces);
  };
  try {
    const maps = client.of(CONFIG_MAPS);
    for (const name of ['a', 'b'])
      await maps.create({ metadata: { name, namespace: 'default' }, data: { n: name } });
    const path = '/api/v1/namespaces/default/configmaps';

    const one = await send(`${path}/a`);
    expect(one.headers['content-type']).toBe(PROTOBUF);
    expect(decodeProtobuf(await bodyOf(one))).toEqual(await maps.get({ namespace: 'default', name: 'a' }));

    const list = await send(path);
    expect(list.headers['content-type']).toBe(PROTOBUF);
    const { kind, raw } = openEnvelope(await bodyOf(list));
    expect([kind, [...wireFields(raw)].map(({ number }) => number)]).toEqual(['ConfigMapList', [1, 2, 2]]);

    const watch = await send(`${path}?watch=1&timeoutSeconds=1&allowWatchBookmarks=true`);
    expect(watch.headers['content-type']).toBe(`${PROTOBUF};stream=watch`);
    const seen = [...events(await bodyOf(watch))];
    expect(seen.map(([type, { metadata }]) => `${type} ${metadata?.name ?? ''}`)).toEqual([
      'ADDED a',
      'ADDED b',
      'BOOKMARK ',
    ]);
    expect(seen[0]?.[1]).toEqual(await maps.get({ namespace: 'default', name: 'a' }));

    const missing = await send(`${path}/none`);
    expect(missing.headers['content-type']).toBe('application/json');
    expect(JSON.parse((await bodyOf(missing)).toString())).toMatchObject({ kind: 'Status', code: 404 });
  } finally {
    client.close();
    await close();
  }
}, 60_000);
