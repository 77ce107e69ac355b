// What a client may send by mistake or on purpose, over real TLS, to a server in a process of its own.
// Guarantees: each is answered by a 4xx Status or a closed connection; memory is bounded, and others are served meanwhile.
import { once } from 'node:events';
import https from 'node:https';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiServerCommand, startApiServerCommand } from '../../support/apiServerCommand.js';
import { exchangeRaw, openRaw, type RawClient } from '../../support/rawTls.js';

const MAPS = '/api/v1/namespaces/default/configmaps';
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const APPLY = 'application/apply-patch+yaml';
const MEGABYTE = 1024 * 1024;
const HEAD = `Host: x\r\nContent-Type: application/json\r\n`;

interface Answer {
  readonly code: number;
  readonly text: string;
  readonly warning: string | undefined;
}

/** One byte a second, from before the first test until they are told to go. */
class SlowClients {
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(readonly clients: readonly RawClient[]) {
    for (const [at, { socket }] of clients.entries()) {
      // Half of them do not even come to the end of their first line.
      const text = at % 2 === 0 ? `GET ${MAPS} HTTP/1.1\r\nX-Slow: ${'y'.repeat(900)}` : 'G'.repeat(900);
      let sent = 0;
      this.#timers.push(setInterval(() => socket.writable && socket.write(text[sent++] ?? ''), 1000));
    }
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const { socket } of this.clients) socket.destroy();
  }
}

let api: ApiServerCommand;
let agent: https.Agent;
let slow: SlowClients;
beforeAll(async () => {
  api = await startApiServerCommand();
  agent = new https.Agent({ keepAlive: true, maxSockets: 1, ca: api.admin.ca, ...identity() });
  await send('POST', MAPS, '{"metadata":{"name":"base"},"data":{"a":"1"}}');
  slow = new SlowClients(await Promise.all(Array.from({ length: 100 }, () => openRaw(api))));
});
afterAll(async () => {
  slow?.stop();
  agent?.destroy();
  await api?.close();
});

const identity = () => ({ cert: api.admin.cert, key: api.admin.key });

function send(method: string, path: string, body?: string | Buffer, type = 'application/json') {
  return new Promise<Answer>((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const headers = { 'content-type': type, ...length };
    const request = https.request({ host: '127.0.0.1', port: api.port, agent, method, path, headers });
    request.on('error', reject).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      const warning = response.headers['warning'] as string | undefined;
      response.on('end', () => resolve({ code: response.statusCode ?? 0, text, warning }));
    });
    request.end(body);
  });
}

async function expectServed(): Promise<void> {
  expect(await send('GET', `${MAPS}/base`)).toMatchObject({ code: 200 });
}

const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);
const lists = (depth: number) => nested('[', ']', depth);
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const map = (members: string) => `{"metadata":{"name":"x"},${members}}`;

