// Name servers of the outside, played by sockets of a test.
// Guarantees: what a test has put into `closers` is called when it ends, the last first.
import dgram from 'node:dgram';
import type { AddressInfo } from 'node:net';
import packet, { type Packet } from 'dns-packet';
import { afterEach } from 'vitest';

export interface World {
  readonly port: number;
  asked: number;
}

/** One address for every name. */
export const echo = (question: Packet): Packet => ({
  id: question.id ?? 0,
  type: 'response',
  questions: question.questions ?? [],
  answers: [{ name: question.questions?.[0]?.name ?? '', type: 'A', ttl: 60, data: '192.0.2.1' }],
});

/** To be called once in a test file. */
export function dnsWorlds() {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  /** A name server of the outside that answers every A question with one address, on a free port unless one is given. */
  async function world(answer: (question: Packet) => Packet | undefined, port = 0): Promise<World> {
    const socket = dgram.createSocket('udp4');
    const state: World = { port: 0, asked: 0 };
    socket.on('message', (bytes, from) => {
      state.asked++;
      const reply = answer(packet.decode(bytes));
      if (reply !== undefined) socket.send(packet.encode(reply), from.port, from.address);
    });
    await new Promise<void>((resolve) => socket.bind(port, '127.0.0.1', resolve));
    closers.push(() => new Promise<void>((resolve) => socket.close(() => resolve())));
    return Object.assign(state, { port: (socket.address() as AddressInfo).port });
  }
  return { closers, world };
}
