// A way into a node's network for a test outside of it.
// Guarantees: passes bytes on and understands none of them; everything is closed by close().
import { spawn } from 'node:child_process';
import net, { type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

export interface Passage {
  readonly port: number;
  close(): Promise<void>;
}

/** A port here that leads to a port of the loopback inside a network namespace. */
export function openPassage(netnsPath: string, port: number): Promise<Passage> {
  const sockets = new Set<Duplex>();
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    const argv = [`--net=${netnsPath}`, 'busybox', 'nc', '127.0.0.1', String(port)];
    const child = spawn('nsenter', argv, { stdio: ['pipe', 'pipe', 'ignore'] });
    socket.pipe(child.stdin);
    child.stdout.pipe(socket);
    socket.on('close', () => child.kill());
    for (const end of [socket, child.stdin, child.stdout]) end.on('error', () => socket.destroy());
  });
  return listening(server, sockets);
}

async function listening(server: net.Server, sockets: ReadonlySet<Duplex>): Promise<Passage> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
