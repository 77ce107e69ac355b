// Connections to the members of an etcd cluster: one is used, the others stand by.
// Guarantees: every call has a deadline; reads go on to the next member, a write is sent once and never again.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { StoreError } from '../store.js';
import { type EtcdTls, parseEndpoint } from './endpoint.js';
import { isPassing, storeErrorOf } from './failure.js';
import { type Methods, methodOf, type WatchCreate, type WatchResponse, watchMethod } from './messages.js';

const CHANNEL: ChannelOptions = {
  // Pages are bounded by number, and an object may have 1.5 MB.
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // A member whose machine is gone says nothing: without these a watch would wait on it for ever.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
};

interface Member {
  readonly url: string;
  readonly client: Client;
}

interface ConnectionOptions {
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  /** One attempt may take this long. */
  readonly timeoutMs: number;
  /** A read that nobody answers is tried again for this long. */
  readonly patienceMs: number;
}

export type WatchStream = ClientDuplexStream<{ readonly createRequest: WatchCreate }, WatchResponse>;

export class Connection {
  readonly #options: ConnectionOptions;

  readonly #members: readonly Member[];
  #used = 0;
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;

    const { endpoints, tls } = options;
    if (endpoints.length === 0) throw new StoreError('UNAVAILABLE', 'no etcd endpoint was given');
    const parsed = endpoints.map((text) => parseEndpoint(text, tls));
    this.#members = parsed.map(({ url, target, secure }) => ({
      url,
      client: new Client(target, secure ? sslOf(tls) : credentials.createInsecure(), CHANNEL),
    }));
  }

  /** Tried at every member until one answers or patience ends. */
  async read<M extends keyof Methods>(method: M, request: Methods[M][0]): Promise<Methods[M][1]> {
    const until = Date.now() + this.#options.patienceMs;
    for (;;) {
      const member = this.#member();
      try {
        return await this.#send(member, method, request);
      } catch (error) {
        const passing = this.#leaveAfter(member, error);
        if (Date.now() >= until) throw passing;
        // All members once without a pause, then slowly.
        if (this.#used === 0) await sleep(100);
      }
    }
  }

  /** Sent once: a second time might undo what another writer did in between. */
  async write<M extends keyof Methods>(method: M, request: Methods[M][0]): Promise<Methods[M][1]> {
    this.#assertOpen();
    const isConnected = ({ client }: Member) =>
      client.getChannel().getConnectivityState(true) === connectivityState.READY;
    // What fails before it is sent is known not to have happened: so find a member that answers first.
    if (!isConnected(this.#member())) await this.read('Range', { key: Buffer.of(0), countOnly: true });
    const member = this.#member();
    try {
      return await this.#send(member, method, request);
    } catch (error) {
      const { message } = this.#leaveAfter(member, error);
      throw new StoreError('UNAVAILABLE', `${message}; the write may have been made or not`, {
        cause: error,
      });
    }
  }

  /** A stream that ends when its member loses touch with the others; the next one goes to another member. */
  watch(): { readonly stream: WatchStream; leave(): void; readonly url: string } {
    this.#assertOpen();
    const member = this.#member();
    const { path, requestSerialize, responseDeserialize } = watchMethod();
    const metadata = new Metadata();
    metadata.set('hasleader', 'true');
    const stream = member.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
    return { stream, leave: () => this.#leave(member), url: member.url };
  }

  close(): void {
    this.#closed = true;
    for (const { client } of this.#members) client.close();
  }

  #member(): Member {
    return this.#members[this.#used] as Member;
  }

  /** Answers a passing failure, after which another member is used; throws any other. */
  #leaveAfter(member: Member, error: unknown): StoreError {
    this.#assertOpen();
    const failure = error as ServiceError;
    const told = storeErrorOf(failure, member.url);
    if (!isPassing(failure)) throw told;
    this.#leave(member);
    return told;
  }

  /** Others may have left it already while this call was under way. */
  #leave(member: Member): void {
    if (this.#member() === member) this.#used = (this.#used + 1) % this.#members.length;
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError('CLOSED', 'the store is closed');
  }

  #send<M extends keyof Methods>(
    { client }: Member,
    name: M,
    request: Methods[M][0],
  ): Promise<Methods[M][1]> {
    this.#assertOpen();
    const { path, requestSerialize, responseDeserialize } = methodOf(name);
    const deadline = Date.now() + this.#options.timeoutMs;
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        { deadline },
        (error, value) => {
          if (error !== null) reject(error);
          else resolve(value as Methods[M][1]);
        },
      );
    });
  }
}

const buffer = (pem: string | Buffer | undefined) => (pem === undefined ? null : Buffer.from(pem));

function sslOf(tls: EtcdTls | undefined) {
  try {
    return credentials.createSsl(buffer(tls?.ca), buffer(tls?.key), buffer(tls?.cert));
  } catch (cause) {
    throw new StoreError(
      'UNAVAILABLE',
      `the certificates for etcd cannot be used: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}
