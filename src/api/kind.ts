// What the apiserver must know of a kind, in one declaration: names, defaults, checks, columns. Pure.
// Guarantees: the machinery above knows no kind by name; a kind is served because its definition is listed.
import type { V1StatusCause } from './gen/types.js';
import type { KubeObject } from './object.js';
import type { ResourceType } from './resources.js';

/** An object that may still be changed: what defaults and admission work on. */
export type Draft<T> = T extends readonly (infer Item)[]
  ? Draft<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Draft<T[Key]> }
    : T;

export interface Column<T> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly format?: string;
  readonly description: string;
  /** 0 is always shown, 1 with `-o wide`. */
  readonly priority: 0 | 1;
  cell(object: T, now: number): string | number;
}

/** Where a kind keeps what autoscaling/v1 Scale shows. */
export interface ScaleFields<T> {
  replicas(object: T): number;
  statusReplicas(object: T): number;
  selector(object: T): string;
  setReplicas(draft: Draft<T>, replicas: number): void;
}

/** Who writes, through which door, and when: what a strategy may need besides the objects. */
export interface Write {
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly user: {
    readonly name: string;
    readonly uid?: string | undefined;
    readonly groups: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
  };
  /** As metadata has times: whole seconds, UTC. */
  readonly time: string;
}

/** Another form in which the same stored objects are served: an older version, or another group's name for them. */
export interface KindVersion<T extends KubeObject = KubeObject> {
  readonly type: ResourceType;
  /** Its name in src/api/gen/schemas.ts. */
  readonly model: string;
  /** From this form to the stored one. The draft is the function's to keep. */
  toStored(draft: Draft<KubeObject>): Draft<T>;
  /** From the stored form to this one. */
  fromStored(object: T): KubeObject;
  /** Field selectors of this form, by the stored form's name for them: `regarding.name` is `involvedObject.name`. */
  readonly fieldNames?: Readonly<Record<string, string>>;
}

/** What of an object's metadata its writer decides. */
export const STATUS_METADATA = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

/**
 * A write goes: decodeObject, defaults, admission that changes, prepareForCreate or prepareForUpdate, validateObject.
 * Subresources that change what an update may not (binding, finalize, ephemeralcontainers, resize) skip the last two.
 */
export interface KindDefinition<T extends KubeObject = KubeObject> {
  readonly type: ResourceType<T>;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Its name in src/api/gen/schemas.ts, such as V1Pod. */
  readonly model: string;
  readonly hasStatus: boolean;
  /** What of its metadata a write of the status leaves as it was; the rest goes with the status. */
  readonly statusKeeps?: readonly (typeof STATUS_METADATA)[number][];
  /** Subresources that change the status as /status does, each for its own part: `approval`. See prepareForUpdate. */
  readonly statusParts?: readonly string[];
  /** Told to every client that uses the kind, in a Warning header. */
  readonly deprecation?: string;
  readonly versions?: readonly KindVersion<T>[];
  readonly scale?: ScaleFields<T>;
  /** False for kinds whose spec changes do not count (Event, Lease, ConfigMap...): metadata.generation stays unset. */
  readonly hasGeneration: boolean;
  /** A PUT has to name the version that it replaces. */
  readonly needsResourceVersion?: boolean;
  /** A PUT makes it when it is not there. */
  readonly createdByUpdate?: boolean;
  /** Deleted with no policy, it leaves its dependents; with the warning, if there is one. */
  readonly orphansByDefault?: { readonly warning?: string };
  /**
   * There are thousands, and few ask for them: where the store is read as quickly as memory, they are read there. What
   * selectors look at is not kept either.
   */
  readonly isSeldomRead?: boolean;
  /** Names of this kind: DNS subdomain, label, the RBAC kinds' path segment, or an address in its shortest form. */
  readonly nameRule: 'dnsSubdomain' | 'dnsLabel' | 'dnsLabel1035' | 'pathSegment' | 'ipAddress';
  /** Fills in what the user left out; idempotent. */
  defaults?(draft: Draft<T>): void;
  /** Brings a new object into its first state (drops status, sets the phase). */
  prepareForCreate?(draft: Draft<T>, write: Write): void;
  /** Keeps what an update may not touch. The machinery has already kept or replaced status as the subresource asks. */
  prepareForUpdate?(draft: Draft<T>, old: T, write: Write): void;
  /** Every fault as a cause: field path, reason (FieldValueInvalid...), Kubernetes' message. `old` on updates. */
  validate?(object: T, old?: T): readonly V1StatusCause[];
  readonly columns: readonly Column<T>[];
  /** What fieldSelector may ask besides metadata.name and metadata.namespace. Answers for an empty object too. */
  fields?(object: T): Readonly<Record<string, string>>;
}
