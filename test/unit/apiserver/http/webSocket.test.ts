// Watches and logs over a WebSocket: what is held for a reader, and that memory which is used again arrives as it was.
import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { sendOverWebSocket } from '../../../../src/apiserver/http/webSocket.js';
import { PIECE } from '../../../../src/apiserver/registry/frameChunks.js';

/** A socket whose other end takes nothing until it is told to. */
function lazySocket() {
  const taken: Buffer[] = [];
  let waiting: (() => void) | undefined;
  let isReading = false;
  const socket = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _, done) => {
      waiting = () => {
        // What is sent is what the memory holds when it leaves.
        taken.push(Buffer.from(chunk));
        done();
      };
      if (isReading) setImmediate(waiting);
    },
  });
  const readOn = () => {
    isReading = true;
    waiting?.();
  };
  return { socket, taken, readOn };
}

/** Events in pieces as the registry makes them: in one memory. */
function pieces(lines: readonly string[]) {
  const text = Buffer.from(lines.map((line) => `${line}\n`).join(''));
  const memory = Buffer.alloc(PIECE);
  const asked = { count: 0 };
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < text.length; at += PIECE) {
      asked.count += 1;
      yield memory.subarray(0, text.copy(memory, 0, at, at + PIECE));
    }
  }
  return { body: body(), asked };
}

function messagesOf(bytes: Buffer): string[] {
  const messages: string[] = [];
  let parts: Buffer[] = [];
  for (let at = bytes.indexOf('\r\n\r\n') + 4; at < bytes.length; ) {
    const [first = 0, short = 0] = bytes.subarray(at);
    const head = short === 127 ? 10 : short === 126 ? 4 : 2;
    const length =
      short === 127
        ? Number(bytes.readBigUInt64BE(at + 2))
        : short === 126
          ? bytes.readUInt16BE(at + 2)
          : short;
    if ((first & 0x0f) === 8) break;
    parts.push(bytes.subarray(at + head, at + head + length));
    at += head + length;
    if ((first & 0x80) === 0) continue;
    messages.push(Buffer.concat(parts).toString());
    parts = [];
  }
  return messages;
}

const turns = async () => {
  for (let i = 0; i < 50; i += 1) await new Promise((resolve) => setImmediate(resolve));
};

test.each([
  ['', 2 * PIECE, (text: string) => text],
  // The piece is held beside its text.
  ['base64.binary.k8s.io', PIECE / 2, (text: string) => Buffer.from(text, 'base64').toString()],
])(
  'one who does not read holds a piece (protocol "%s"), and gets all of it when it does',
  async (protocol, most, read) => {
    const lines = [
      `large ${'ü'.repeat(500_000)}`,
      ...Array.from({ length: 3000 }, (_, i) => `small ${i}`),
      ...Array.from({ length: 30 }, (_, i) => `medium ${i} ${'x'.repeat(20_000)}`),
    ];
    const { body, asked } = pieces(lines);
    const { socket, taken, readOn } = lazySocket();
    const sent = sendOverWebSocket(socket, Buffer.alloc(0), {
      key: 'k',
      protocol,
      type: 'application/json',
      body,
    });
    await turns();
    expect(asked.count).toBe(1);
    expect(socket.writableLength).toBeLessThanOrEqual(most);
    readOn();
    await sent;
    socket.end();
    await turns();
    expect(messagesOf(Buffer.concat(taken)).map(read)).toEqual(lines);
  },
);

test('however often a client is waited for, nothing is left listening', async () => {
  // Every piece fills it, and is taken a little later.
  const socket = new Duplex({
    highWaterMark: 1,
    read() {},
    write: (_, __, taken) => void setImmediate(taken),
  });
  const listening = () => socket.listenerCount('drain') + socket.listenerCount('close');
  let sent = 0;
  let most = 0;
  async function* events() {
    for (; sent < 50; sent += 1) {
      yield Buffer.from('{"type":"ADDED","object":{}}\n');
      most = Math.max(most, listening());
    }
  }
  const answer = { key: 'x', protocol: '', type: 'application/json', body: events() };
  await sendOverWebSocket(socket, Buffer.alloc(0), answer);
  expect(sent).toBe(50);
  expect(most).toBeLessThan(6);
});
