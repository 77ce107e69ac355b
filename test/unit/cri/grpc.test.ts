// gRPC on Node's HTTP/2 against a server of gRPC's own library.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { GrpcChannel, grpcTimeout } from '../../../src/cri/grpc.js';
import { until } from '../../support/until.js';

const bytes = (value: Buffer) => value;
const method = (name: string, responseStream = false) => ({
  path: `/test.Test/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});
const MEGABYTE = 1 << 20;

type Unary = (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => void;

let directory: string;
let server: Server;
let channel: GrpcChannel;
const cancelled: string[] = [];
beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'trellis-grpc-'));
  channel = new GrpcChannel(path.join(directory, 'sock'));
  server = new Server({ 'grpc.max_send_message_length': -1 });
  const [echo, sized, refuse, hang, many] = ['Echo', 'Sized', 'Refuse', 'Hang', 'Many'];
  server.addService(
    Object.fromEntries(
      [echo, sized, refuse, hang, many].map((name = '') => [name, method(name, name === many)]),
    ),
    {
      Echo: ((call, done) => done(null, call.request)) as Unary,
      Sized: ((call, done) => done(null, Buffer.alloc(Number(call.request.toString()), 7))) as Unary,
      Refuse: ((_, done) => done({ code: status.NOT_FOUND, details: 'no “thing” at 100%' })) as Unary,
      Hang: ((call) => call.on('cancelled', () => cancelled.push('Hang'))) as Unary,
      Many: (call: ServerWritableStream<Buffer, Buffer>) => {
        for (let i = 0; i < 100; i++) call.write(Buffer.alloc(i * 100, i));
        call.end();
      },
    },
  );
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${directory}/sock`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    ),
  );
});
afterEach(() => {
  channel.close();
  server.forceShutdown();
  rmSync(directory, { recursive: true });
});

async function ask(name: string, request = '', more: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  const messages: Buffer[] = [];
  const heard = (message: Buffer) => messages.push(message);
  await channel.call({
    path: `/test.Test/${name}`,
    request: Buffer.from(request),
    decode: bytes,
    heard,
    ...more,
  });
  return messages;
}

test('messages come whole, the empty and the large', async () => {
  expect(String(await ask('Echo', 'hello'))).toBe('hello');
  expect((await ask('Echo')).map(({ length }) => length)).toEqual([0]);
  expect((await ask('Sized', String(9 * MEGABYTE))).map(({ length }) => length)).toEqual([9 * MEGABYTE]);
  const all = await Promise.all(Array.from({ length: 50 }, (_, i) => ask('Echo', `${i}`)));
  expect(all.map(String)).toEqual(Array.from({ length: 50 }, (_, i) => `${i}`));
});

test('a stream tells every message in order', async () => {
  const messages = await ask('Many');
  expect(messages.map(({ length }) => length)).toEqual(Array.from({ length: 100 }, (_, i) => i * 100));
  expect(messages[7]?.every((byte) => byte === 7)).toBe(true);
});

test('a message longer than any list is refused', async () => {
  await expect(ask('Sized', String(17 * MEGABYTE))).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  expect(String(await ask('Echo', 'still there'))).toBe('still there');
});

test("a refusal has the server's code and words", async () => {
  await expect(ask('Refuse')).rejects.toMatchObject({ code: 'NOT_FOUND', message: 'no “thing” at 100%' });
  await expect(ask('Unknown')).rejects.toMatchObject({ code: 'UNIMPLEMENTED' });
});

test('a call ends by its deadline or its signal, and the server hears of it', async () => {
  await expect(ask('Hang', '', { timeoutMs: 50 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  await until(() => expect(cancelled).toHaveLength(1));
  const ending = new AbortController();
  const asked = ask('Hang', '', { signal: ending.signal });
  ending.abort();
  await expect(asked).rejects.toMatchObject({ code: 'CANCELLED' });
});

test.each([
  [0.2, '1m'],
  [120_000, '120000m'],
  [99_999_999, '99999999m'],
  [100_000_000, '100000S'],
  [2 ** 31 * 1_000, '35791395M'],
  [1e14, '27777778H'],
  [Number.MAX_SAFE_INTEGER * 1_000, '99999999H'],
])('%d ms are sent as %s, in eight digits at most', (ms, text) => {
  expect(grpcTimeout(ms)).toBe(text);
});

test('a deadline of months is one, not none', async () => {
  expect(String(await ask('Echo', 'hello', { timeoutMs: 100_000_000 }))).toBe('hello');
  const ending = new AbortController();
  const asked = ask('Hang', '', { timeoutMs: 2 ** 33, signal: ending.signal });
  expect(String(await ask('Echo', 'meanwhile'))).toBe('meanwhile');
  ending.abort();
  await expect(asked).rejects.toMatchObject({ code: 'CANCELLED' });
});

test('a server that dies fails the calls under way', async () => {
  const asked = ask('Hang');
  await ask('Echo');
  server.forceShutdown();
  await expect(asked).rejects.toMatchObject({ code: expect.stringMatching(/^(UNAVAILABLE|CANCELLED)$/) });
});

test('a server that speaks something else is said to be no use', async () => {
  const other = createServer((socket) => socket.end('who are you?')).listen(path.join(directory, 'other'));
  const wrong = new GrpcChannel(path.join(directory, 'other'));
  try {
    const call = { path: '/a/b', request: Buffer.alloc(0), decode: bytes, heard: () => {} };
    await expect(wrong.call(call)).rejects.toMatchObject({ name: 'GrpcError' });
  } finally {
    wrong.close();
    other.close();
  }
});
