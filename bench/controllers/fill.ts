// Many objects put straight into the store of a stopped control plane: its own, copied under other names.
// Guarantees: a copy is as the server wrote it but for names, uids, nodes and addresses; owners point at their copies.
import type { V1Node } from '../../src/api/gen/types.js';
import type { KubeObject, Stored } from '../../src/api/object.js';
import {
  DEPLOYMENTS,
  LEASES,
  NODES,
  PODS,
  REPLICA_SETS,
  type ResourceType,
} from '../../src/api/resources.js';
import { objectKey, resourcePrefix } from '../../src/apiserver/registry/keys.js';
import { openLmdbStore } from '../../src/store/lmdb/store.js';
import type { Store } from '../../src/store/store.js';

const AT_ONCE = 500;

export interface Filling {
  /** Copies of the Deployment `web-0` with all that belongs to it. */
  readonly deployments: number;
  /** Copies of `node-0`, each with a lease. */
  readonly nodes: number;
}

export async function fill(folder: string, { deployments, nodes }: Filling): Promise<void> {
  const store = await openLmdbStore({ path: folder });
  try {
    const batch = new Batch(store);
    const [node] = await read(store, NODES);
    if (node === undefined) throw new Error('there is no node to copy');
    for (let number = 1; number < nodes; number += 1) {
      const copy = renamed(atHome(node, nodes), 'node-0', `node-${number}`, number) as Stored<V1Node>;
      const podCIDR = `10.${128 + (number >> 8)}.${number & 255}.0/24`;
      const spec = { ...copy.spec, podCIDR, podCIDRs: [podCIDR] };
      await batch.create(NODES, { ...copy, spec } as KubeObject);
      await batch.create(LEASES, leaseOf(copy));
    }
    const web = [];
    for (const type of [DEPLOYMENTS, REPLICA_SETS, PODS])
      for (const object of await read(store, type)) web.push({ type, object });
    let pods = 0;
    for (let number = 1; number < deployments; number += 1)
      for (const { type, object } of web) {
        const copy = renamed(object, 'web-0', `web-${number}`, number);
        await batch.create(type, type === PODS ? placed(copy, pods++, nodes) : copy);
      }
    await batch.end();
  } finally {
    await store.close();
  }
}

/** As a node of so large a cluster: it was told how long it may keep Secrets. */
function atHome(node: Stored<KubeObject>, nodes: number): Stored<KubeObject> {
  const annotations = {
    ...node.metadata.annotations,
    'node.alpha.kubernetes.io/ttl': nodes > 2000 ? '300' : '0',
  };
  return { ...node, metadata: { ...node.metadata, annotations } };
}

async function read(store: Store, type: ResourceType): Promise<Stored<KubeObject>[]> {
  const { entries } = await store.list({ prefix: resourcePrefix(type) });
  return entries.map(({ value }) => JSON.parse(String(value)) as Stored<KubeObject>);
}

/** Names in every field, and every uid in it, become those of the copy. */
function renamed(object: Stored<KubeObject>, from: string, to: string, number: number): Stored<KubeObject> {
  const mark = number.toString(16).padStart(8, '0');
  const text = JSON.stringify(object)
    .replaceAll(from, to)
    .replaceAll(/"uid":"[0-9a-f]{8}/g, `"uid":"${mark}`);
  return JSON.parse(text);
}

function placed(pod: Stored<KubeObject>, number: number, nodes: number): Stored<KubeObject> {
  const { spec, status } = pod as unknown as { spec: object; status: object };
  const podIP = `10.${128 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
  return {
    ...pod,
    spec: { ...spec, nodeName: `node-${number % nodes}` },
    status: { ...status, podIP, podIPs: [{ ip: podIP }] },
  } as Stored<KubeObject>;
}

function leaseOf({ metadata }: Stored<KubeObject>): Stored<KubeObject> {
  const { name, uid, creationTimestamp } = metadata;
  const own = {
    name,
    namespace: 'kube-node-lease',
    uid: uid.replace(/^.{8}/, 'ffffffff'),
    creationTimestamp,
  };
  const spec = {
    holderIdentity: name,
    leaseDurationSeconds: 40,
    renewTime: `${creationTimestamp?.slice(0, -1)}.000000Z`,
  };
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: own,
    spec,
  } as unknown as Stored<KubeObject>;
}

class Batch {
  readonly #store: Store;

  #writes: Promise<number>[] = [];
  constructor(store: Store) {
    this.#store = store;
  }

  async create(type: ResourceType, object: KubeObject): Promise<void> {
    const { namespace = '', name = '' } = object.metadata ?? {};
    this.#writes.push(
      this.#store.create(objectKey(type, namespace, name), Buffer.from(JSON.stringify(object))),
    );
    if (this.#writes.length === AT_ONCE) await this.end();
  }

  async end(): Promise<void> {
    await Promise.all(this.#writes);
    this.#writes = [];
  }
}