describe('a body', () => {
  test.each<[string, string, string, string | Buffer, number]>([
    ['that is no JSON', 'POST', 'application/json', '{', 400],
    ['that is empty', 'POST', 'application/json', '', 400],
    ['that is null', 'POST', 'application/json', 'null', 400],
    ['that is a list', 'POST', 'application/json', '[]', 400],
    [
      'that is not UTF-8',
      'POST',
      'application/json',
      Buffer.from('{"metadata":{"name":"\xff"}}', 'latin1'),
      400,
    ],
    ['of a wrong type', 'POST', 'application/json', map('"data":[1]'), 400],
    ['of a wrong type inside', 'POST', 'application/json', map('"data":{"a":1}'), 400],
    ['of another kind', 'POST', 'application/json', '{"kind":"Pod","apiVersion":"v1"}', 400],
    [
      'with a number out of range',
      'POST',
      'application/json',
      '{"metadata":{"name":"x","generation":1e400}}',
      400,
    ],
    ['with NUL in a name', 'POST', 'application/json', '{"metadata":{"name":"a\\u0000"}}', 422],
    ['in an unknown format', 'POST', 'application/x-nothing', '{}', 415],
    ['that is no protobuf', 'POST', 'application/vnd.kubernetes.protobuf', 'k8s\0\xff\xff\xff', 400],
    [
      'larger than what is taken',
      'POST',
      'application/json',
      map(`"data":{"a":"${'x'.repeat(3 * MEGABYTE)}"}`),
      413,
    ],
    ['a hundred thousand lists deep', 'POST', 'application/json', lists(100_000), 400],
    ['with deep data', 'POST', 'application/json', map(`"data":${objects(100_000)}`), 400],
    [
      'with deep managed fields',
      'POST',
      'application/json',
      `{"metadata":{"name":"x","managedFields":[{"fieldsV1":${objects(50_000)}}]}}`,
      400,
    ],
    ['of deep YAML', 'POST', 'application/yaml', lists(100_000), 400],
    ['of deep YAML without brackets', 'POST', 'application/yaml', `${'- '.repeat(100_000)}x\n- y`, 400],
    ['of YAML whose keys are mappings', 'POST', 'application/yaml', `${'? '.repeat(150)}x`, 400],
    [
      'of YAML of many keys',
      'POST',
      'application/yaml',
      Array.from({ length: 100_000 }, (_, at) => `k${at}: 1`).join('\n'),
      400,
    ],
    ['of YAML with laughter', 'POST', 'application/yaml', laughter(), 400],
    ['of two YAML documents', 'POST', 'application/yaml', 'a: 1\n---\nb: 2', 400],
    ['that patches deep', 'PATCH', MERGE, `{"data":${objects(100_000)}}`, 400],
    ['that patches deep strategically', 'PATCH', STRATEGIC, `{"data":${lists(100_000)}}`, 400],
    [
      'that adds depth by a JSON patch',
      'PATCH',
      JSON_PATCH,
      `[{"op":"add","path":"/x","value":${lists(100_000)}}]`,
      400,
    ],
    ['that copies itself again and again', 'PATCH', JSON_PATCH, copies(), 413],
    [
      'of too many operations',
      'PATCH',
      JSON_PATCH,
      JSON.stringify(Array(10_001).fill({ op: 'test', path: '' })),
      413,
    ],
    ['of operations that are none', 'PATCH', JSON_PATCH, '[null]', 400],
    ['that removes the whole object', 'PATCH', JSON_PATCH, '[{"op":"remove","path":""}]', 400],
    [
      "that reaches for the language's own members",
      'PATCH',
      JSON_PATCH,
      '[{"op":"add","path":"/__proto__/x","value":1}]',
      422,
    ],
    [
      'applied and deep',
      'PATCH',
      APPLY,
      `{"apiVersion":"v1","kind":"ConfigMap","data":${objects(100_000)}}`,
      400,
    ],
    ['applied and deep in YAML', 'PATCH', APPLY, `kind: ConfigMap\nzzz: ${lists(100_000)}`, 400],
  ])('%s is refused', async (_, method, type, body, code) => {
    const path = method === 'POST' ? MAPS : `${MAPS}/base?fieldManager=test`;
    const answer = await send(method, path, body, type);
    expect(answer.code, answer.text).toBe(code);
    expect(JSON.parse(answer.text)).toMatchObject({
      kind: 'Status',
      status: 'Failure',
      code,
      message: expect.stringMatching(/./),
    });
    expect(api.isAlive()).toBe(true);
  });

  test('with a member twice is refused when the client is strict, and else the client is warned', async () => {
    const body = '{"metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}';
    const strict = await send('POST', `${MAPS}?fieldValidation=Strict`, body);
    expect(strict).toMatchObject({
      code: 400,
      text: expect.stringContaining('duplicate field \\"data.a\\"'),
    });
    const warned = await send('POST', MAPS, body);
    expect(warned).toMatchObject({ code: 201, warning: expect.stringContaining('duplicate field') });
  });

  test('of YAML with a key twice is judged the same way', async () => {
    const body = (name: string) => `metadata: {name: ${name}}\ndata:\n  a: "1"\n  a: "2"\n`;
    const post = (validation: string) =>
      send(
        'POST',
        `${MAPS}?fieldValidation=${validation}`,
        body(`yaml-${validation.toLowerCase()}`),
        'application/yaml',
      );
    const said = expect.stringContaining('line 4: key');
    expect(await post('Strict')).toMatchObject({ code: 400, text: said });
    expect(await post('Warn')).toMatchObject({
      code: 201,
      warning: said,
      text: expect.stringContaining('"a":"2"'),
    });
    expect(await post('Ignore')).toMatchObject({ code: 201, warning: undefined });
  });

  function laughter(): string {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (let at = 1; at < 9; at += 1)
      lines.push(`k${at}: &k${at} [${Array(9).fill(at === 1 ? '*a' : `*k${at - 1}`)}]`);
    return lines.join('\n');
  }
  function copies(): string {
    const first = { op: 'add', path: '/x', value: ['y'.repeat(1000)] };
    return JSON.stringify([first, ...Array(60).fill({ op: 'copy', from: '/x', path: '/x/-' })]);
  }
});

