// kubectl's newer streams over WebSocket, carried to a runtime that speaks SPDY: v5 channels, and SPDY inside WebSocket.
// Guarantees: a closed stdin arrives as its end; the reader's pace is the writer's; both ends close together.
import type { Duplex } from 'node:stream';
import { NORMAL_CLOSURE, WebSocket } from '../../../client/webSocket.js';
import { SpdyClient } from './spdy.js';

/** exec and attach of kubectl 1.31 and later. */
export const CHANNELS_V5 = 'v5.channel.k8s.io';
/** port-forward of the same. */
export const SPDY_TUNNEL = 'SPDY/3.1+portforward.k8s.io';

/** What the runtime is asked for in place of each. */
export const SPDY_PROTOCOLS: Readonly<Record<string, string>> = {
  [CHANNELS_V5]: 'v4.channel.k8s.io',
  [SPDY_TUNNEL]: 'portforward.k8s.io',
};

const CHANNELS = ['stdin', 'stdout', 'stderr', 'error', 'resize'] as const;
const CLOSE_CHANNEL = 255;

interface Ends {
  readonly caller: Duplex;
  readonly callerHead: Buffer;
  readonly backend: Duplex;
  readonly backendHead: Buffer;
}

export interface WantedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export function joinChannels(
  { caller, callerHead, backend, backendHead }: Ends,
  wanted: WantedStreams,
): void {
  const webSocket = new WebSocket(caller);
  const spdy = new SpdyClient(backend);
  // An empty message on the first channel that the caller reads tells that the connection stands.
  const first = wanted.stdout ? 'stdout' : wanted.stderr ? 'stderr' : 'error';
  webSocket.send(Buffer.of(CHANNELS.indexOf(first)));
  const streams = new Map<number, number>();
  const channels = new Map<number, number>();
  const isWanted = { ...wanted, error: true, resize: wanted.tty };
  // The error stream comes first, as stock clients open it.
  for (const name of ['error', 'stdin', 'stdout', 'stderr', 'resize'] as const)
    if (isWanted[name]) {
      const stream = spdy.open({ streamtype: name });
      streams.set(CHANNELS.indexOf(name), stream);
      channels.set(stream, CHANNELS.indexOf(name));
    }
  spdy.listen(
    {
      data(stream, bytes) {
        const channel = channels.get(stream);
        if (channel === undefined) return;
        if (!webSocket.send(Buffer.of(channel), bytes)) holdUntilDrained(backend, caller);
      },
      ended: () => {}, // the connection's end tells of them all
      closed: () => webSocket.close(NORMAL_CLOSURE),
    },
    backendHead,
  );
  /** Of the message that comes now. */
  let channel = -1;
  webSocket.listen(
    {
      piece(bytes, isFirst) {
        if (isFirst) channel = bytes[0] ?? -1;
        const rest = isFirst ? bytes.subarray(1) : bytes;
        const stream = streams.get((channel === CLOSE_CHANNEL ? rest[0] : channel) ?? -1);
        if (stream === undefined || rest.length === 0) return;
        if (channel === CLOSE_CHANNEL) spdy.end(stream);
        else if (!spdy.send(stream, rest)) holdUntilDrained(caller, backend);
      },
      closed: () => backend.destroy(),
    },
    callerHead,
  );
}

/** The bytes of a SPDY connection, each message a piece of them. */
export function joinTunnel({ caller, callerHead, backend, backendHead }: Ends): void {
  const webSocket = new WebSocket(caller);
  const pass = (bytes: Buffer) => {
    if (!webSocket.send(bytes)) holdUntilDrained(backend, caller);
  };
  if (backendHead.length > 0) pass(backendHead);
  backend.on('data', pass);
  backend.on('error', () => backend.destroy());
  backend.on('close', () => webSocket.close(NORMAL_CLOSURE));
  webSocket.listen(
    {
      piece(bytes) {
        if (!backend.write(bytes)) holdUntilDrained(caller, backend);
      },
      closed: () => backend.destroy(),
    },
    callerHead,
  );
}

function holdUntilDrained(from: Duplex, to: Duplex): void {
  if (from.isPaused()) return;
  from.pause();
  to.once('drain', () => from.resume());
}
