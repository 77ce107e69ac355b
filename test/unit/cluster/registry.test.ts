import { get, request } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PemPair } from '../../../src/api/certificates/keyPair.js';
import type { Listening } from '../../../src/client/listen.js';
import { buildImage } from '../../../src/cluster/images/image.js';
import { answer, parseRange } from '../../../src/cluster/registry/answer.js';
import { openRegistry } from '../../../src/cluster/registry/server.js';
import { makeTestPki, type TestPki } from '../../support/testPki.js';

const image = buildImage({
  name: 'tools/busybox',
  tags: ['latest', '1.35.0'],
  architecture: 'amd64',
  entries: [{ kind: 'file', path: 'hello', content: Buffer.from('hello') }],
  run: {},
});
const ask = (path: string, options: { method?: string; range?: string } = {}) =>
  answer([image], { method: 'GET', path, ...options });
const codeOf = ({ body }: { body: Buffer }) => JSON.parse(String(body)).errors[0].code;

describe('the registry', () => {
  test('says that it speaks version 2', () => {
    expect(ask('/v2/')).toMatchObject({
      status: 200,
      headers: { 'Docker-Distribution-API-Version': 'registry/2.0' },
    });
  });

  test.each(['latest', '1.35.0', image.manifest.digest])('answers the manifest %s', (reference) => {
    expect(ask(`/v2/tools/busybox/manifests/${reference}`)).toMatchObject({
      status: 200,
      headers: {
        'Content-Type': 'application/vnd.oci.image.manifest.v1+json',
        'Docker-Content-Digest': image.manifest.digest,
      },
      body: image.manifest.bytes,
    });
  });

  test('answers blobs, whole and in part', () => {
    const path = `/v2/tools/busybox/blobs/${image.layer.digest}`;
    expect(ask(path)).toMatchObject({ status: 200, body: image.layer.bytes });
    const part = ask(path, { range: 'bytes=512-516' });
    expect([part.status, String(part.body)]).toEqual([206, 'hello']);
    expect(part.headers['Content-Range']).toBe(`bytes 512-516/${image.layer.bytes.length}`);
    expect(ask(path, { range: 'bytes=999999-' })).toMatchObject({ status: 416 });
  });

  test.each([
    ['/v2/none/manifests/latest', 'NAME_UNKNOWN'],
    ['/v2/tools/busybox/manifests/none', 'MANIFEST_UNKNOWN'],
    ['/v2/tools/busybox/blobs/sha256:00', 'BLOB_UNKNOWN'],
    [`/v2/tools/busybox/blobs/${image.manifest.digest}`, 'BLOB_UNKNOWN'],
    ['/v2/tools/busybox/tags/list', 'UNSUPPORTED'],
    ['/v2/_catalog', 'UNSUPPORTED'],
    ['/v2/../../etc/passwd', 'UNSUPPORTED'],
    ['/', 'UNSUPPORTED'],
  ])('knows nothing at %s', (path, code) => {
    const refused = ask(path);
    expect([refused.status, codeOf(refused)]).toEqual([404, code]);
  });

  test.each(['PUT', 'POST', 'PATCH', 'DELETE'])('refuses %s', (method) => {
    const refused = ask('/v2/tools/busybox/blobs/uploads/', { method });
    expect([refused.status, refused.headers['Allow'], codeOf(refused)]).toEqual([
      405,
      'GET, HEAD',
      'UNSUPPORTED',
    ]);
  });

  test.each([
    ['bytes=0-0', { first: 0, last: 0 }],
    ['bytes=5-', { first: 5, last: 9 }],
    ['bytes=5-100', { first: 5, last: 9 }],
    ['bytes=-3', { first: 7, last: 9 }],
    ['bytes=-100', { first: 0, last: 9 }],
    ['bytes=-0', 'none'],
    ['bytes=10-', 'none'],
    ['bytes=5-2', undefined],
    ['bytes=0-1,3-4', undefined],
    ['lines=1-2', undefined],
  ])('of ten bytes, %s are %j', (range, expected) => {
    expect(parseRange(range, 10)).toEqual(expected);
  });
});

describe('the registry over HTTPS', () => {
  let registry: Listening;
  let pki: TestPki;
  let tls: PemPair;
  beforeAll(async () => {
    pki = await makeTestPki();
    const { cert, key } = await pki.server();
    tls = { cert: `${cert}${pki.ca}`, key };
    registry = await openRegistry({ images: [image], tls, host: '127.0.0.1', port: 0 });
  });
  afterAll(() => registry.close());

  const fetchPath = (path: string, method = 'GET') =>
    new Promise<{ status: number | undefined; length: string | undefined; body: Buffer }>(
      (resolve, reject) => {
        const url = `https://127.0.0.1:${registry.port}${path}`;
        const call = request(url, { method, ca: pki.ca, agent: false }, async (response) => {
          const chunks: Buffer[] = [];
          for await (const chunk of response) chunks.push(chunk as Buffer);
          const { statusCode: status, headers } = response;
          resolve({ status, length: headers['content-length'], body: Buffer.concat(chunks) });
        });
        call.on('error', reject);
        call.end();
      },
    );

  test('serves whom trusts its certificate', async () => {
    const { body } = await fetchPath('/v2/tools/busybox/manifests/latest?ns=trellis.local');
    expect(body).toEqual(image.manifest.bytes);
  });

  test('tells the size of what HEAD asks for, without it', async () => {
    const { status, length, body } = await fetchPath(`/v2/tools/busybox/blobs/${image.layer.digest}`, 'HEAD');
    expect([status, Number(length), body.length]).toEqual([200, image.layer.bytes.length, 0]);
  });

  test('is not served to whom does not', async () => {
    const failed = new Promise((_, reject) => {
      get(`https://127.0.0.1:${registry.port}/v2/`, { agent: false }).on('error', reject);
    });
    await expect(failed).rejects.toThrow(/self-signed/);
  });

  test('a port that is taken is an error', async () => {
    const again = openRegistry({ images: [], tls, host: '127.0.0.1', port: registry.port });
    await expect(again).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
