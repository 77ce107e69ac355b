// The server's side of a WebSocket: frames of every length, in any pieces, and those that break the protocol.
import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { WebSocket, webSocketHead } from '../../../../../src/client/webSocket.js';
import { joinTunnel } from '../../../../../src/kubelet/server/streams/channels.js';

const MASK = Buffer.from([1, 2, 3, 4]);

/** A client's frame: masked, its length in as many bytes as it needs. */
function frame(first: number, body: Buffer, { masked = true } = {}): Buffer {
  const size = body.length;
  const head = Buffer.alloc(size < 126 ? 2 : size < 65_536 ? 4 : 10);
  head[0] = first;
  head[1] = (masked ? 0x80 : 0) | (size < 126 ? size : size < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(size, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(size), 2);
  const hidden = Buffer.from(body.map((byte, i) => byte ^ (masked ? (MASK[i % 4] ?? 0) : 0)));
  return Buffer.concat([head, ...(masked ? [MASK] : []), hidden]);
}

/** One end of a socket: what is written to it, and a way to let something come. */
function end() {
  const written: Buffer[] = [];
  const socket = new Duplex({
    read: () => {},
    write: (chunk, _, done) => {
      written.push(chunk);
      done();
    },
  });
  return { socket, written: () => Buffer.concat(written) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

function listening() {
  const near = end();
  const heard: string[] = [];
  const webSocket = new WebSocket(near.socket);
  webSocket.listen(
    {
      piece: (bytes, isFirst) => {
        if (isFirst) heard.push('');
        heard.push(heard.pop() + bytes.toString());
      },
      closed: () => heard.push('closed'),
    },
    Buffer.alloc(0),
  );
  return { ...near, heard, webSocket };
}

test('the answer to the handshake is the one of RFC 6455', () => {
  expect(webSocketHead('dGhlIHNhbXBsZSBub25jZQ==', 'x')).toContain(
    'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: x\r\n\r\n',
  );
});

test.each([1, 125, 126, 65_535, 65_536, 200_000])(
  'a message of %d bytes comes whole in any pieces',
  async (size) => {
    const { socket, heard } = listening();
    const bytes = frame(0x82, Buffer.alloc(size, 'x'));
    for (let at = 0; at < bytes.length; at += 60_001) socket.push(bytes.subarray(at, at + 60_001));
    await turn();
    await turn();
    expect(heard).toEqual(['x'.repeat(size)]);
  },
);

test('a message that comes byte by byte comes whole', async () => {
  const { socket, heard } = listening();
  for (const byte of Buffer.concat([frame(0x82, Buffer.alloc(300, 'x')), frame(0x81, Buffer.from('y'))]))
    socket.push(Buffer.of(byte));
  await turn();
  await turn();
  expect(heard).toEqual(['x'.repeat(300), 'y']);
});

test('a message of which the end does not come is handed on, not held', async () => {
  const { socket, heard } = listening();
  const head = Buffer.from([0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, ...MASK]);
  socket.push(Buffer.concat([head, frame(0, Buffer.from('ab')).subarray(6)]));
  await turn();
  expect(heard).toEqual(['ab']);
});

test('pings of one who does not read are not answered one by one', async () => {
  const { socket, written } = listening();
  const done: (() => void)[] = [];
  socket._write = (_chunk, _, callback) => void done.push(callback);
  socket._writev = undefined as never;
  for (let i = 0; i < 5000; i += 1) socket.push(frame(0x89, Buffer.alloc(100, i)));
  await turn();
  await turn();
  expect(socket.writableLength).toBeLessThan(2 * socket.writableHighWaterMark);
  expect(written()).toHaveLength(0);
});

test('fragments are one message, a ping between them is answered', async () => {
  const { socket, heard, written } = listening();
  socket.push(
    Buffer.concat([
      frame(0x02, Buffer.from('one ')),
      frame(0x89, Buffer.from('p')),
      frame(0x80, Buffer.from('two')),
    ]),
  );
  await turn();
  expect(heard).toEqual(['one two']);
  expect(written()).toEqual(Buffer.from([0x8a, 1, 'p'.charCodeAt(0)]));
});

test.each([
  ['a frame without a mask', frame(0x82, Buffer.from('x'), { masked: false }), 1002],
  ['a reserved bit', frame(0xc2, Buffer.from('x')), 1002],
  ['an unknown opcode', frame(0x83, Buffer.from('x')), 1002],
  ['a continuation of nothing', frame(0x80, Buffer.from('x')), 1002],
  ['a long ping', frame(0x89, Buffer.alloc(126)), 1002],
  ['a ping in fragments', frame(0x09, Buffer.from('x')), 1002],
  ['a close', frame(0x88, Buffer.from([3, 0xe8])), 1000],
])('%s ends the connection', async (_, bytes, code) => {
  const { socket, heard, written } = listening();
  socket.push(bytes);
  socket.push(frame(0x82, Buffer.from('after')));
  await turn();
  expect(heard).toEqual([]);
  expect([...written()]).toEqual([0x88, 2, code >> 8, code & 0xff]);
});

test('a tunnel hands on bytes, and both ends close together', async () => {
  const [caller, backend] = [end(), end()];
  joinTunnel({
    caller: caller.socket,
    callerHead: frame(0x82, Buffer.from('early ')),
    backend: backend.socket,
    backendHead: Buffer.from('hello'),
  });
  caller.socket.push(frame(0x82, Buffer.from('later')));
  backend.socket.push(Buffer.from('!'));
  await turn();
  expect(backend.written().toString()).toBe('early later');
  expect(caller.written().toString('latin1')).toBe('\x82\x05hello\x82\x01!');
  caller.socket.destroy();
  await turn();
  await turn();
  expect(backend.socket.destroyed).toBe(true);
});
