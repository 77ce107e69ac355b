// Pods that belong to one object: what wakes their owner, making them in batches, deleting them.
// Guarantees: everything asked for is expected before it is sent, so a late cache never makes two of anything; no owner makes
// pods faster than its pace allows.
import type { V1Pod, V1PodTemplateSpec } from '../api/gen/types.js';
import { controllerOf, type KubeObject, keyOf, type Stored } from '../api/object.js';
import type { ResourceType } from '../api/resources.js';
import { PODS } from '../api/resources.js';
import type { LabelMatcher } from '../api/selectors.js';
import { ApiError } from '../api/status.js';
import { messageOf } from '../base/errorMessage.js';
import type { Informer } from '../client/informer.js';
import type { WorkQueue } from '../client/workQueue.js';
import { candidatesOf, carryOutClaims, controllerReference, indexByController, planClaims } from './claim.js';
import { type ControllerContext, newQueue } from './controller.js';
import { Expectations } from './expectations.js';
import { Pace, type PaceOptions } from './pace.js';
import { isTerminating, type Pod } from './pods.js';
import { slowStart } from './slowStart.js';
import { Writes } from './writes.js';

/** What a controller works with whose objects own pods. */
export interface PodOwners<T extends KubeObject> {
  readonly context: ControllerContext;
  readonly type: ResourceType<T>;
  readonly owners: Informer<T>;
  /** Indexed by controller. */
  readonly pods: Informer<V1Pod>;
  readonly expectations: Expectations;
  readonly pace: Pace;
  readonly queue: WorkQueue;
  readonly writes: Writes;
  selectorOf(owner: Stored<T>): LabelMatcher;
}

export function podOwners<T extends KubeObject>(
  context: ControllerContext,
  { failuresCount = true, ...of }: Pick<PodOwners<T>, 'type' | 'selectorOf'> & Partial<PaceOptions>,
): PodOwners<T> {
  const { informers, now } = context;
  const pods: Informer<V1Pod> = informers.of(PODS);
  indexByController(pods);
  return {
    ...of,
    context,
    owners: informers.of(of.type),
    pods,
    expectations: new Expectations(now),
    pace: new Pace({ failuresCount }),
    queue: newQueue(context),
    writes: new Writes(now),
  };
}

/** An owner is woken by its own changes and those of its pods; a pod without one wakes every object that might take it in. */
export function watchOwnedPods<T extends KubeObject>(parts: PodOwners<T>): void {
  const { context, pods, expectations, pace, queue } = parts;
  watchOwners(parts);
  const gone = (pod: Pod) => {
    const key = ownerKeyOf(parts.type, pod);
    if (key === undefined) return;
    expectations.observedDelete(key, pod.metadata.uid);
    queue.add(key);
  };
  pods.on({
    added: (pod) => {
      const key = ownerKeyOf(parts.type, pod);
      if (key === undefined) return wakeAdopters(parts, pod);
      expectations.observedCreate(key, pod.metadata.uid);
      if (isTerminating(pod)) expectations.observedDelete(key, pod.metadata.uid);
      queue.add(key);
    },
    updated: (pod, previous) => {
      const before = ownerKeyOf(parts.type, previous);
      const key = ownerKeyOf(parts.type, pod);
      if (before !== undefined && before !== key) queue.add(before);
      const owner = key === undefined ? undefined : controllerOf(pod)?.uid;
      if (owner !== undefined && hasFailed(pod) && !hasFailed(previous)) pace.failed(owner, context.now());
      if (isTerminating(pod)) return gone(pod);
      if (key !== undefined) queue.add(key);
      else wakeAdopters(parts, pod);
    },
    deleted: gone,
  });
}

function watchOwners<T extends KubeObject>({ owners, expectations, pace, queue }: PodOwners<T>): void {
  const wake = ({ metadata }: Stored<T>) => queue.add(keyOf(metadata));
  owners.on({
    added: wake,
    updated: wake,
    deleted: (owner) => {
      expectations.forget(keyOf(owner.metadata));
      pace.forget(owner.metadata.uid);
      wake(owner);
    },
  });
}

const hasFailed = ({ status }: Pod): boolean => status?.phase === 'Failed';

function ownerKeyOf(type: ResourceType, pod: Pod): string | undefined {
  const owner = controllerOf(pod);
  if (owner?.kind !== type.kind || !owner.apiVersion.startsWith(type.group)) return undefined;
  return keyOf({ name: owner.name, namespace: pod.metadata.namespace });
}

function wakeAdopters<T extends KubeObject>({ owners, selectorOf, queue }: PodOwners<T>, pod: Pod): void {
  if (controllerOf(pod) !== undefined || isTerminating(pod)) return;
  for (const owner of owners.list())
    if (owner.metadata.namespace === pod.metadata.namespace && selectorOf(owner)(pod.metadata.labels))
      queue.add(keyOf(owner.metadata));
}

/** Adopts and releases, then answers what the owner holds. */
export async function claimPods<T extends KubeObject>(
  { context, type, pods, selectorOf }: PodOwners<T>,
  owner: Stored<T>,
): Promise<readonly Pod[]> {
  const claims = planClaims({ owner, candidates: candidatesOf(pods, owner), matches: selectorOf(owner) });
  return carryOutClaims({ client: context.client, ownerType: type, type: PODS }, owner, claims);
}

