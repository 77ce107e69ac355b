// A probe by opening a TCP connection, and the words of connections that failed.
// Guarantees: the socket is closed whatever happens.
import net from 'node:net';
import { messageOf } from '../../base/errorMessage.js';
import type { ProbeAnswer } from './result.js';

export function probeTcp(options: {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
}): Promise<ProbeAnswer> {
  const { host, port, timeoutMs } = options;
  const address = `${urlHost(host)}:${port}`;
  return new Promise((resolve) => {
    const socket = net.connect({ host, port });
    const end = (answer: ProbeAnswer) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(
      () => end({ outcome: 'failure', output: `dial tcp ${address}: i/o timeout` }),
      timeoutMs,
    );
    socket.once('connect', () => end({ outcome: 'success', output: '' }));
    socket.once('error', (error) => end({ outcome: 'failure', output: dialWords(error, address) }));
  });
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'connect: connection timed out',
};

/** As Kubernetes words it, so that what people search for is found. */
export function dialWords(error: unknown, address: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const words = WORDS[code];
  if (words !== undefined) return `dial tcp ${address}: ${words}`;
  if (code === 'ECONNRESET') return `read tcp ${address}: read: connection reset by peer`;
  return messageOf(error);
}

/** Brackets around an IPv6 address. */
export const urlHost = (host: string) => (net.isIPv6(host) ? `[${host}]` : host);
