// A request and its answer, independent of how they travel: HTTPS and in-process callers share the path behind these.
// Guarantees: nothing here knows node:http; a body is bytes, or a stream of them.
import type { Duplex } from 'node:stream';
import type { Check } from '../store/store.js';
import type { Credentials, UserInfo } from './identity.js';
import type { WatchedEvent } from './registry/watchStream.js';

export interface ApiRequest {
  readonly method: string;
  /** Path with its query, as sent. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly credentials: Credentials;
  /** Where the client's connection comes from, when it has one. */
  readonly remoteAddress?: string | undefined;
  /** Set for callers in the same process, who are known without credentials. */
  readonly user?: UserInfo;
  /** The whole body. Throws RequestEntityTooLarge. */
  body(): Promise<Buffer>;
  /** Aborted when the client has gone away. */
  readonly signal: AbortSignal;
  /** Asked last before something is written: false when the client has gone away, or may write no more. */
  isAllowed?(): boolean;
  /** True for a caller in this process that takes the events of a watch as objects. */
  readonly takesObjects?: boolean;
  /** Of a leader: see registry/terms. */
  readonly term?: Check | undefined;
}

/** The request, with a body or a user of another origin. What it has, such as its signal, is made when it is asked for. */
export function requestWith(
  request: ApiRequest,
  { body, user = request.user }: { body?: () => Promise<Buffer>; user?: UserInfo | undefined },
): ApiRequest {
  return {
    get method() {
      return request.method;
    },
    get url() {
      return request.url;
    },
    get headers() {
      return request.headers;
    },
    get credentials() {
      return request.credentials;
    },
    get remoteAddress() {
      return request.remoteAddress;
    },
    get signal() {
      return request.signal;
    },
    get takesObjects() {
      return request.takesObjects === true;
    },
    get term() {
      return request.term;
    },
    ...(user === undefined ? {} : { user }),
    body: body ?? (() => request.body()),
    isAllowed: () => request.isAllowed?.() ?? true,
  };
}

/** The largest body that a request may have. */
export const MAX_BODY = 3 * 1024 * 1024;

/** A piece may be of memory that is used again when the next is asked for: see `owned`. */
export interface Stream extends AsyncIterable<Uint8Array> {
  /** Tells that the last piece has been read already, so that its memory need not be held until then. */
  release?(): void;
}

export type Body = Buffer | Stream;

export interface ApiResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
  /** What a watch's body says, for a caller that takes objects: it reads one of the two. */
  readonly events?: AsyncIterable<WatchedEvent>;
  /** Set for a stream that is one answer, such as a list: it may be compressed, and is none for a WebSocket. */
  readonly ends?: boolean;
  /** With status 101: the other side, to be joined to the client's connection byte by byte. */
  readonly tunnel?: Tunnel;
}

export interface Tunnel {
  readonly socket: Duplex;
  /** What the other side sent already. */
  readonly head: Buffer;
}

export const JSON_TYPE = 'application/json';

export function jsonResponse(status: number, value: unknown): ApiResponse {
  return bytesResponse(status, Buffer.from(`${JSON.stringify(value)}\n`));
}

export function bytesResponse(status: number, body: Body, type: string = JSON_TYPE): ApiResponse {
  return { status, headers: { 'content-type': type }, body };
}

export function textResponse(status: number, text: string): ApiResponse {
  return bytesResponse(status, Buffer.from(text), 'text/plain; charset=utf-8');
}
