// Questions to a name server of the outside, played by a socket of the test.
import dgram from 'node:dgram';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type Asked, MAX_SOCKETS, MAX_WAITING, Upstream } from '../../../src/dns/upstream.js';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Server {
  readonly port: number;
  /** Ports that questions came from. */
  readonly ports: Set<number>;
  readonly ids: number[];
  /** Sends the answers that were held back, and holds no more back. */
  answer(): void;
}

async function server({ holds = false } = {}): Promise<Server> {
  const socket = dgram.createSocket('udp4');
  const held: (() => void)[] = [];
  let isHolding = holds;
  const flush = () => {
    for (const send of held.splice(0)) send();
  };
  const ports = new Set<number>();
  const ids: number[] = [];
  socket.on('message', (bytes, { port, address }) => {
    ports.add(port);
    ids.push(bytes.readUInt16BE(0));
    held.push(() => socket.send(bytes, port, address));
    if (!isHolding) flush();
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  closers.push(() => new Promise<void>((resolve) => socket.close(() => resolve())));
  const { port } = socket.address() as AddressInfo;
  const answer = () => {
    isHolding = false;
    flush();
  };
  return { port, ports, ids, answer };
}

const asked: Asked<number> = {
  encode: (id) => {
    const bytes = Buffer.alloc(12);
    bytes.writeUInt16BE(id);
    return bytes;
  },
  read: (bytes) => bytes.readUInt16BE(0),
};

describe('an upstream', () => {
  test('shares a few sockets among many questions, with ids of their own', async () => {
    const far = await server({ holds: true });
    const upstream = new Upstream({ server: '127.0.0.1', port: far.port });
    const answers = Array.from({ length: 200 }, () => upstream.ask(asked, 5_000));
    await expect.poll(() => far.ids.length).toBe(200);
    expect(upstream.sockets).toBe(MAX_SOCKETS);
    expect(far.ports.size).toBe(MAX_SOCKETS);
    far.answer();
    expect(await Promise.all(answers)).toHaveLength(200);
  });
  test('replaces its sockets, and closes the old ones when nobody waits at them', async () => {
    const far = await server();
    let now = 0;
    const upstream = new Upstream({ server: '127.0.0.1', port: far.port, now: () => now });
    for (let question = 0; question < 5; question += 1) {
      await upstream.ask(asked, 5_000);
      now += 10_000;
    }
    expect(far.ports.size).toBe(5);
    expect(upstream.sockets).toBeLessThanOrEqual(1);
  });
  test('refuses what is too much, and takes questions again afterwards', async () => {
    const far = await server({ holds: true });
    const upstream = new Upstream({ server: '127.0.0.1', port: far.port });
    const flood = Array.from({ length: MAX_WAITING }, () => upstream.ask(asked, 300).catch(() => 'late'));
    await expect(upstream.ask(asked, 300)).rejects.toThrow('too many');
    await Promise.all(flood);
    far.answer();
    // What the flood left in the far socket's queue may still crowd a question out.
    await expect.poll(() => upstream.ask(asked, 500).catch(() => 'late')).not.toBe('late');
  });
  test('tells at once when nobody listens there, and recovers', async () => {
    const far = await server();
    const upstream = new Upstream({ server: '127.0.0.1', port: 9 });
    await expect(upstream.ask(asked, 5_000)).rejects.toThrow('ECONNREFUSED');
    await expect(upstream.ask(asked, 5_000)).rejects.toThrow('ECONNREFUSED');
    expect(upstream.sockets).toBeLessThanOrEqual(1);
    expect(far.ids).toEqual([]);
  });
  test('takes no answer to another question', async () => {
    const far = await server();
    const upstream = new Upstream({ server: '127.0.0.1', port: far.port });
    await expect(upstream.ask({ ...asked, read: () => undefined }, 100)).rejects.toThrow(
      'no answer within 100 ms',
    );
  });
});
