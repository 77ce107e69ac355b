// What every verb works with: the store, the caches, the kinds, and the hooks that other parts of the server provide.
// Guarantees: verbs reach nothing else; time and randomness come from here.
import type { Draft, KindDefinition, KindVersion } from '../api/kind.js';
import type { Log } from '../api/log.js';
import type { KubeObject } from '../api/object.js';
import type { GroupVersionResource, ResourceType } from '../api/resources.js';
import type { Store, Write } from '../store/store.js';
import type { AdmissionPlugin } from './admission.js';
import type { Definitions } from './customResources/definitions.js';
import type { ApiRequest } from './exchange.js';
import type { UserInfo } from './identity.js';
import type { SlowChecks } from './load/slowChecks.js';
import type { Negotiated } from './output/negotiate.js';
import type { Feed } from './registry/feed.js';
import type { KeyedLock } from './registry/keyedLock.js';
import type { RequestInfo } from './requestInfo.js';
import type { makeServed } from './verbs/served.js';

/** Takes back what admission took; called when the write that it was made for failed, or was a dry run. */
export type Undo = () => void | Promise<void>;

/** What is written together with an object: all of it or nothing. */
interface Companions {
  readonly writes: readonly Write[];
  /** Called when the write was made, was refused or was only tried. */
  release?(): void;
}

/** What a kind needs outside its object, such as the addresses of a Service. Each runs before the write. */
export interface WriteHooks {
  /** Once, before all others. */
  start(server: ServerContext): void;
  stop(): void;
  beforeCreate(draft: Draft<KubeObject>): Promise<Companions>;
  beforeUpdate(draft: Draft<KubeObject>, old: KubeObject): Promise<Companions>;
  /** Before the object goes for good. */
  beforeDelete(old: KubeObject): Promise<Companions>;
}

/** A resource that is computed when asked and never stored, such as SubjectAccessReview. */
export interface VirtualResource extends ResourceType {
  readonly singular: string;
  /** Answers the object to send back; throws ApiError to refuse. The body is JSON as sent: nothing of it is checked. */
  answer(body: unknown, context: { readonly user: UserInfo; readonly namespace: string }): Promise<object>;
}

/** A resource that is measured when it is read and never stored, such as what a pod uses. */
export interface MeasuredResource extends ResourceType {
  readonly singular: string;
  /** The query is that of the list of objects that are measured: selectors, and a name as field selector. */
  list(namespace: string, query: URLSearchParams): Promise<readonly object[]>;
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
  /** Which address of a Node leads to its kubelet: the first of these that it has. */
  readonly addressTypes?: readonly string[];
  /** For kubelets that listen on this machine's loopback alone. */
  readonly allowLoopback?: boolean;
}

export interface ServerContext {
  readonly store: Store;
  readonly feed: Feed;
  /** Of those who read an object and write it again, by its key in the store. */
  readonly turns: KeyedLock;
  readonly kinds: readonly KindDefinition[];
  /** For checks that take long. */
  readonly slowChecks: SlowChecks;
  /** Kinds that came with definitions; undefined for a server that takes none. */
  readonly definitions?: Definitions | undefined;
  /** The kind behind a group, version and resource. */
  readonly served: ReturnType<typeof makeServed>;
  /** What was switched off is found by the server's own parts alone. */
  isServed(type: GroupVersionResource): boolean;
  readonly admission: readonly AdmissionPlugin[];
  /** By `services` or `deployments.apps`. */
  readonly hooks: ReadonlyMap<string, WriteHooks>;
  readonly virtualResources: readonly VirtualResource[];
  readonly measuredResources: readonly MeasuredResource[];
  readonly subresourceHooks: readonly SubresourceHook[];
  readonly kubelet: KubeletConnection | undefined;
  /** The ports on which this server listens; none before it does. */
  ownPorts(): readonly number[];
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
  /** Says something of the request in the audit log. */
  annotate(key: string, value: string): void;
  /** Waits for a turn when that many bytes are to be worked on; undefined when they are few. */
  step(bytes: number): Promise<void> | undefined;
}

let lastSecond = Number.NaN;
let lastText = '';

/** Time as metav1.Time has it: whole seconds. Asked several times a write, so the last answer is kept. */
export function timestamp(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastText = `${new Date(ms).toISOString().slice(0, 19)}Z`;
    lastSecond = second;
  }
  return lastText;
}
