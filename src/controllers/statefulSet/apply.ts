// What a StatefulSet does to the world: its claims, then its pods.
// Guarantees: a claim that is on its way out is never mounted by a new pod; a name that is taken is no second pod.
import type { V1PersistentVolumeClaim, V1StatefulSet } from '../../api/gen/types.js';
import { controllerOf, keyOf } from '../../api/object.js';
import { PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Informer } from '../../client/informer.js';
import { ignoring } from '../claim.js';
import { admitPods, isNamespaceGoing, type PodOwners } from '../ownedPods.js';
import { isTerminating, type Pod } from '../pods.js';
import { claimsOf, ordinalOf, podName, type StatefulSet, statefulPod } from './identity.js';
import { type StatefulSetAction, type StatefulSetObserved, slotsOf } from './plan.js';
import { claimOwners, isStale } from './retention.js';

interface Ports extends PodOwners<V1StatefulSet> {
  readonly claims: Informer<V1PersistentVolumeClaim>;
}

export async function createStatefulPod(
  ports: Ports,
  set: StatefulSet,
  { ordinal, from }: Extract<StatefulSetAction, { do: 'create' }>,
): Promise<void> {
  const { context, expectations } = ports;
  if (admitPods(ports, set, 1) === 0) return;
  await ensureClaims(ports, set, ordinal);
  const draft = statefulPod({ set, ordinal, ...from });
  const name = podName(set, ordinal);
  const key = keyOf(set.metadata);
  expectations.expectCreates(key, 1);
  try {
    const made = await context.client.of(PODS).create(draft);
    expectations.created(key, made.metadata.uid);
    const message = `create Pod ${name} in StatefulSet ${set.metadata.name} successful`;
    context.record(STATEFUL_SETS, set, { type: 'Normal', reason: 'SuccessfulCreate', message });
  } catch (error) {
    expectations.notCreated(key);
    if (isNamespaceGoing(error)) return;
    if (ApiError.is(error, 'AlreadyExists') && (await isOurs(ports, set, name))) return;
    const why = messageOf(error);
    const message = `create Pod ${name} in StatefulSet ${set.metadata.name} failed error: ${why}`;
    context.record(STATEFUL_SETS, set, { type: 'Warning', reason: 'FailedCreate', message });
    throw error;
  }
}

/** The cache was late: the pod is there, and is this set's. */
async function isOurs({ context }: Ports, set: StatefulSet, name: string): Promise<boolean> {
  const { namespace } = set.metadata;
  const present = await ignoring(['NotFound'], context.client.of(PODS).get({ name, namespace }));
  return present !== undefined && controllerOf(present)?.uid === set.metadata.uid;
}

async function ensureClaims(ports: Ports, set: StatefulSet, ordinal: number, pod?: Pod): Promise<void> {
  const { context, claims } = ports;
  for (const wanted of claimsOf(set, ordinal)) {
    const { name = '', namespace } = wanted.metadata ?? {};
    const present = claims.get(keyOf({ name, namespace }));
    if (present !== undefined) {
      if (!isStale(present, podName(set, ordinal), pod)) continue;
      throw new Error(`claim ${name} still belongs to an earlier pod; waiting until it is gone`);
    }
    try {
      await context.client.of(PERSISTENT_VOLUME_CLAIMS).create(wanted);
      const message = `create Claim ${name} Pod ${podName(set, ordinal)} in StatefulSet ${set.metadata.name} success`;
      context.record(STATEFUL_SETS, set, { type: 'Normal', reason: 'SuccessfulCreate', message });
    } catch (error) {
      if (!ApiError.is(error, 'AlreadyExists')) throw error;
    }
  }
}

/** Gives claims the owners that the retention policy asks for, before a pod is scaled away. */
export async function keepClaims(ports: Ports, { set, pods }: StatefulSetObserved): Promise<void> {
  if ((set.spec.volumeClaimTemplates ?? []).length === 0) return;
  const condemned = new Set<Pod>(slotsOf(set, pods).condemned);
  for (const pod of pods) {
    const ordinal = ordinalOf(set, pod.metadata.name);
    if (ordinal === undefined) continue;
    // It cannot start without them, and will not be made anew while it is there.
    if (pod.status?.phase === 'Pending' && !isTerminating(pod) && !condemned.has(pod))
      await ensureClaims(ports, set, ordinal, pod);
    for (const { metadata } of claimsOf(set, ordinal)) {
      const claim = ports.claims.get(keyOf({ name: metadata?.name ?? '', namespace: metadata?.namespace }));
      if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) continue;
      const ownerReferences = claimOwners({ set, claim, pod, isCondemned: condemned.has(pod) });
      if (ownerReferences === undefined) continue;
      const update = { ...claim, metadata: { ...claim.metadata, ownerReferences } };
      const claims = ports.context.client.of(PERSISTENT_VOLUME_CLAIMS);
      await ignoring(['NotFound'], claims.update(update));
    }
  }
}
