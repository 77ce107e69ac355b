// The typed client: verbs on resources, over any transport.
// Guarantees: a refusal by the server is thrown as ApiError with the server's Status; what is returned is as sent.
import type { V1DeleteOptions } from '../api/gen/types.js';
import type { KubeObject, ObjectName, Stored } from '../api/object.js';
import type { ResourceType } from '../api/resources.js';

/** Who an object is, without what it holds: for those who need no more, of kinds that may be large or secret. */
export interface Extent {
  readonly metadataOnly?: boolean;
}

export interface ListQuery extends Extent {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Page size used towards the server; `list` still returns everything. */
  readonly limit?: number;
  readonly resourceVersion?: string;
  /** Makes of each object, as it arrives, what is answered instead: a long list need not be held whole. */
  keep?(object: Stored<KubeObject>): Stored<KubeObject>;
}

export interface ObjectList<T> {
  readonly items: readonly Stored<T>[];
  readonly resourceVersion: string;
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: Stored<T> }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

export interface WatchQuery extends ListQuery {
  /** Watch from here; required, since a watch follows a list. */
  readonly resourceVersion: string;
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
  /** The objects may come without managedFields, and frozen. */
  readonly ignoresManagers?: boolean;
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

export interface WriteOptions {
  readonly subresource?: string;
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

export interface ResourceClient<T extends KubeObject> {
  get(name: ObjectName, extent?: Extent): Promise<Stored<T>>;
  list(query?: ListQuery): Promise<ObjectList<T>>;
  /** Ends normally when the server ends it; throws ApiError (code 410 when the revision is too old). */
  watch(query: WatchQuery): AsyncIterable<WatchEvent<T>>;
  create(object: T, options?: WriteOptions): Promise<Stored<T>>;
  update(object: T, options?: WriteOptions): Promise<Stored<T>>;
  patch(name: ObjectName, type: PatchType, patch: unknown, options?: WriteOptions): Promise<Stored<T>>;
  /** Success also when the object is already gone. */
  delete(name: ObjectName, options?: V1DeleteOptions): Promise<void>;
  /** POST to a subresource that takes and answers its own kind: binding, eviction, token. */
  post<Answer>(name: ObjectName, subresource: string, body: unknown): Promise<Answer>;
}

export interface Client {
  of<T extends KubeObject>(type: ResourceType<T>): ResourceClient<T>;
  /** Any other path; JSON in, JSON out. */
  raw<Answer>(method: string, path: string, body?: unknown): Promise<Answer>;
  close(): void;
}
