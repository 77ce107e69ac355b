// gRPC over a unix socket, on Node's HTTP/2: as much of the protocol as a client of a runtime on its own machine needs.
// Guarantees: a call ends by its deadline; a failure has gRPC's code; when the connection is lost the next call makes another.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { LONGEST_TIMER_MS } from '../base/deadline.js';

/** In the order of their numbers. */
const CODES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;
type GrpcCode = (typeof CODES)[number];

export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  constructor(
    readonly code: GrpcCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

interface GrpcCall<T> {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly request: Uint8Array;
  readonly decode: (message: Buffer) => T;
  /** Every message of the answer, in order. */
  readonly heard: (message: T) => void;
  /** None means for as long as it takes. */
  readonly timeoutMs?: number | undefined;
  /** Ends the call as CANCELLED. */
  readonly signal?: AbortSignal | undefined;
}

/** A flag of compression and a length. */
const HEAD_BYTES = 5;
/** A node full of pods answers lists of some megabytes. */
const LONGEST_MESSAGE = 16 * 1024 * 1024;
/** A list arrives in one go: with HTTP/2's own 64 KiB each piece of it would wait for a word of ours. */
const WINDOW_BYTES = 4 * 1024 * 1024;
/** Node fires a longer timer at once: some 24.8 days. */

interface Link {
  readonly session: ClientHttp2Session;
  /** Calls under way: only they keep the process alive. */
  calls: number;
}

export class GrpcChannel {
  readonly #socketPath: string;

  #link: Link | undefined;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** Resolves when the answer is complete. */
  async call<T>(call: GrpcCall<T>): Promise<void> {
    const link = this.#open();
    if (link.calls++ === 0) link.session.ref();
    try {
      await exchange(link.session, call);
    } finally {
      if (--link.calls === 0) link.session.unref();
    }
  }

  /** What is under way may end; the next call makes another connection. */
  close(): void {
    this.#link?.session.close();
    this.#link = undefined;
  }

  #open(): Link {
    if (this.#link !== undefined && !this.#link.session.closed && !this.#link.session.destroyed)
      return this.#link;
    const session = connectHttp2('http://localhost', {
      createConnection: () => connectSocket(this.#socketPath),
      settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
    });
    const link = { session, calls: 0 };
    const forget = () => {
      if (this.#link === link) this.#link = undefined;
    };
    session.on('connect', () => session.setLocalWindowSize(WINDOW_BYTES));
    session.on('goaway', forget);
    session.on('close', forget);
    session.on('error', forget); // the calls under way hear of it themselves
    session.unref();
    this.#link = link;
    return link;
  }
}

function exchange<T>(session: ClientHttp2Session, call: GrpcCall<T>): Promise<void> {
  const { path, request, timeoutMs, signal, decode, heard } = call;
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...(timeoutMs === undefined ? {} : { 'grpc-timeout': grpcTimeout(timeoutMs) }),
    });
    const answer = new Answer();
    let failure: GrpcError | undefined;
    const giveUp = (error: GrpcError) => {
      failure ??= error;
      stream.close(constants.NGHTTP2_CANCEL);
    };
    const late = () => giveUp(new GrpcError('DEADLINE_EXCEEDED', 'Deadline exceeded'));
    const timer =
      timeoutMs === undefined ? undefined : setTimeout(late, Math.min(timeoutMs, LONGEST_TIMER_MS));
    const cancel = () => giveUp(new GrpcError('CANCELLED', 'Cancelled on client'));
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
    stream.on('response', (headers) => answer.takeHeaders(headers));
    stream.on('trailers', (headers) => answer.takeHeaders(headers));
    stream.on('data', (bytes: Buffer) => {
      let messages: T[];
      try {
        messages = answer.take(bytes).map(decode);
      } catch (error) {
        giveUp(
          error instanceof GrpcError ? error : new GrpcError('INTERNAL', String(error), { cause: error }),
        );
        return;
      }
      for (const message of messages) if (failure === undefined) heard(message);
    });
    stream.on('error', (cause) => {
      failure ??= new GrpcError(codeOfReset(stream), cause.message, { cause });
    });
    stream.on('close', () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      const error = failure ?? answer.failure();
      if (error === undefined) resolve();
      else reject(error);
    });
    stream.end(framed(request));
  });
}

