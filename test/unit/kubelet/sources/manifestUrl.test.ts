import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Log, silentLog } from '../../../../src/api/log.js';
import type { Pod } from '../../../../src/kubelet/ports.js';
import { ManifestUrl } from '../../../../src/kubelet/sources/manifestUrl.js';

let server: Server;
let answer: { status: number; body: string };
let told: string[][];
let problems: string[];
const note = (message: string, fields?: object) => void problems.push(`${message} ${JSON.stringify(fields)}`);
const log: Log = { ...silentLog, error: note };

beforeEach(async () => {
  told = [];
  problems = [];
  server = createServer((request, response) => {
    authorization = request.headers.authorization;
    response.writeHead(answer.status).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'a', image: 'busybox' }] },
});
let authorization: string | undefined;
const source = (who = '') =>
  new ManifestUrl({
    url: `http://${who}127.0.0.1:${(server.address() as AddressInfo).port}/pods`,
    nodeName: 'n',
    checkFrequencyMs: 1_000,
    now: () => 0,
    log,
    changed: (pods: readonly Pod[]) =>
      void told.push(
        pods.map(
          ({ metadata }) => `${metadata.name} ${metadata.annotations?.['kubernetes.io/config.source']}`,
        ),
      ),
  });

test('one pod, then a list of two, told once each', async () => {
  const url = source();
  answer = { status: 200, body: JSON.stringify(pod('one')) };
  await url.look();
  await url.look();
  answer = {
    status: 200,
    body: JSON.stringify({ kind: 'PodList', apiVersion: 'v1', items: [pod('one'), pod('two')] }),
  };
  await url.look();
  expect(told).toEqual([['one-n http'], ['one-n http', 'two-n http']]);
  expect(problems).toEqual([]);
});

test.each([
  ['an error', { status: 500, body: 'no' }, 'the answer is 500'],
  ['nothing', { status: 200, body: '' }, 'the answer is empty'],
  ['a wrong pod', { status: 200, body: '{"apiVersion":"v1","kind":"Node"}' }, 'kind: must be Pod'],
  ['too much', { status: 200, body: 'x'.repeat((1 << 20) + 1) }, 'larger than 1 MiB'],
])('%s leaves the pods as they were and is told', async (_, given, words) => {
  answer = given;
  await source().look();
  expect(told).toEqual([]);
  expect(problems.join()).toContain(words);
});

test('a password in the URL is in no log', async () => {
  answer = { status: 500, body: '' };
  await source('user:secret@').look();
  expect(authorization).toBe(`Basic ${btoa('user:secret')}`);
  expect(problems).toHaveLength(1);
  expect(problems.join()).not.toContain('secret');
});