/** The pod that a template describes, owned by the object; the server completes a generated name. */
export function podFromTemplate(
  type: ResourceType,
  owner: Stored<KubeObject>,
  template: V1PodTemplateSpec | undefined,
): V1Pod & { readonly metadata: NonNullable<V1Pod['metadata']> } {
  const { metadata, spec } = template ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: `${owner.metadata.name}-`,
      ...(owner.metadata.namespace === undefined ? {} : { namespace: owner.metadata.namespace }),
      ...(metadata?.labels === undefined ? {} : { labels: metadata.labels }),
      ...(metadata?.annotations === undefined ? {} : { annotations: metadata.annotations }),
      ...(metadata?.finalizers === undefined ? {} : { finalizers: metadata.finalizers }),
      ownerReferences: [controllerReference(type, owner)],
    },
    ...(spec === undefined ? {} : { spec }),
  };
}

interface Wishing {
  readonly spec?: {
    readonly replicas?: number | undefined;
    readonly completions?: number | undefined;
    readonly parallelism?: number | undefined;
  };
  readonly status?: { readonly desiredNumberScheduled?: number | undefined };
}

/** How many of the pods may be made now. What is left is looked at again when its time has come. */
export function admitPods<T extends KubeObject>(
  { context, type, pace, queue }: Pick<PodOwners<T>, 'context' | 'type' | 'pace' | 'queue'>,
  owner: Stored<T>,
  wanted: number,
): number {
  if (wanted === 0) return 0;
  const { spec = {}, status = {} } = owner as Stored<T> & Wishing;
  const wished = spec.replicas ?? spec.completions ?? spec.parallelism ?? status.desiredNumberScheduled ?? 1;
  const { count, againMs, because } = pace.admit(owner.metadata.uid, wanted, wished, context.now());
  if (againMs !== undefined) queue.addAfter(keyOf(owner.metadata), againMs);
  if (because !== undefined) {
    const message = `Pods are made more slowly: ${because}`;
    // The events of such an owner are too many for all of them to be told.
    context.log.warn(message, { kind: type.kind, owner: keyOf(owner.metadata) });
    context.record(type, owner, { type: 'Warning', reason: 'PodsSlowedDown', message });
  }
  return count;
}

/** Makes them in batches of 1, 2, 4, ...; answers the first failure, if one stopped it. */
export async function createPods<T extends KubeObject>(
  parts: Pick<PodOwners<T>, 'context' | 'type' | 'expectations' | 'pace' | 'queue'>,
  owner: Stored<T>,
  wanted: readonly V1Pod[],
): Promise<unknown> {
  const { context, type, expectations } = parts;
  const key = keyOf(owner.metadata);
  const drafts = wanted.slice(0, admitPods(parts, owner, wanted.length));
  const pods = context.client.of(PODS);
  expectations.expectCreates(key, drafts.length);
  const waiting = drafts.values();
  const { done, skipped, error } = await slowStart(drafts.length, async () => {
    const draft = waiting.next().value;
    if (draft === undefined) return;
    try {
      const pod = await pods.create(draft);
      expectations.created(key, pod.metadata.uid);
      const message = `Created pod: ${pod.metadata.name}`;
      context.record(type, owner, { type: 'Normal', reason: 'SuccessfulCreate', message });
    } catch (error) {
      expectations.notCreated(key);
      // The namespace is going away: nothing can be made in it, and that is no news for the user.
      if (isNamespaceGoing(error)) return;
      const message = `Error creating: ${messageOf(error)}`;
      context.record(type, owner, { type: 'Warning', reason: 'FailedCreate', message });
      throw error;
    }
  });
  for (let index = 0; index < skipped; index++) expectations.notCreated(key);
  parts.pace.notMade(owner.metadata.uid, drafts.length - done);
  return error;
}

/** Answers the first failure; a pod that is gone already is success. */
export async function deletePods<T extends KubeObject>(
  { context, type, expectations }: Pick<PodOwners<T>, 'context' | 'type' | 'expectations'>,
  owner: Stored<T>,
  pods: readonly Pod[],
): Promise<unknown> {
  const key = keyOf(owner.metadata);
  expectations.expectDeletes(
    key,
    pods.map(({ metadata }) => metadata.uid),
  );
  const results = await Promise.allSettled(
    pods.map(async ({ metadata }) => {
      try {
        await context.client.of(PODS).delete(metadata, { preconditions: { uid: metadata.uid } });
      } catch (error) {
        expectations.observedDelete(key, metadata.uid);
        // Another pod of that name: the one that was meant is gone.
        if (ApiError.is(error, 'Conflict')) return;
        const message = `Error deleting: ${messageOf(error)}`;
        context.record(type, owner, { type: 'Warning', reason: 'FailedDelete', message });
        throw error;
      }
      const message = `Deleted pod: ${metadata.name}`;
      context.record(type, owner, { type: 'Normal', reason: 'SuccessfulDelete', message });
    }),
  );
  return results.find((result) => result.status === 'rejected')?.reason;
}

export function isNamespaceGoing(error: unknown): boolean {
  return (
    ApiError.is(error, 'Forbidden') &&
    (error.status.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')
  );
}
