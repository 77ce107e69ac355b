// What every verb works with: the store, the caches, the kinds, and the seams that other parts of the server fill.
// Guarantees: verbs reach nothing else; time and randomness come from here.
import type { Draft, KindDefinition, KindVersion } from '../api/kind.js';
import type { Log } from '../api/log.js';
import type { KubeObject } from '../api/object.js';
import type { ResourceType } from '../api/resources.js';
import type { Store } from '../store/store.js';
import type { AdmissionPlugin } from './admission.js';
import type { ApiRequest } from './exchange.js';
import type { UserInfo } from './identity.js';
import type { Negotiated } from './output/negotiate.js';
import type { Feed } from './registry/feed.js';
import type { RequestInfo } from './requestInfo.js';
import type { makeServed } from './verbs/served.js';

/** Takes back what a hook did; called when the write that it was made for failed, or was a dry run. */
export type Undo = () => void | Promise<void>;

/** What a kind needs outside its object, such as the addresses of a Service. Runs last before the write. */
export interface WriteHooks {
  beforeCreate?(draft: Draft<KubeObject>): Promise<Undo | undefined> | Undo | undefined;
  beforeUpdate?(draft: Draft<KubeObject>, old: KubeObject): Promise<Undo | undefined> | Undo | undefined;
  /** After the object is gone, or was replaced by `draft`. */
  afterDelete?(old: KubeObject): void;
  afterUpdate?(draft: KubeObject, old: KubeObject): void;
}

/** A resource that is computed when asked and never stored, such as SubjectAccessReview. */
export interface VirtualResource extends ResourceType {
  readonly singular: string;
  /** Answers the object to send back; throws ApiError to refuse. The body is JSON as sent: nothing of it is checked. */
  answer(body: unknown, context: { readonly user: UserInfo; readonly namespace: string }): Promise<object>;
}

/** POST on an object's subresource that another part answers, such as serviceaccounts/token. */
export interface SubresourceHook {
  readonly type: ResourceType;
  readonly subresource: string;
  /** Kind and group version of the body, as discovery tells it. */
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  create(
    object: KubeObject,
    body: KubeObject,
    context: { readonly user: UserInfo; readonly dryRun: boolean },
  ): Promise<KubeObject> | KubeObject;
}

export interface KubeletConnection {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  readonly ca: string | Buffer;
}

export interface Machinery {
  readonly store: Store;
  readonly feed: Feed;
  readonly kinds: readonly KindDefinition[];
  /** The kind behind a group, version and resource. */
  readonly served: ReturnType<typeof makeServed>;
  readonly admission: readonly AdmissionPlugin[];
  /** By `services` or `deployments.apps`. */
  readonly hooks: ReadonlyMap<string, WriteHooks>;
  readonly virtualResources: readonly VirtualResource[];
  readonly subresourceHooks: readonly SubresourceHook[];
  readonly kubelet: KubeletConnection | undefined;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Suffix of a generated name. */
  randomSuffix(length: number): string;
  uid(): string;
}

/** One request after authentication, authorization and parsing. */
export interface Call {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  readonly user: UserInfo;
  readonly negotiated: Negotiated;
  /** Throws Forbidden unless the caller may also do this to the object. */
  demand(verb: string): void;
  /** Set when the client asked for another form than the stored one. */
  readonly served?: KindVersion | undefined;
  /** Sentences for the client, sent as Warning headers. */
  readonly warnings: string[];
}

/** Time as metav1.Time has it: whole seconds. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