describe('a query', () => {
  test.each<[string, number]>([
    ['labelSelector=a+in+b', 400],
    [`labelSelector=${'('.repeat(20_000)}`, 400],
    [`labelSelector=${'!'.repeat(20_000)}`, 400],
    [`labelSelector=${'a'.repeat(20_000)}`, 400],
    ['labelSelector=a%00', 400],
    ['fieldSelector=spec.nothing%3Dx', 400],
    ['fieldSelector=%ff%fe', 400],
    ['limit=-1', 400],
    ['limit=many', 400],
    ['continue=zzz', 400],
    ['resourceVersion=abc', 400],
    ['resourceVersionMatch=Exact', 422],
    ['watch=1&resourceVersion=abc', 400],
    ['watch=1&timeoutSeconds=soon', 400],
    ['watch=1&sendInitialEvents=true', 422],
  ])('%.60s is refused', async (query, code) => {
    const answer = await send('GET', `${MAPS}?${query}`);
    expect(answer.code, answer.text).toBe(code);
    expect(JSON.parse(answer.text)).toMatchObject({ kind: 'Status', code });
  });
});

describe('what is no request', () => {
  test.each<[string, string, RegExp]>([
    ['words', 'hello there\r\n\r\n', /^HTTP\/1.1 400 .*"kind":"Status"/s],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', /^HTTP\/1.1 400 /],
    [
      'a head that never ends',
      `GET / HTTP/1.1\r\n${`a: ${'b'.repeat(100)}\r\n`.repeat(11_000)}`,
      /^HTTP\/1.1 431 .*"kind":"Status"/s,
    ],
    [
      'two lengths',
      `POST ${MAPS} HTTP/1.1\r\n${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      /^HTTP\/1.1 400 /,
    ],
    [
      'a chunk of no length',
      `POST ${MAPS} HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
      /HTTP\/1.1 400 /,
    ],
    ['a wish for a tunnel', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', /^$/],
    [
      'a length beyond all bounds',
      `POST ${MAPS} HTTP/1.1\r\n${HEAD}Content-Length: 99999999999\r\n\r\n`,
      /^HTTP\/1.1 413 .*"kind":"Status"/s,
    ],
    [
      'another protocol for a list',
      `GET ${MAPS} HTTP/1.1\r\n${HEAD}Connection: Upgrade\r\nUpgrade: h3\r\n\r\n`,
      /^HTTP\/1.1 200 /,
    ],
  ])('%s: the client is told, and the connection ended', async (_, text, answer) => {
    expect(await exchangeRaw(api, text)).toMatch(answer);
    await expectServed();
  });
});

describe('a connection', () => {
  test('carries large objects in quick succession', async () => {
    const data = 'x'.repeat(100_000);
    for (let at = 0; at < 60; at += 1) {
      const body = JSON.stringify({ metadata: { name: `large-${at}` }, data: { data } });
      expect((await send('POST', MAPS, body)).code).toBe(201);
    }
  });

  test('whose client has closed its side is still answered', async () => {
    const { socket, closed, received } = await openRaw(api);
    socket.end(`GET ${MAPS}/base HTTP/1.1\r\n${HEAD}\r\n`);
    await closed;
    expect(received()).toMatch(/^HTTP\/1.1 200 /);
  });

  test('broken in the middle of a body gives its place back', async () => {
    await Promise.all(
      Array.from({ length: 250 }, async () => {
        const { socket, closed } = await openRaw(api);
        socket.write(`POST ${MAPS} HTTP/1.1\r\n${HEAD}Content-Length: 1000\r\n\r\n{"meta`);
        await sleep(50);
        socket.destroy();
        await closed;
      }),
    );
    const held = /^apiserver_current_inflight_requests{request_kind="mutating"} (\d+)$/m;
    await expect
      .poll(async () => held.exec((await send('GET', '/metrics')).text)?.[1], { timeout: 30_000 })
      .toBe('0');
    expect(api.output()).not.toContain('a request failed');
  });
});

describe('watchers', () => {
  const SPACE = '/api/v1/namespaces/default/secrets';
  /** Secrets, as many as it takes; each change is new bytes. */
  async function grow(count: number, turn: number): Promise<void> {
    const data = Buffer.alloc(300_000, `${turn}`).toString('base64');
    for (let at = 0; at < count; at += 1) {
      const name = `large-${at}`;
      const body = JSON.stringify({ metadata: { name }, data: { data } });
      const answer =
        turn === 0 ? await send('POST', SPACE, body) : await send('PUT', `${SPACE}/${name}`, body);
      expect(answer.code, answer.text.slice(0, 200)).toBeLessThan(300);
    }
  }
  const watch = (query: string, more = '') => `GET ${SPACE}?watch=1&${query} HTTP/1.1\r\n${HEAD}${more}\r\n`;

  test('get the state they begin with, whatever its size', async () => {
    await grow(50, 0);
    const { socket, closed } = await openRaw(api);
    let size = 0;
    let events = 0;
    socket.on('data', (chunk) => {
      size += chunk.length;
      events += chunk.toString('latin1').split('"type":"ADDED"').length - 1;
    });
    socket.write(watch('timeoutSeconds=20&fieldSelector=type%3DOpaque', 'Connection: close\r\n'));
    await expect.poll(() => events, { timeout: 30_000 }).toBe(50);
    socket.destroy();
    await closed;
    expect(size).toBeGreaterThan(18 * MEGABYTE);
  });

  test('that never read cost little, are given up, and hold nobody up', { timeout: 180_000 }, async () => {
    const before = await api.residentMb();
    const deaf: RawClient[] = [];
    for (let at = 0; at < 60; at += 1) {
      const client = await openRaw(api);
      client.socket.pause();
      // Also in disguise: as a wish for another protocol, which is answered past the usual path.
      const disguise = at % 3 === 0 ? 'Connection: Upgrade\r\nUpgrade: x\r\n' : '';
      client.socket.write(watch(at % 2 === 0 ? 'resourceVersion=0' : 'timeoutSeconds=600', disguise));
      deaf.push(client);
    }
    try {
      for (let turn = 1; turn < 4; turn += 1) await grow(50, turn);
      await expectServed();
      // Sixty clients with 20 MiB before them and 60 MiB of changes each would be almost 5 GiB.
      expect((await api.residentMb()) - before).toBeLessThan(700);
    } finally {
      for (const { socket } of deaf) socket.destroy();
    }
    await Promise.all(deaf.map(({ closed }) => closed));
    await expectServed();
  });
});

describe('idle connections', () => {
  // Each is a descriptor here and one there, and both processes have others.
  const COUNT = 10_000;

  test(`${COUNT} of them cost memory in proportion and hold nobody up`, { timeout: 180_000 }, async () => {
    const before = await api.residentMb();
    const sockets: net.Socket[] = [];
    let refused = 0;
    try {
      while (sockets.length < COUNT) {
        const some = Array.from({ length: 500 }, () => net.connect(api.port, '127.0.0.1'));
        sockets.push(...some);
        await Promise.all(some.map((socket) => once(socket, 'connect').catch(() => (refused += 1))));
        for (const socket of some) socket.on('error', () => {});
      }
      await expectServed();
      expect((await api.residentMb()) - before).toBeLessThan(60 + (COUNT * 64) / 1024);
      expect(refused).toBe(0);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    await expectServed();
    expect(api.isAlive()).toBe(true);
  });
});

describe('slow clients', () => {
  test('were told to go, having held nobody up', { timeout: 120_000 }, async () => {
    await Promise.all(slow.clients.map(({ closed }) => closed));
    for (const { received } of slow.clients) expect(received()).toMatch(/^HTTP\/1.1 4(00|08) /);
    await expectServed();
  });
});
