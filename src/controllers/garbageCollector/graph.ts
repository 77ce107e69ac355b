// The objects of all served kinds and who owns whom, out of informers' indexes.
// Guarantees: an owner is found by uid alone, so another object of the same name is never taken for it; an owner in a
// namespace has dependents there alone; a kind that cannot be listed is waited for only so long.
import type { V1OwnerReference } from '../../api/gen/types.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { apiVersionOf, type ResourceType } from '../../api/resources.js';
import type { Informer, Informers } from '../../client/informer.js';
import { collectorOptions } from './metadata.js';

/** How long the first list of a kind is waited for. */
const LIST_MS = 30_000;
const BY_UID = 'uid';
const BY_OWNER = 'owner';

export interface GraphNode {
  readonly type: ResourceType;
  readonly object: Stored<KubeObject>;
}

export class Graph {
  readonly #kinds = new Map<string, Informer<KubeObject>>();
  readonly #waitUntil = new Map<string, number>();

  /** Takes a kind in; false when it was known. */
  add(informers: Informers, type: ResourceType, now: number): Informer<KubeObject> | undefined {
    const key = kindKey(apiVersionOf(type), type.kind);
    if (this.#kinds.has(key)) return undefined;
    const informer = informers.of<KubeObject>(type, collectorOptions(type));
    informer.index(BY_UID, ({ metadata }) => [metadata.uid]);
    informer.index(BY_OWNER, ({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid));
    this.#kinds.set(key, informer);
    this.#waitUntil.set(key, now + LIST_MS);
    return informer;
  }

  typeOf({ apiVersion, kind }: Pick<V1OwnerReference, 'apiVersion' | 'kind'>): ResourceType | undefined {
    const exact = this.#kinds.get(kindKey(apiVersion, kind))?.type;
    if (exact !== undefined) return exact;
    // A reference may name another version of the group than the one that is watched.
    const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
    return [...this.#kinds.values()]
      .map(({ type }) => type)
      .find((type) => type.group === group && type.kind === kind);
  }

  /** Until every kind has been listed, what is missing may only be late; one that cannot be listed is not waited for. */
  isWhole(now: number): boolean {
    if (this.#kinds.size === 0) return false;
    for (const [key, until] of this.#waitUntil) {
      const isThere = this.#kinds.get(key)?.hasSynced() === true;
      if (!isThere && now < until) return false;
      if (isThere) this.#waitUntil.delete(key);
    }
    return true;
  }

  /** Kinds that are not there after their time. */
  missing(now: number): string[] {
    return [...this.#waitUntil].flatMap(([key, until]) =>
      now >= until && this.#kinds.get(key)?.hasSynced() !== true ? [key] : [],
    );
  }

  byUid(uid: string): GraphNode | undefined {
    for (const informer of this.#kinds.values()) {
      const object = informer.byIndex(BY_UID, uid)[0];
      if (object !== undefined) return { type: informer.type, object };
    }
    return undefined;
  }

  /** Of the owner's own namespace; of every one, when it is in none. */
  dependentsOf({ metadata: { uid, namespace } }: Stored<KubeObject>): GraphNode[] {
    return [...this.#kinds.values()].flatMap((informer) =>
      informer
        .byIndex(BY_OWNER, uid)
        .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
        .map((object) => ({ type: informer.type, object })),
    );
  }
}

function kindKey(apiVersion: string, kind: string): string {
  return `${apiVersion} ${kind}`;
}
