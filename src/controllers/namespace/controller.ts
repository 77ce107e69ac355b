// The namespace controller: empties a namespace that is being deleted, then lets it go.
// Guarantees: pods go before what they use; the finalizer stays until nothing is left, also of kinds it cannot name.
import type { V1Namespace } from '../../api/gen/types.js';
import { type KubeObject, keyOf, type Stored } from '../../api/object.js';
import { sameJson } from '../../api/ownKeys.js';
import { NAMESPACES } from '../../api/resources.js';
import { qualifiedResource } from '../../api/status.js';
import { ignoring } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { type Discovery, discover, has, type ServedResource } from '../discovery.js';
import { namespaceConditions, type Remains } from './conditions.js';

const FINALIZER = 'kubernetes';
/** How soon what is terminating is looked at again. */
const AGAIN_MS = 500;
const PARALLEL = 20;

type Namespace = Stored<V1Namespace>;

export const namespaceController: Controller = {
  name: 'namespace-controller',
  run(context) {
    const namespaces = context.informers.of(NAMESPACES);
    const queue = newQueue(context);
    const wake = (namespace: Namespace) => {
      if (isEmptying(namespace)) queue.add(keyOf(namespace.metadata));
    };
    namespaces.on({ added: wake, updated: wake });
    return runLoop(context, namespaceController.name, {
      queue,
      workers: 10,
      reconcile: async (key) => {
        const namespace = namespaces.get(key);
        return namespace === undefined || !isEmptying(namespace)
          ? undefined
          : await empty(context, namespace);
      },
    });
  },
};

function isEmptying({ metadata, spec }: Namespace): boolean {
  return metadata.deletionTimestamp !== undefined && (spec.finalizers ?? []).includes(FINALIZER);
}

/** Pods first: what they mount and who they are must outlive them. */
export function deletionOrder(
  served: readonly ServedResource[],
): [first: ServedResource[], then: ServedResource[]] {
  const deletable = served.filter((type) => type.namespaced && has(type, 'list', 'delete'));
  const isPods = ({ group, resource }: ServedResource) => group === '' && resource === 'pods';
  return [deletable.filter(isPods), deletable.filter((type) => !isPods(type))];
}

async function empty(context: ControllerContext, namespace: Namespace): Promise<number | undefined> {
  const { client } = context;
  const { name } = namespace.metadata;
  const fresh = await ignoring(['NotFound'], client.of(NAMESPACES).get({ name }));
  if (fresh?.metadata.uid !== namespace.metadata.uid || !isEmptying(fresh)) return undefined;
  const remains = await deleteContent(context, name);
  const conditions = namespaceConditions(fresh.status?.conditions ?? [], remains, context.now());
  const status = { ...fresh.status, phase: 'Terminating', conditions };
  const reported = sameJson(fresh.status ?? {}, status)
    ? fresh
    : await client.of(NAMESPACES).update({ ...fresh, status }, { subresource: 'status' });
  const clean = remains.objects.size === 0 && remains.discoveryFailure === undefined;
  if (!clean || remains.deletionFailure !== undefined) return AGAIN_MS;
  const finalizers = (reported.spec.finalizers ?? []).filter((finalizer) => finalizer !== FINALIZER);
  const finalized = { ...reported, spec: { ...reported.spec, finalizers } };
  await ignoring(['NotFound'], client.of(NAMESPACES).update(finalized, { subresource: 'finalize' }));
  return undefined;
}

/** Deletes everything that can be deleted now and counts what is still there afterwards. */
async function deleteContent(context: ControllerContext, namespace: string): Promise<Remains> {
  const objects = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const failures: string[] = [];
  let found: Discovery;
  try {
    found = await discover(context.client);
  } catch (error) {
    return { objects, finalizers, discoveryFailure: `Discovery failed: ${String(error)}` };
  }
  for (const stage of deletionOrder(found.served)) {
    for (const type of stage) {
      try {
        const left = await deleteAll(context, type, namespace);
        if (left.length > 0) objects.set(`${type.resource}.${type.group}`, left.length);
        for (const finalizer of left.flatMap(({ metadata }) => metadata.finalizers ?? []))
          finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
      } catch (error) {
        failures.push(`${qualifiedResource(type)}: ${String(error)}`);
      }
    }
    if (objects.size + failures.length > 0) break;
  }
  const deletionFailure =
    failures.length === 0
      ? undefined
      : `Failed to delete all resource types, ${failures.length} remaining: ${failures.join(', ')}`;
  return { objects, finalizers, deletionFailure, discoveryFailure: undiscovered(found) };
}

/** What is in a group that did not answer is not known: the namespace waits for it, with everything else gone. */
function undiscovered({ failed }: Discovery): string | undefined {
  if (failed.size === 0) return undefined;
  const each = [...failed].map(([group, error]) => `${group}: ${error}`).sort();
  return `Discovery failed for some groups, ${failed.size} failing: ${each.join(', ')}`;
}

async function deleteAll(
  { client }: ControllerContext,
  type: ServedResource,
  namespace: string,
): Promise<readonly Stored<KubeObject>[]> {
  const resource = client.of<KubeObject>(type);
  const { items } = await resource.list({ namespace });
  if (items.length === 0) return items;
  if (has(type, 'deletecollection')) {
    await client.raw('DELETE', collectionOf(type, namespace), { propagationPolicy: 'Background' });
    return (await resource.list({ namespace })).items;
  }
  const pending = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  for (let at = 0; at < pending.length; at += PARALLEL)
    await Promise.all(
      pending.slice(at, at + PARALLEL).map(({ metadata }) =>
        // Background: the content goes anyway, so nobody has to wait for dependents.
        resource.delete(metadata, { propagationPolicy: 'Background' }),
      ),
    );
  return (await resource.list({ namespace })).items;
}

/** One request for all of them, where the server can. */
function collectionOf({ group, version, resource }: ServedResource, namespace: string): string {
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${base}/namespaces/${namespace}/${resource}`;
}