const UNITS = [
  ['m', 1],
  ['S', 1_000],
  ['M', 60_000],
  ['H', 3_600_000],
] as const;

/** In the smallest unit in which it has no more than eight digits: servers refuse more. */
export function grpcTimeout(ms: number): string {
  for (const [unit, unitMs] of UNITS) {
    const amount = Math.ceil(ms / unitMs);
    if (amount < 1e8) return `${amount}${unit}`;
  }
  return '99999999H';
}

/** Puts the pieces of an answer together. */
class Answer {
  #pieces: Buffer[] = [];
  #size = 0;
  /** Of the message that is arriving, once its head is here. */
  #length: number | undefined;
  #status: string | undefined;
  #message = '';

  takeHeaders(headers: IncomingHttpHeaders & { readonly ':status'?: number | undefined }): void {
    const status = headers['grpc-status'];
    if (status !== undefined) {
      this.#status = String(status);
      this.#message = String(headers['grpc-message'] ?? '');
    } else if (headers[':status'] !== undefined && headers[':status'] !== 200)
      this.#message = `the server answered with HTTP status ${headers[':status']}`;
  }

  /** The messages that are complete now. */
  take(bytes: Buffer): Buffer[] {
    this.#pieces.push(bytes);
    this.#size += bytes.length;
    const complete: Buffer[] = [];
    while (this.#size >= HEAD_BYTES + (this.#length ?? 0)) {
      const all = this.#joined();
      this.#length ??= lengthOf(all);
      const end = HEAD_BYTES + this.#length;
      if (all.length < end) break;
      complete.push(all.subarray(HEAD_BYTES, end));
      this.#pieces = [all.subarray(end)];
      this.#size = all.length - end;
      this.#length = undefined;
    }
    return complete;
  }

  /** Undefined when it came whole and well. */
  failure(): GrpcError | undefined {
    if (this.#status === undefined)
      return new GrpcError('UNAVAILABLE', this.#message || 'the connection was lost');
    if (this.#status !== '0')
      return new GrpcError(CODES[Number(this.#status)] ?? 'UNKNOWN', spoken(this.#message));
    return this.#size === 0 ? undefined : new GrpcError('INTERNAL', 'the answer ended within a message');
  }

  #joined(): Buffer {
    const [first] = this.#pieces;
    if (first !== undefined && this.#pieces.length === 1) return first;
    const all = Buffer.concat(this.#pieces);
    this.#pieces = [all];
    return all;
  }
}

function lengthOf(head: Buffer): number {
  if (head[0] !== 0) throw new GrpcError('INTERNAL', 'a message came compressed, which was not asked for');
  const length = head.readUInt32BE(1);
  if (length > LONGEST_MESSAGE)
    throw new GrpcError(
      'RESOURCE_EXHAUSTED',
      `a message of ${length} bytes is longer than ${LONGEST_MESSAGE}`,
    );
  return length;
}

function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, HEAD_BYTES);
  return frame;
}

/** What a stream that the server gave up means, as gRPC's own mapping has it; anything else is a lost connection. */
function codeOfReset({ rstCode }: ClientHttp2Stream): GrpcCode {
  if (rstCode === constants.NGHTTP2_CANCEL) return 'CANCELLED';
  if (rstCode === constants.NGHTTP2_ENHANCE_YOUR_CALM) return 'RESOURCE_EXHAUSTED';
  if (rstCode === constants.NGHTTP2_PROTOCOL_ERROR || rstCode === constants.NGHTTP2_FLOW_CONTROL_ERROR)
    return 'INTERNAL';
  return 'UNAVAILABLE';
}

/** The words of a status come with their special characters escaped as in a URL. */
function spoken(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message; // not escaped as it should be: better than no words
  }
}
