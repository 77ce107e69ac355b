// One gRPC connection to a container runtime over its unix socket, with the methods of CRI and containerd's events.
// Guarantees: a call ends by its deadline; a failure is a CriError; after the runtime restarts the next calls reconnect.
import { fileURLToPath } from 'node:url';
import { loadSync, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import { messageOf } from '../base/errorMessage.js';
import { CriError } from './error.js';
import { GrpcChannel, GrpcError } from './grpc.js';

type Method = MethodDefinition<object, object>;
type ServiceName = 'RuntimeService' | 'ImageService' | 'Events';

/** The default of a call, as the kubelet has it. */
export const DEFAULT_TIMEOUT_MS = 120_000;

let definitions: Readonly<Record<ServiceName, ServiceDefinition>> | undefined;

/** 64-bit numbers as text: what becomes bigint and what number is decided field by field in decode.ts. */
function services(): Readonly<Record<ServiceName, ServiceDefinition>> {
  if (definitions !== undefined) return definitions;
  const files = ['cri', 'containerd'].map((name) =>
    fileURLToPath(new URL(`./proto/${name}.proto`, import.meta.url)),
  );
  const loaded = loadSync(files, { longs: String, enums: String, defaults: true });
  definitions = {
    RuntimeService: loaded['runtime.v1.RuntimeService'] as ServiceDefinition,
    ImageService: loaded['runtime.v1.ImageService'] as ServiceDefinition,
    Events: loaded['containerd.services.events.v1.Events'] as ServiceDefinition,
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
  const channel = new GrpcChannel(endpoint.slice('unix://'.length));
  const unary = async <T>(
    method: string,
    { path, requestSerialize }: Method,
    decode: (bytes: Buffer) => T,
    request: object,
    timeoutMs: number | undefined,
  ): Promise<T> => {
    const messages: T[] = [];
    const heard = (message: T) => messages.push(message);
    try {
      await channel.call({ path, request: requestSerialize(request), decode, heard, timeoutMs });
    } catch (error) {
      throw toCriError(method, error);
    }
    if (messages.length !== 1)
      throw new CriError(method, 'INTERNAL', `the runtime answered with ${messages.length} messages`);
    return messages[0] as T;
  };
  return {
    call<T>(service: ServiceName, method: string, request: object, options = {}) {
      const definition = definitionOf(service, method);
      const timeoutMs =
        'timeoutMs' in options ? (options.timeoutMs as number | undefined) : DEFAULT_TIMEOUT_MS;
      return unary(
        method,
        definition,
        definition.responseDeserialize as (bytes: Buffer) => T,
        request,
        timeoutMs,
      );
    },
    callBytes: (service, method, request) =>
      unary(method, definitionOf(service, method), (bytes) => bytes, request, DEFAULT_TIMEOUT_MS),
    async stream<T>(
      service: ServiceName,
      method: string,
      request: object,
      heard: (message: T) => void,
      { signal, timeoutMs }: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
    ) {
      const { path, requestSerialize, responseDeserialize } = definitionOf(service, method);
      const decode = responseDeserialize as (bytes: Buffer) => T;
      try {
        await channel.call({ path, request: requestSerialize(request), decode, heard, signal, timeoutMs });
      } catch (error) {
        if (signal?.aborted !== true) throw toCriError(method, error);
      }
    },
    close: () => channel.close(),
  };
}

function definitionOf(service: ServiceName, method: string): Method {
  const definition = services()[service][method];
  if (definition === undefined) throw new Error(`there is no ${service}.${method}`);
  return definition as Method;
}

/** `NOT_FOUND` as gRPC's own programs print it: `NotFound`. */
const spoken = (code: string): string =>
  code === 'OK'
    ? code
    : code.toLowerCase().replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The sentence is the one that Kubernetes' events show for a failed call. */
function toCriError(call: string, cause: unknown): CriError {
  const code = cause instanceof GrpcError ? cause.code : 'UNAVAILABLE';
  const words = messageOf(cause);
  return new CriError(call, code, `rpc error: code = ${spoken(code)} desc = ${words}`, { cause });
}
