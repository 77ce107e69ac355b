// One gRPC connection to a container runtime over its unix socket, with the methods of cri.proto.
// Guarantees: a call ends by its deadline; a failure is a CriError; after the runtime restarts the next calls reconnect.
import { fileURLToPath } from 'node:url';
import {
  type CallOptions,
  Client,
  credentials,
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { CriError } from './runtime.js';

export type ServiceName = 'RuntimeService' | 'ImageService';

/** The default of a call, as the kubelet has it. */
export const DEFAULT_TIMEOUT_MS = 120_000;

const CHANNEL_OPTIONS = {
  // A node full of pods answers lists of some megabytes; gRPC's own limit of 4 would cut a busy node off.
  'grpc.max_receive_message_length': 16 * 1024 * 1024,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 3_000,
  // Two connections in a process never share a socket, so that closing one cannot disturb the other.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
};

let definitions: Readonly<Record<ServiceName, ServiceDefinition>> | undefined;

/** 64-bit numbers as text: what becomes bigint and what number is decided field by field in decode.ts. */
function services(): Readonly<Record<ServiceName, ServiceDefinition>> {
  if (definitions !== undefined) return definitions;
  const file = fileURLToPath(new URL('./proto/cri.proto', import.meta.url));
  const loaded = loadSync(file, { longs: String, enums: String, defaults: true });
  definitions = {
    RuntimeService: loaded['runtime.v1.RuntimeService'] as ServiceDefinition,
    ImageService: loaded['runtime.v1.ImageService'] as ServiceDefinition,
  };
  return definitions;
}

export interface Connection {
  /** `timeoutMs` undefined means no deadline at all. */
  call<T>(
    service: ServiceName,
    method: string,
    request: object,
    options?: { readonly timeoutMs?: number | undefined },
  ): Promise<T>;
  /** The same, with the answer left as the bytes of its message. */
  callBytes(service: ServiceName, method: string, request: object): Promise<Buffer>;
  /** Messages of a stream until it ends; rejects when it breaks. Ending it by the signal is no failure. */
  stream<T>(
    service: ServiceName,
    method: string,
    request: object,
    heard: (message: T) => void,
    options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<void>;
  close(): void;
}

export function connect(endpoint: string): Connection {
  if (!endpoint.startsWith('unix:///'))
    throw new CriError('connect', 'INVALID_ARGUMENT', `${endpoint} is not of the form unix:///path`);
  const client = new Client(endpoint, credentials.createInsecure(), CHANNEL_OPTIONS);
  const unary = <T>(
    method: string,
    { path, requestSerialize }: MethodDefinition<object, object>,
    deserialize: (bytes: Buffer) => T,
    request: object,
    options: CallOptions,
  ) =>
    new Promise<T>((resolve, reject) => {
      client.makeUnaryRequest(path, requestSerialize, deserialize, request, options, (error, value) => {
        if (error !== null) reject(toCriError(method, error));
        else resolve(value as T);
      });
    });
  return {
    call<T>(service: ServiceName, method: string, request: object, options = {}) {
      const definition = definitionOf(service, method);
      const timeoutMs = 'timeoutMs' in options ? options.timeoutMs : DEFAULT_TIMEOUT_MS;
      return unary(
        method,
        definition,
        definition.responseDeserialize as (bytes: Buffer) => T,
        request,
        deadline(timeoutMs as number | undefined),
      );
    },
    callBytes: (service, method, request) =>
      unary(method, definitionOf(service, method), (bytes) => bytes, request, deadline(DEFAULT_TIMEOUT_MS)),
    stream<T>(
      service: ServiceName,
      method: string,
      request: object,
      heard: (message: T) => void,
      { signal, timeoutMs }: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
    ) {
      const { path, requestSerialize, responseDeserialize } = definitionOf(service, method);
      return new Promise<void>((resolve, reject) => {
        const call = client.makeServerStreamRequest(
          path,
          requestSerialize,
          responseDeserialize,
          request,
          deadline(timeoutMs),
        );
        const cancel = () => call.cancel();
        signal?.addEventListener('abort', cancel, { once: true });
        if (signal?.aborted) cancel();
        const ended = (settle: () => void) => {
          signal?.removeEventListener('abort', cancel);
          settle();
        };
        call.on('data', (message) => heard(message as T));
        call.on('end', () => ended(resolve));
        call.on('error', (error) =>
          ended(signal?.aborted ? resolve : () => reject(toCriError(method, error as ServiceError))),
        );
      });
    },
    close: () => client.close(),
  };
}

function definitionOf(service: ServiceName, method: string): MethodDefinition<object, object> {
  const definition = services()[service][method];
  if (definition === undefined) throw new Error(`cri.proto has no ${service}.${method}`);
  return definition as MethodDefinition<object, object>;
}

const deadline = (timeoutMs: number | undefined): CallOptions =>
  timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };

/** `NOT_FOUND` as gRPC's own programs print it: `NotFound`. */
const spoken = (code: string): string =>
  code === 'OK'
    ? code
    : code.toLowerCase().replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The sentence is the one that Kubernetes' events show for a failed call. */
export function toCriError(call: string, error: ServiceError): CriError {
  const code = status[error.code] ?? 'UNKNOWN';
  return new CriError(call, code, `rpc error: code = ${spoken(code)} desc = ${error.details}`, {
    cause: error,
  });
}
