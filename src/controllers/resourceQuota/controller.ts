// The ResourceQuota controller: recounts what a namespace uses, so that quotas heal from whatever was miscounted.
// Guarantees: only the resources that the quota limits are written; admission's own count is corrected, never trusted.
import type { V1ResourceQuota } from '../../api/gen/types.js';
import { type KubeObject, keyOf, type Stored } from '../../api/object.js';
import { compareQuantities } from '../../api/quantity.js';
import {
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  RESOURCE_QUOTAS,
  type ResourceType,
  SERVICES,
} from '../../api/resources.js';
import type { Client } from '../../client/client.js';
import type { Informers } from '../../client/informer.js';
import { ignoring } from '../claim.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import { discover, type ServedResource } from '../discovery.js';
import { isFinished } from '../pods.js';
import { type Amounts, addAmounts, claimUsage, inScope, podUsage, serviceUsage } from './usage.js';

const NAME = 'resourcequota-controller';
const PERIOD_MS = 5 * 60_000;
/** Many pods end at once; one count for all of them will do. */
const GATHER_MS = 100;
const BY_NAMESPACE = 'namespace';
/** Counted under their plain names too, since the first quotas. */
const PLAIN = new Set(['configmaps', 'secrets', 'replicationcontrollers', 'resourcequotas']);

type Quota = Stored<V1ResourceQuota>;

export const resourceQuotaController: Controller = {
  name: NAME,
  needs: [RESOURCE_QUOTAS, PERSISTENT_VOLUME_CLAIMS],
  run(context) {
    const { informers, client } = context;
    const quotas = informers.of(RESOURCE_QUOTAS);
    quotas.index(BY_NAMESPACE, ({ metadata }) => [metadata.namespace ?? '']);
    const queue = newQueue(context);
    const wake = ({ metadata }: Quota) => queue.add(keyOf(metadata));
    quotas.on({ added: wake, updated: wake });
    const wakeNamespace = ({ metadata }: Stored<KubeObject>) => {
      for (const quota of quotas.byIndex(BY_NAMESPACE, metadata.namespace ?? ''))
        queue.addAfter(keyOf(quota.metadata), GATHER_MS);
    };
    const pods = informers.of(PODS);
    pods.on({
      deleted: wakeNamespace,
      updated: (pod, previous) => {
        if (isFinished(pod) !== isFinished(previous)) wakeNamespace(pod);
      },
    });
    for (const type of [SERVICES, PERSISTENT_VOLUME_CLAIMS])
      informers.of<KubeObject>(type).on({ deleted: wakeNamespace, updated: wakeNamespace });
    for (const type of [PODS, SERVICES, PERSISTENT_VOLUME_CLAIMS])
      informers.of<KubeObject>(type).index(BY_NAMESPACE, ({ metadata }) => [metadata.namespace ?? '']);
    const reconcile = async (key: string): Promise<number | undefined> => {
      const quota = quotas.get(key);
      if (quota === undefined || quota.metadata.deletionTimestamp !== undefined) return undefined;
      const hard = quota.spec.hard ?? {};
      const used = await usedOf({ informers, client }, quota, Object.keys(hard));
      if (sameAmounts(quota.status?.hard, hard) && sameAmounts(quota.status?.used, used)) return PERIOD_MS;
      const update = client
        .of(RESOURCE_QUOTAS)
        .update({ ...quota, status: { hard, used } }, { subresource: 'status' });
      await ignoring(['NotFound'], update);
      return PERIOD_MS;
    };
    return runLoop(context, NAME, { queue, reconcile });
  },
};

interface Ports {
  readonly informers: Informers;
  readonly client: Client;
}

async function usedOf(
  { informers, client }: Ports,
  quota: Quota,
  names: readonly string[],
): Promise<Amounts> {
  const namespace = quota.metadata.namespace ?? '';
  const here = <T extends KubeObject>(type: ResourceType<T>) =>
    informers.of(type).byIndex(BY_NAMESPACE, namespace);
  const scoped = (quota.spec.scopes ?? []).length > 0 || quota.spec.scopeSelector !== undefined;
  let total: Amounts = {};
  for (const pod of here(PODS)) if (inScope(quota.spec, pod)) total = addAmounts(total, podUsage(pod));
  if (!scoped) {
    for (const service of here(SERVICES)) total = addAmounts(total, serviceUsage(service));
    for (const claim of here(PERSISTENT_VOLUME_CLAIMS)) total = addAmounts(total, claimUsage(claim));
    const counted = names.filter((name) => total[name] === undefined && resourceOf(name) !== undefined);
    const served = counted.length === 0 ? [] : await discover(client);
    for (const name of counted) {
      const type = servedAs(served, name);
      if (type === undefined) continue;
      const { items } = await client.of<KubeObject>(type).list({ namespace });
      total = addAmounts(total, { [name]: String(items.length) });
    }
  }
  return Object.fromEntries(names.map((name) => [name, total[name] ?? '0']));
}

/** `count/deployments.apps`, or one of the plain names. */
function resourceOf(name: string): string | undefined {
  if (PLAIN.has(name)) return name;
  return name.startsWith('count/') ? name.slice('count/'.length) : undefined;
}

function servedAs(served: readonly ServedResource[], name: string): ResourceType | undefined {
  const wanted = resourceOf(name);
  const found = served.find(
    ({ group, resource, namespaced }) =>
      namespaced && (group === '' ? resource : `${resource}.${group}`) === wanted,
  );
  if (found === undefined) return undefined;
  const { verbs: _, ...type } = found;
  return type;
}

function sameAmounts(a: Amounts | undefined, b: Amounts): boolean {
  const names = Object.keys(b);
  return (
    Object.keys(a ?? {}).length === names.length &&
    names.every((name) => a?.[name] !== undefined && compareQuantities(a[name], b[name] ?? '0') === 0)
  );
}
