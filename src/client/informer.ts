// A local, always-current copy of a resource: list, then watch, for ever.
// Guarantees: handlers see each change once and in order, after the copy has it; objects are frozen.
import type { KubeObject, Stored } from '../api/object.js';
import type { ResourceType } from '../api/resources.js';

export interface InformerHandler<T extends KubeObject> {
  added?(object: Stored<T>): void;
  updated?(object: Stored<T>, previous: Stored<T>): void;
  deleted?(object: Stored<T>): void;
}

/** Values under which an object is found, such as the node of a pod. */
export type IndexFunction<T extends KubeObject> = (object: Stored<T>) => readonly string[];

export interface Informer<T extends KubeObject> {
  readonly type: ResourceType<T>;
  /** By `namespace/name` or `name`. */
  get(key: string): Stored<T> | undefined;
  list(): readonly Stored<T>[];
  /** Adds an index; the same name twice is the same index. May be called at any time. */
  index(name: string, values: IndexFunction<T>): void;
  byIndex(name: string, value: string): readonly Stored<T>[];
  /** Objects that are already there are told as added. Returns the function that stops. */
  on(handler: InformerHandler<T>): () => void;
  /** Resolves after the first complete list has been delivered to the handlers. */
  synced(): Promise<void>;
  hasSynced(): boolean;
}

export interface InformerOptions<T extends KubeObject = KubeObject, Kept extends KubeObject = T> {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** The server sends no more than metadata. */
  readonly metadataOnly?: boolean;
  /** What the copy holds of each object; the rest is forgotten as it arrives. Informers share by the function itself. */
  keep?(object: Stored<T>): Stored<Kept>;
}

/** One informer for each resource and selector, shared by all who ask. */
export interface Informers {
  /** Starts the informer at the first request. */
  of<T extends KubeObject, Kept extends KubeObject = T>(
    type: ResourceType<T>,
    options?: InformerOptions<T, Kept>,
  ): Informer<Kept>;
  /** Resolves when every informer asked for so far has synced. */
  synced(): Promise<void>;
  stop(): void;
}
