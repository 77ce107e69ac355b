// resourcequota-controller: what the objects of a namespace use of its quotas, counted from the objects.
// Guarantees: a count is written only on the version it was made for, so a reservation made meanwhile is never lost.
import type { V1PersistentVolumeClaim, V1Pod, V1ResourceQuota } from '../../api/gen/types.js';
import { KINDS } from '../../api/kinds/index.js';
import { type KubeObject, keyOf, type Stored } from '../../api/object.js';
import { canonicalQuantity } from '../../api/quantity.js';
import { attributesClasses } from '../../api/quota/scopes.js';
import { countedTypes, usedBy } from '../../api/quota/total.js';
import { growth, type Usage, usageOf } from '../../api/quota/usage.js';
import {
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  RESOURCE_QUOTAS,
  type ResourceType,
  SERVICES,
} from '../../api/resources.js';
import { qualifiedResource } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import { ignoring } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { discover } from '../discovery.js';
import { collectorOptions } from '../garbageCollector/metadata.js';

const NAME = 'resourcequota-controller';
/** Everything is counted again so often, in case something was missed. */
const RESYNC_MS = 60_000;
/** Time for what was deleted together to be counted together. */
const GATHER_MS = 50;

/** Whatever lives in a namespace can be counted. */
const COUNTED: readonly ResourceType[] = KINDS.map(({ type }) => type).filter(({ namespaced }) => namespaced);

type Quota = Stored<V1ResourceQuota>;

/** The status that the quota should have; undefined when it has it. */
export function planQuota(
  { spec, status }: V1ResourceQuota,
  used: Usage,
): NonNullable<V1ResourceQuota['status']> | undefined {
  const hard = (spec?.hard ?? {}) as Usage;
  const isSame = (wanted: Usage, held: Usage = {}) => shape(wanted) === shape(held);
  if (isSame(hard, status?.hard) && isSame(used, status?.used)) return undefined;
  return { hard, used };
}

/** Whether a changed pod gives something back: it is done, or holds less than before. */
export function isRelief(pod: V1Pod, old: V1Pod): boolean {
  return Object.keys(growth(usageOf(PODS, old), usageOf(PODS, pod))).length > 0;
}

/** Whether a changed claim gives something back: it holds less, or is of other classes. */
export function isClaimRelief(claim: V1PersistentVolumeClaim, old: V1PersistentVolumeClaim): boolean {
  const usage = (one: V1PersistentVolumeClaim) => usageOf(PERSISTENT_VOLUME_CLAIMS, one);
  const now = attributesClasses(claim);
  return (
    attributesClasses(old).some((name) => !now.includes(name)) ||
    Object.keys(growth(usage(old), usage(claim))).length > 0
  );
}

export const resourceQuotaController: Controller = {
  name: NAME,
  async run(context) {
    const { informers } = context;
    const quotas = informers.of(RESOURCE_QUOTAS);
    const queue = newQueue(context);
    const add = ({ metadata }: Quota) => queue.add(keyOf(metadata));
    const quotasOf = (namespace: string | undefined) =>
      quotas.list().filter(({ metadata }) => metadata.namespace === namespace);
    const relieve = ({ metadata: { namespace } }: Stored<KubeObject>) => {
      for (const { metadata } of quotasOf(namespace)) queue.addAfter(keyOf(metadata), GATHER_MS);
    };
    const stops = [
      quotas.on({
        added: add,
        // Reservations change the status with every write: only new limits are a reason to count.
        updated: (quota, old) => {
          if (shape(quota.spec?.hard ?? {}) !== shape(old.spec?.hard ?? {})) add(quota);
        },
      }),
      informers.of(PODS).on({
        updated: (pod, old) => {
          // What a pod holds is counted only where somebody limits it.
          if (quotasOf(pod.metadata.namespace).length > 0 && isRelief(pod, old)) relieve(pod);
        },
        deleted: relieve,
      }),
      informers.of(SERVICES).on({ updated: relieve }),
      informers.of(PERSISTENT_VOLUME_CLAIMS).on({
        updated: (claim, old) => {
          if (isClaimRelief(claim, old)) relieve(claim);
        },
      }),
    ];
    const followed = new Set<string>();
    // Kinds are followed when the first quota counts them, by the copies that the garbage collector has anyway.
    const follow = (types: readonly ResourceType[]) => {
      for (const type of types) {
        const name = qualifiedResource(type);
        if (followed.has(name) || name === PODS.resource) continue;
        followed.add(name);
        stops.push(informers.of<KubeObject>(type, collectorOptions(type)).on({ deleted: relieve }));
      }
    };
    try {
      await runLoop(context, NAME, {
        queue,
        workers: 2,
        reconcile: (key) => recount(context, quotas.get(key), follow),
      });
    } finally {
      for (const stop of stops) stop();
    }
  },
};

async function recount(
  { client }: ControllerContext,
  known: Quota | undefined,
  follow: (types: readonly ResourceType[]) => void,
): Promise<number | undefined> {
  if (known === undefined) return undefined;
  const { namespace = '' } = known.metadata;
  // Read before the objects: whatever is reserved after this moment makes the write below a conflict.
  const fieldSelector = `metadata.name=${known.metadata.name}`;
  const [quota] = (await client.of(RESOURCE_QUOTAS).list({ namespace, fieldSelector })).items;
  if (quota === undefined) return undefined;
  const types = countedTypes(Object.keys(quota.spec?.hard ?? {}), await servedTypes(client, quota));
  follow(types);
  const lists = await Promise.all(
    types.map(async (type) => ({ type, items: (await client.of(type).list({ namespace })).items })),
  );
  const status = planQuota(quota, usedBy(quota, lists));
  if (status === undefined) return RESYNC_MS;
  await ignoring(
    ['NotFound'],
    client.of(RESOURCE_QUOTAS).update({ ...quota, status }, { subresource: 'status' }),
  );
  return RESYNC_MS;
}

const BUILT_IN: ReadonlySet<string> = new Set(COUNTED.map((type) => `count/${qualifiedResource(type)}`));

/** The server is asked for its kinds only when a quota counts one that is not Kubernetes' own. */
async function servedTypes(client: Client, { spec }: Quota): Promise<readonly ResourceType[]> {
  const isKnown = (name: string) => !name.startsWith('count/') || BUILT_IN.has(name);
  if (Object.keys(spec?.hard ?? {}).every(isKnown)) return COUNTED;
  const { served } = await discover(client);
  const custom = served.filter(({ namespaced }) => namespaced).map(({ verbs: _, ...type }) => type);
  return [...COUNTED, ...custom.filter((type) => !BUILT_IN.has(`count/${qualifiedResource(type)}`))];
}

function shape(amounts: Usage): string {
  return JSON.stringify(
    Object.entries(amounts)
      .map(([name, amount]) => [name, canonicalQuantity(amount)])
      .sort(),
  );
}
