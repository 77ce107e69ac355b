// A TLS connection of a lean client: one question at a time, answers counted but not understood.
// It does as little as can be, because client and server share the machine and only the server is measured.
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import type { Place } from './testbed.js';

export interface Answer {
  readonly status: number;
  readonly bytes: number;
}

export async function openSocket({ tls }: Pick<Place, 'tls'>, port: number, protocol: string) {
  const socket = connect({ host: '127.0.0.1', port, ...tls, ALPNProtocols: [protocol] });
  await once(socket, 'secureConnect');
  socket.setNoDelay(true);
  return socket;
}

export abstract class LeanConnection {
  protected readonly socket: TLSSocket;
  protected done: ((answer: Answer) => void) | undefined;
  protected fail: ((error: Error) => void) | undefined;

  protected constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('data', (piece: Buffer) => this.take(piece));
    socket.on('error', (error) => this.fail?.(error));
    socket.on('close', () => this.fail?.(new Error('the server closed the connection')));
  }

  /** What the server sent. */
  protected abstract take(piece: Buffer): void;

  /** Resolves when the whole answer is there. */
  ask(request: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.socket.destroyed) return reject(new Error('the server closed the connection'));
      this.done = resolve;
      this.fail = reject;
      this.socket.write(request);
    });
  }

  close(): void {
    this.fail = undefined;
    this.socket.destroy();
  }
}
