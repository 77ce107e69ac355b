// A runtime between the kubelet and containerd that passes every call on, or holds those that a test tells it to.
// Guarantees: bytes pass unread; what was held goes on when it is released; close() ends what is left.
import path from 'node:path';
import {
  Client,
  credentials,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type ServiceError,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const PROTOS = ['cri', 'containerd'].map((name) => path.resolve(`src/cri/proto/${name}.proto`));
const SERVICES = [
  'runtime.v1.RuntimeService',
  'runtime.v1.ImageService',
  'containerd.services.events.v1.Events',
];
const same = (bytes: Buffer) => bytes;

export class CriProxy {
  readonly #server: Server;
  readonly #client: Client;

  readonly #held: (() => void)[] = [];
  #holds: (method: string, request: Buffer) => boolean = () => false;

  private constructor(
    readonly endpoint: string,
    server: Server,
    client: Client,
  ) {
    this.#server = server;
    this.#client = client;
  }

  /** `target` and `socket` are paths of unix sockets. */
  static async open(target: string, socket: string): Promise<CriProxy> {
    const server = new Server();
    const proxy = new CriProxy(
      `unix://${socket}`,
      server,
      new Client(`unix://${target}`, credentials.createInsecure()),
    );
    const proto = loadSync(PROTOS);
    for (const service of SERVICES) {
      const entries = Object.entries(proto[service] as ServiceDefinition);
      const raw = { requestSerialize: same, requestDeserialize: same };
      const answers = { responseSerialize: same, responseDeserialize: same };
      server.addService(
        Object.fromEntries(entries.map(([name, one]) => [name, { ...one, ...raw, ...answers }])),
        Object.fromEntries(
          entries.map(([name, one]) => [
            name,
            one.responseStream ? proxy.#streaming(one.path) : proxy.#passing(name, one.path),
          ]),
        ),
      );
    }
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(proxy.endpoint, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      ),
    );
    return proxy;
  }

  /** Calls of which this is true wait from now on. `request` is its undecoded message. */
  hold(which: (method: string, request: Buffer) => boolean): void {
    this.#holds = which;
  }

  /** How many calls wait. */
  get waiting(): number {
    return this.#held.length;
  }

  release(): void {
    this.#holds = () => false;
    for (const go of this.#held.splice(0)) go();
  }

  close(): void {
    this.#server.forceShutdown();
    this.#client.close();
  }

  #passing(name: string, at: string) {
    return (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
      const go = () =>
        this.#client.makeUnaryRequest(at, same, same, call.request, {}, (error, answer) =>
          error === null ? done(null, answer) : done({ code: error.code, details: error.details }),
        );
      if (this.#holds(name, call.request)) this.#held.push(go);
      else go();
    };
  }
  /** Streams are never held. */
  #streaming(at: string) {
    return (call: ServerWritableStream<Buffer, Buffer>) => {
      const above = this.#client.makeServerStreamRequest(at, same, same, call.request, {});
      above.on('data', (message: Buffer) => call.write(message));
      above.on('end', () => call.end());
      above.on('error', (error: ServiceError) =>
        call.emit('error', { code: error.code, details: error.details }),
      );
      call.on('cancelled', () => above.cancel());
    };
  }
}
