// Every verb of every served kind and version, asked in protobuf as typed Go clients ask.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { KINDS } from '../../../../src/api/kinds/index.js';
import type { KubeObject } from '../../../../src/api/object.js';
import { apiVersionOf } from '../../../../src/api/resources.js';
import { decodeProtobuf, openEnvelope } from '../../../../src/apiserver/protobuf/decode.js';
import { encodeProtobuf } from '../../../../src/apiserver/protobuf/encode.js';
import type { TransportRequest } from '../../../../src/client/transport.js';
import { startTestApiServer, type TestApiServer } from '../../../support/testApiServer.js';
import { smallest } from '../../api/kinds/smallest.js';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const FORMS = KINDS.flatMap((kind) =>
  [kind as KindDefinition, ...(kind.versions ?? [])].map(({ type }) => ({ kind, type })),
);

let api: TestApiServer;
beforeAll(async () => {
  api = await startTestApiServer();
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } };
  await ask('POST', '/api/v1/namespaces', encodeProtobuf(namespace));
});
afterAll(() => api?.close());

async function ask(
  method: TransportRequest['method'],
  path: string,
  body?: Buffer | string,
  type = PROTOBUF,
): Promise<{ status: number; bytes: Buffer }> {
  const headers = { accept: `${PROTOBUF},application/json`, 'content-type': type };
  const response = await api.transport.request({
    method,
    path,
    headers,
    ...(body === undefined ? {} : { body: body as string }),
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return { status: response.status, bytes: Buffer.concat(chunks) };
}

async function firstEvent(path: string): Promise<Buffer> {
  const headers = { accept: `${PROTOBUF};type=watch,${PROTOBUF}` };
  const { body } = await api.transport.request({ method: 'GET', path, headers });
  for await (const chunk of body) return Buffer.from(chunk);
  return Buffer.alloc(0);
}

describe.each(FORMS.map((form) => [`${apiVersionOf(form.type)} ${form.type.kind}`, form] as const))(
  '%s',
  (_, { type }) => {
    const apiVersion = apiVersionOf(type);
    const root = type.group === '' ? '/api/v1' : `/apis/${apiVersion}`;
    const collection = `${root}${type.namespaced ? '/namespaces/default' : ''}/${type.resource}`;
    const { metadata, ...body } = smallest({ type }) as { metadata: { name: string; namespace?: string } };
    const name = metadata.name;
    const options = () =>
      encodeProtobuf({
        apiVersion,
        kind: 'DeleteOptions',
        gracePeriodSeconds: 0,
        propagationPolicy: 'Background',
      } as KubeObject);
    const sent = { apiVersion, kind: type.kind, metadata, ...body } as KubeObject;
    const read = (bytes: Buffer) => decodeProtobuf(bytes) as KubeObject;

    test('is created, read, listed, watched, updated and patched', async () => {
      const made = await ask('POST', collection, encodeProtobuf(sent));
      expect([made.status, made.status === 201 ? '' : made.bytes.toString()]).toEqual([201, '']);
      expect(read(made.bytes)).toMatchObject({ apiVersion, kind: type.kind, metadata: { name } });
      const got = await ask('GET', `${collection}/${name}`);
      expect(read(got.bytes).metadata?.uid).toBe(read(made.bytes).metadata?.uid);
      expect(openEnvelope((await ask('GET', collection)).bytes)).toMatchObject({
        apiVersion,
        kind: `${type.kind}List`,
      });
      expect(
        (await firstEvent(`${collection}?watch=1&fieldSelector=metadata.name%3D${name}`)).includes(name),
      ).toBe(true);
      const labelled = { ...read(got.bytes) };
      const put = await ask('PUT', `${collection}/${name}`, encodeProtobuf(labelled));
      expect([put.status, put.status === 200 ? '' : put.bytes.toString()]).toEqual([200, '']);
      const patch = JSON.stringify({ metadata: { labels: { patched: 'yes' } } });
      const patched = await ask('PATCH', `${collection}/${name}`, patch, 'application/merge-patch+json');
      expect(read(patched.bytes).metadata?.labels).toMatchObject({ patched: 'yes' });
    });

    test('is deleted with options, alone and with all others', async () => {
      const deleted = await ask('DELETE', `${collection}/${name}`, options());
      expect([deleted.status, deleted.status === 200 ? '' : deleted.bytes.toString()]).toEqual([200, '']);
      if (type.resource === 'namespaces') return;
      const all = await ask('DELETE', `${collection}?labelSelector=none%3Dsuch`, options());
      expect([all.status, openEnvelope(all.bytes).kind]).toEqual([200, `${type.kind}List`]);
    });
  },
);

describe('what is sent to a part of an object', () => {
  const put = (method: TransportRequest['method'], path: string, object: object) =>
    ask(method, path, encodeProtobuf(object as KubeObject));
  const pods = '/api/v1/namespaces/default/pods';
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  const head = { apiVersion: 'v1', kind: 'Pod' };

  test('a binding, an eviction with options inside, a status, a scale', async () => {
    await put('POST', pods, { ...head, metadata: { name: 'part' }, spec });
    const target = { kind: 'Node', name: 'n1' };
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'part' }, target };
    expect((await put('POST', `${pods}/part/binding`, binding)).status).toBe(201);
    const status = { ...head, metadata: { name: 'part' }, status: { phase: 'Running' } };
    expect((await put('PUT', `${pods}/part/status`, status)).status).toBe(200);
    const eviction = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'part' },
      deleteOptions: { gracePeriodSeconds: 0 },
    };
    expect((await put('POST', `${pods}/part/eviction`, eviction)).status).toBe(201);
    const deployments = '/apis/apps/v1/namespaces/default/deployments';
    const labels = { a: 'b' };
    await put('POST', deployments, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'part' },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    });
    const scale = {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'part' },
      spec: { replicas: 3 },
    };
    expect((await put('PUT', `${deployments}/part/scale`, scale)).status).toBe(200);
  });

  test('empty texts that must be there are there: a node without a version of its proxy', async () => {
    const nodeInfo = {
      machineID: 'm',
      systemUUID: 's',
      bootID: 'b',
      kernelVersion: 'k',
      osImage: 'o',
      containerRuntimeVersion: 'c',
      kubeletVersion: 'v',
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: 'amd64',
    };
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'empty' } };
    await put('POST', '/api/v1/nodes', node);
    expect((await put('PUT', '/api/v1/nodes/empty/status', { ...node, status: { nodeInfo } })).status).toBe(
      200,
    );
    const { bytes } = await ask('GET', '/api/v1/nodes/empty');
    expect(decodeProtobuf(bytes)).toMatchObject({ status: { nodeInfo } });
    const text = await api.transport.request({ method: 'GET', path: '/api/v1/nodes/empty', headers: {} });
    const chunks: Uint8Array[] = [];
    for await (const chunk of text.body) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toContain('"kubeProxyVersion":""');
  });
});
