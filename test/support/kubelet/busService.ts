// A service on a D-Bus daemon, for tests: owns a name and answers calls to it.
// Guarantees: a call that the test does not answer fails by the error that a service without that method gives.
import { once } from 'node:events';
import net from 'node:net';
import {
  type BusMessage,
  CALL,
  decode,
  ERROR,
  encode,
  REPLY,
} from '../../../src/kubelet/shutdown/message.js';

/** The reply's signature and arguments; undefined refuses the call. */
type Answer = (call: BusMessage) => readonly [signature: string, body: readonly unknown[]] | undefined;

const BROKER = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
};

/** Ends with the daemon, or by the socket that it answers. */
export async function serveOnBus(socketPath: string, name: string, answer: Answer): Promise<net.Socket> {
  const socket = net.connect({ path: socketPath });
  await once(socket, 'connect');
  socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(process.getuid?.())).toString('hex')}\r\n`);
  await once(socket, 'data');
  socket.write('BEGIN\r\n');
  let serial = 0;
  const send = (message: Omit<BusMessage, 'serial'>) =>
    socket.write(encode({ ...message, serial: ++serial }));
  send({ ...BROKER, type: CALL, member: 'Hello' });
  send({ ...BROKER, type: CALL, member: 'RequestName', signature: 'su', body: [name, 0] });
  let received = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (piece) => {
    received = Buffer.concat([received, piece]);
    for (let next = decode(received); next !== undefined; next = decode(received)) {
      received = received.subarray(next.length);
      const { message } = next;
      if (message.type !== CALL) continue;
      const [signature, body] = answer(message) ?? [];
      const to = { destination: message.sender ?? '', replySerial: message.serial };
      if (signature === undefined)
        send({ ...to, type: ERROR, errorName: 'org.freedesktop.DBus.Error.UnknownMethod' });
      else send({ ...to, type: REPLY, signature, body: body ?? [] });
    }
  });
  return socket;
}
