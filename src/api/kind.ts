// What the apiserver must know of a kind, in one declaration: names, defaults, checks, columns. Pure.
// Guarantees: the server above knows no kind by name; a kind is served because its definition is listed.
import type { Decoded, DecodeOptions } from './decode.js';
import type { V1StatusCause } from './gen/types.js';
import type { KubeObject } from './object.js';
import type { ResourceType } from './resources.js';
import type { Structural } from './structural/schema.js';

/** An object that may still be changed: what defaults and admission work on. */
export type Draft<T> = T extends readonly (infer Item)[]
  ? Draft<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Draft<T[Key]> }
    : T;

export interface Column<T> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  /** The type that clients are told, where it is another: a definition's column may be a number or a boolean. */
  readonly shownType?: string;
  readonly format?: string;
  readonly description: string;
  /** 0 is always shown, 1 with `-o wide`. */
  readonly priority: 0 | 1;
  cell(object: T, now: number): string | number | boolean | null;
}

/** Where a kind keeps what autoscaling/v1 Scale shows. */
export interface ScaleFields<T> {
  /** Undefined where the object does not say it. */
  replicas(object: T): number | undefined;
  /** Where that is, as messages name it. */
  readonly replicasPath: string;
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

/** Of a kind that a CustomResourceDefinition made: its schema is its own, not one of the generated ones. */
export interface CustomForm {
  /** Made when it is first asked for. */
  readonly schema: Structural;
  /**
   * True for what was stored since the definition was as it is now, in the version that it stores: it has the schema's form
   * already. Whoever began to write before the change may have stored another version after it.
   */
  isCurrent(revision: number, storedVersion: () => string): boolean;
  /** An object as this form has it, whatever the definition was when it was stored. Undefined when it is so already. */
  current(object: KubeObject): KubeObject | undefined;
}

/** Reads a body where the generated schemas do not say all that there is to check. Throws BadRequest. */
export type BodyReader<T> = (value: unknown, options?: DecodeOptions) => Decoded<T>;

/** Another form in which the same stored objects are served: an older version, or another group's name for them. */
export interface KindVersion<T extends KubeObject = KubeObject> {
  readonly type: ResourceType;
  /** Its name in src/api/gen/schemas.ts. */
  readonly model: string;
  /** From this form to the stored one. The draft is the function's to keep. */
  toStored(draft: Draft<KubeObject>): Draft<T>;
  /** From the stored form to this one. */
  fromStored(object: T): KubeObject;
  readonly custom?: CustomForm;
  readonly decode?: BodyReader<KubeObject>;
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
  readonly custom?: CustomForm;
  readonly decode?: BodyReader<T>;
  /** Where the kind comes from, when it was a definition. */
  readonly definition?: { readonly source: KubeObject; readonly version: string };
  /** What its objects are held against was written by others: its check keeps to a limit of work. */
  readonly mayTakeLong?: boolean;
  /** The kind's name with List behind it, unless given. */
  readonly listKind?: string;
  /** Set while objects go and none may come: why. */
  readonly closedBecause?: string;
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
  /** One request deletes one of them, never all. */
  readonly deletedOneByOne?: boolean;
  /** Deleted with no policy, it leaves its dependents; with the warning, if there is one. */
  readonly orphansByDefault?: { readonly warning?: string };
  /**
   * There are thousands, and few ask for them: where the store is read as quickly as memory, they are read there. What
   * selectors look at is not kept either.
   */
  readonly isSeldomRead?: boolean;
  /** Names of this kind: DNS subdomain, label, the RBAC kinds' path segment, or an address in its shortest form. */
  readonly nameRule: 'dnsSubdomain' | 'dnsLabel' | 'pathSegment' | 'ipAddress';
  /** Fills in what the user left out; idempotent. */
  defaults?(draft: Draft<T>): void;
  /** Brings a new object into its first state (drops status, sets the phase). */
  prepareForCreate?(draft: Draft<T>, write: Write): void;
  /** Keeps what an update may not touch. The server has already kept or replaced status as the subresource asks. */
  prepareForUpdate?(draft: Draft<T>, old: T, write: Write): void;
  /** Changes an object that is to be deleted, before it is decided whether something holds it. */
  prepareForDelete?(draft: Draft<T>, time: string): void;
  /** Every fault as a cause: field path, reason (FieldValueInvalid...), Kubernetes' message. `old` on updates. */
  validate?(object: T, old?: T): readonly V1StatusCause[];
  /** What may be said, but better should not: told to the writer in Warning headers. */
  warnings?(object: T): readonly string[];
  readonly columns: readonly Column<T>[];
  /** What fieldSelector may ask besides metadata.name and metadata.namespace. Answers for an empty object too. */
  fields?(object: T): Readonly<Record<string, string>>;
}
