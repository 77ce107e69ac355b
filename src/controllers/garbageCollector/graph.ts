// The objects of all served kinds and who owns whom, out of informers' indexes.
// Guarantees: an owner is found by uid alone, so another object of the same name is never taken for it.
import type { V1OwnerReference } from '../../api/gen/types.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { apiVersionOf, type ResourceType } from '../../api/resources.js';
import type { Informer, Informers } from '../../client/informer.js';
import { collectorOptions } from './metadata.js';

const BY_UID = 'uid';
const BY_OWNER = 'owner';

export interface GraphNode {
  readonly type: ResourceType;
  readonly object: Stored<KubeObject>;
}

export class Graph {
  readonly #kinds = new Map<string, Informer<KubeObject>>();

  /** Takes a kind in; false when it was known. */
  add(informers: Informers, type: ResourceType): Informer<KubeObject> | undefined {
    const key = kindKey(apiVersionOf(type), type.kind);
    if (this.#kinds.has(key)) return undefined;
    const informer = informers.of<KubeObject>(type, collectorOptions(type));
    informer.index(BY_UID, ({ metadata }) => [metadata.uid]);
    informer.index(BY_OWNER, ({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid));
    this.#kinds.set(key, informer);
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

  /** Until every kind has been listed, what is missing may only be late. */
  isWhole(): boolean {
    return this.#kinds.size > 0 && [...this.#kinds.values()].every((informer) => informer.hasSynced());
  }

  byUid(uid: string): GraphNode | undefined {
    for (const informer of this.#kinds.values()) {
      const object = informer.byIndex(BY_UID, uid)[0];
      if (object !== undefined) return { type: informer.type, object };
    }
    return undefined;
  }

  dependentsOf(uid: string): GraphNode[] {
    return [...this.#kinds.values()].flatMap((informer) =>
      informer.byIndex(BY_OWNER, uid).map((object) => ({ type: informer.type, object })),
    );
  }
}

function kindKey(apiVersion: string, kind: string): string {
  return `${apiVersion} ${kind}`;
}
