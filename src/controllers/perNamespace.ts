// Objects that every namespace must have: its `default` ServiceAccount and the certificate of the cluster's CA.
// Guarantees: what was deleted or changed comes back; a namespace that is being deleted gets nothing.
import type { V1ConfigMap, V1Namespace, V1ServiceAccount } from '../api/gen/types.js';
import { type KubeObject, keyOf, type Stored } from '../api/object.js';
import { CONFIG_MAPS, NAMESPACES, type ResourceType, SERVICE_ACCOUNTS } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from './controller.js';

type Wish<T> = { readonly do: 'create'; readonly object: T } | { readonly do: 'update'; readonly object: T };

const ROOT_CA = 'kube-root-ca.crt';
const DESCRIPTION = 'kubernetes.io/description';

export function planServiceAccount(
  namespace: string,
  present: Stored<V1ServiceAccount> | undefined,
): Wish<V1ServiceAccount>[] {
  if (present !== undefined) return [];
  const metadata = { name: 'default', namespace };
  return [{ do: 'create', object: { apiVersion: 'v1', kind: 'ServiceAccount', metadata } }];
}

export function planRootCa(
  namespace: string,
  present: Stored<V1ConfigMap> | undefined,
  rootCa: string,
): Wish<V1ConfigMap>[] {
  const data = { 'ca.crt': rootCa };
  if (present === undefined) {
    const annotations = {
      [DESCRIPTION]: 'CA certificates by which pods can trust the apiserver at its cluster address.',
    };
    const metadata = { name: ROOT_CA, namespace, annotations };
    return [{ do: 'create', object: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } }];
  }
  const keys = Object.keys(present.data ?? {});
  if (keys.length === 1 && present.data?.['ca.crt'] === rootCa) return [];
  return [{ do: 'update', object: { ...present, data } }];
}

export const serviceAccountController: Controller = {
  name: 'serviceaccount-controller',
  run: (context) =>
    keep(context, {
      controller: 'serviceaccount-controller',
      type: SERVICE_ACCOUNTS,
      name: 'default',
      plan: planServiceAccount,
    }),
};

export function rootCaPublisher(rootCa: string): Controller {
  const name = 'root-ca-certificate-publisher-controller';
  const plan = (namespace: string, present: Stored<V1ConfigMap> | undefined) =>
    planRootCa(namespace, present, rootCa);
  return {
    name,
    run: (context) => keep(context, { controller: name, type: CONFIG_MAPS, name: ROOT_CA, plan }),
  };
}

interface Kept<T extends KubeObject> {
  readonly controller: string;
  readonly type: ResourceType<T>;
  readonly name: string;
  plan(namespace: string, present: Stored<T> | undefined): Wish<T>[];
}

function keep<T extends KubeObject>(
  context: ControllerContext,
  { controller, type, name, plan }: Kept<T>,
): Promise<void> {
  const { client, informers } = context;
  const namespaces = informers.of(NAMESPACES);
  const objects = informers.of(type, { fieldSelector: `metadata.name=${name}` });
  const queue = newQueue(context);
  const wake = ({ metadata }: Stored<V1Namespace>) => queue.add(metadata.name);
  namespaces.on({ added: wake, updated: wake });
  const wakeNamespace = ({ metadata }: Stored<T>) => queue.add(metadata.namespace ?? '');
  objects.on({ updated: wakeNamespace, deleted: wakeNamespace });
  const reconcile = async (namespace: string): Promise<undefined> => {
    const present = namespaces.get(namespace);
    if (present === undefined || present.metadata.deletionTimestamp !== undefined) return undefined;
    for (const wish of plan(namespace, objects.get(keyOf({ name, namespace })))) {
      try {
        if (wish.do === 'create') await client.of(type).create(wish.object);
        else await client.of(type).update(wish.object);
      } catch (error) {
        if (!isNoMatter(error)) throw error;
      }
    }
    return undefined;
  };
  return runLoop(context, controller, { queue, workers: 2, reconcile });
}

/** Someone else made it, or the namespace is on its way out. */
function isNoMatter(error: unknown): boolean {
  if (ApiError.is(error, 'AlreadyExists', 'NotFound')) return true;
  return (
    ApiError.is(error, 'Forbidden') &&
    (error.status.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')
  );
}
