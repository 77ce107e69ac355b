// The messages of etcd's API as they come and go here, and the methods that carry them.
// Guarantees: 64-bit numbers are numbers: revisions stay far below 2^53.
import { fileURLToPath } from 'node:url';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

interface Header {
  readonly revision: number;
}

export interface KeyValue {
  readonly key: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly value: Buffer;
}

interface RangeRequest {
  readonly key: Uint8Array;
  readonly rangeEnd?: Uint8Array;
  readonly limit?: number;
  readonly revision?: number;
  readonly keysOnly?: boolean;
  readonly countOnly?: boolean;
}

export interface RangeResponse {
  readonly header: Header;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}

export type RequestOp =
  | { readonly requestRange: RangeRequest }
  | { readonly requestPut: { readonly key: Uint8Array; readonly value: Uint8Array } }
  | { readonly requestDeleteRange: { readonly key: Uint8Array; readonly rangeEnd?: Uint8Array } };

export interface Compare {
  readonly result: 'EQUAL';
  readonly target: 'MOD';
  readonly key: Uint8Array;
  readonly modRevision: number;
}

interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}

interface TxnResponse {
  readonly header: Header;
  readonly succeeded: boolean;
  readonly responses: readonly { readonly responseRange?: RangeResponse }[];
}

export interface WatchCreate {
  readonly key: Uint8Array;
  readonly rangeEnd: Uint8Array;
  readonly startRevision: number;
  readonly progressNotify: boolean;
  readonly prevKv: boolean;
  readonly fragment: boolean;
}

export interface WatchEvent {
  readonly type: 'PUT' | 'DELETE';
  readonly kv: KeyValue;
  readonly prevKv: KeyValue | null;
}

export interface WatchResponse {
  readonly header: Header;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compactRevision: number;
  readonly cancelReason: string;
  readonly fragment: boolean;
  readonly events: readonly WatchEvent[];
}

export interface Methods {
  Range: [RangeRequest, RangeResponse];
  Put: [{ readonly key: Uint8Array; readonly value: Uint8Array }, { readonly header: Header }];
  Txn: [TxnRequest, TxnResponse];
  DeleteRange: [
    { readonly key: Uint8Array; readonly rangeEnd?: Uint8Array },
    { readonly header: Header; readonly deleted: number },
  ];
  Compact: [{ readonly revision: number }, { readonly header: Header }];
}

let loaded: { readonly kv: ServiceDefinition; readonly watch: ServiceDefinition } | undefined;

function services() {
  if (loaded !== undefined) return loaded;
  const file = fileURLToPath(new URL('./proto/etcd.proto', import.meta.url));
  const definitions = loadSync(file, { longs: Number, enums: String, defaults: true });
  loaded = {
    kv: definitions['etcdserverpb.KV'] as ServiceDefinition,
    watch: definitions['etcdserverpb.Watch'] as ServiceDefinition,
  };
  return loaded;
}

export function methodOf<M extends keyof Methods>(name: M): MethodDefinition<Methods[M][0], Methods[M][1]> {
  return services().kv[name] as MethodDefinition<Methods[M][0], Methods[M][1]>;
}

export function watchMethod(): MethodDefinition<{ readonly createRequest: WatchCreate }, WatchResponse> {
  return services().watch['Watch'] as MethodDefinition<
    { readonly createRequest: WatchCreate },
    WatchResponse
  >;
}
