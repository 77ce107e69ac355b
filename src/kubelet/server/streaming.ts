// Joins a caller who wants to exec, attach or forward ports with the runtime's own streaming server.
// Guarantees: bytes pass unread both ways after the upgrade, but for the newer WebSocket protocols, which are turned into
// the runtime's SPDY; a refusal is passed on; both ends close together.
import http from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { webSocketHead } from '../../client/webSocket.js';
import { HttpError } from './containers.js';
import {
  CHANNELS_V5,
  joinChannels,
  joinTunnel,
  SPDY_PROTOCOLS,
  SPDY_TUNNEL,
  type WantedStreams,
} from './streams/channels.js';

/** As stock kubelets: a stream on which nothing moves for this long is given up. */
const IDLE_MS = 4 * 60 * 60 * 1000;
const CONNECT_MS = 30_000;
/** They speak of this connection or of the caller's rights here; the runtime needs neither. */
const OWN_HEADERS = new Set(['host', 'authorization', 'cookie', 'content-length', 'transfer-encoding']);

interface StreamRequest {
  readonly request: http.IncomingMessage;
  readonly socket: Duplex;
  /** What came with the headers already. */
  readonly head: Buffer;
  /** Of the runtime's streaming server. */
  readonly url: string;
  /** Of exec and attach; port-forward has none of them. */
  readonly streams?: WantedStreams | undefined;
}

/** Resolves when the upgrade has been answered; the stream itself goes on. Throws HttpError when there is no runtime. */
export async function joinStream({ request, socket, head, url, streams }: StreamRequest): Promise<void> {
  const caller = socket as Socket;
  // Gone while the runtime was asked: nobody would hear of it any more.
  if (caller.destroyed) throw new HttpError(499, 'the caller has gone');
  const spoken = newerProtocol(request, streams === undefined ? SPDY_TUNNEL : CHANNELS_V5);
  const target = new URL(url);
  const headers =
    spoken === undefined
      ? forwarded(request.rawHeaders, target.host)
      : spdyHeaders(SPDY_PROTOCOLS[spoken] ?? '', target.host);
  const method = spoken === undefined ? (request.method ?? 'POST') : 'POST';
  return new Promise((resolve, reject) => {
    const upstream = http.request(target, { method, agent: false, headers });
    const gone = () => upstream.destroy();
    caller.once('close', gone);
    upstream.setTimeout(CONNECT_MS, () => upstream.destroy(new Error('the runtime did not answer in time')));
    upstream.on('error', (cause) => {
      caller.off('close', gone);
      reject(new HttpError(502, `error dialing backend: ${cause.message}`, { cause }));
    });
    upstream.on('upgrade', (response, backend, first) => {
      caller.off('close', gone);
      if (caller.destroyed) backend.destroy();
      (backend as Socket).setTimeout(0);
      for (const end of [caller, backend as Socket]) {
        end.setNoDelay(true);
        end.setTimeout(IDLE_MS, () => end.destroy());
      }
      if (spoken === undefined) {
        caller.write(headOf(response));
        if (first.length > 0) caller.write(first);
        if (head.length > 0) backend.write(head);
        join(caller, backend as Socket);
      } else {
        caller.write(webSocketHead(request.headers['sec-websocket-key'] ?? '', spoken));
        const ends = { caller, callerHead: head, backend, backendHead: first };
        if (streams === undefined) joinTunnel(ends);
        else joinChannels(ends, streams);
      }
      resolve();
    });
    upstream.on('response', (response) => {
      // Not upgraded: the answer is the runtime's, and the last on this connection.
      caller.write(headOf(response));
      response.pipe(caller);
      response.on('error', () => caller.destroy());
      response.on('end', resolve);
    });
    upstream.end();
  });
}

/** A protocol over WebSocket that runtimes may not know, if it was offered: this kubelet speaks it itself. */
function newerProtocol({ headers }: http.IncomingMessage, protocol: string): string | undefined {
  if (headers.upgrade?.toLowerCase() !== 'websocket') return undefined;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
  return offered.includes(protocol) ? protocol : undefined;
}

const spdyHeaders = (protocol: string, host: string) => [
  'Host',
  host,
  'Connection',
  'Upgrade',
  'Upgrade',
  'SPDY/3.1',
  'X-Stream-Protocol-Version',
  protocol,
  'Content-Length',
  '0',
];

/** Ends one side when the other has ended, and frees both when one is gone. */
function join(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy());
    // What was written before is still delivered.
    from.on('close', () => to.destroySoon());
    from.pipe(to);
  }
}

function forwarded(raw: readonly string[], host: string): string[] {
  // Said outright: otherwise a chunked body's end would be sent, and read as the first bytes of the stream.
  const headers = ['Host', host, 'Content-Length', '0'];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name = '', value = ''] = raw.slice(index, index + 2);
    if (!OWN_HEADERS.has(name.toLowerCase())) headers.push(name, value);
  }
  return headers;
}

/** The answer's first lines again, as they came; one that ends the connection says so. */
function headOf(response: http.IncomingMessage): string {
  const { statusCode = 502, statusMessage = '', rawHeaders } = response;
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    const ofThisHop = statusCode !== 101 && /^(connection|transfer-encoding|keep-alive)$/i.test(name);
    if (!ofThisHop) lines.push(`${name}: ${value}`);
  }
  if (statusCode !== 101) lines.push('Connection: close');
  return `${lines.join('\r\n')}\r\n\r\n`;
}
