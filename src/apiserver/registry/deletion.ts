// What deleting an object means before it is gone: grace, finalizers, propagation. Pure.
// Guarantees: an object with finalizers, or a running pod within its grace, is only marked; nothing else keeps it.
import type { V1DeleteOptions } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { copyJson } from '../../api/own.js';
import { NAMESPACES, PODS } from '../../api/resources.js';
import { timestamp } from '../machinery.js';
import type { DraftObject } from './metadata.js';

export const FOREGROUND = 'foregroundDeletion';
export const ORPHAN = 'orphan';
const DEFAULT_GRACE_S = 30;

export type DeletePlan =
  | { readonly action: 'remove' }
  /** Already marked, and nothing in this request changes the mark. */
  | { readonly action: 'keep' }
  | { readonly action: 'mark'; readonly marked: DraftObject };

interface Finalized {
  readonly spec?: {
    readonly finalizers?: readonly string[];
    readonly nodeName?: string;
    readonly terminationGracePeriodSeconds?: number;
  };
  readonly status?: { readonly phase?: string };
}

export function planDeletion(
  kind: KindDefinition,
  current: KubeObject,
  options: V1DeleteOptions,
  now: number,
): DeletePlan {
  const finalizers = finalizersFor(options, current.metadata?.finalizers ?? []);
  const grace = graceOf(kind, current, options);
  const held = finalizers.length > 0 || namespaceIsHeld(kind, current);
  if (!held && grace === 0) return { action: 'remove' };

  const marked: DraftObject = copyJson(current as DraftObject);
  const meta = { ...marked.metadata };
  marked.metadata = meta;
  if (finalizers.length > 0) meta.finalizers = finalizers;
  else delete meta.finalizers;
  const before = meta.deletionTimestamp;
  const graceBefore = meta.deletionGracePeriodSeconds ?? 0;
  const shorter = before !== undefined && grace < graceBefore;
  const finalizersChanged = finalizers.join() !== (current.metadata?.finalizers ?? []).join();
  if (before !== undefined && !shorter && !finalizersChanged) return { action: 'keep' };
  if (before === undefined || shorter) {
    meta.deletionTimestamp = timestamp(now + grace * 1000);
    meta.deletionGracePeriodSeconds = grace;
    if (kind.hasGeneration && before === undefined) meta.generation = (meta.generation ?? 1) + 1;
  }
  if (isNamespace(kind)) marked.status = { ...(marked.status as object), phase: 'Terminating' };
  return { action: 'mark', marked };
}

/** True when an object that was marked is held by nothing any more. */
export function mayBeRemoved(object: DraftObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata ?? {};
  if (deletionTimestamp === undefined || (finalizers ?? []).length > 0) return false;
  if ((deletionGracePeriodSeconds ?? 0) > 0) return false;
  return object.kind !== NAMESPACES.kind || ((object as Finalized).spec?.finalizers ?? []).length === 0;
}

function finalizersFor(
  { propagationPolicy, orphanDependents }: V1DeleteOptions,
  held: readonly string[],
): string[] {
  const policy = propagationPolicy ?? (orphanDependents === true ? 'Orphan' : undefined);
  if (policy === undefined && orphanDependents === undefined) return [...held];
  const others = held.filter((finalizer) => finalizer !== FOREGROUND && finalizer !== ORPHAN);
  if (policy === 'Foreground') return [...others, FOREGROUND];
  if (policy === 'Orphan') return [...others, ORPHAN];
  return others;
}

/** Only pods have someone who needs time: the kubelet that stops their containers. */
function graceOf(kind: KindDefinition, object: KubeObject, { gracePeriodSeconds }: V1DeleteOptions): number {
  if (kind.type.resource !== PODS.resource || kind.type.group !== '') return 0;
  const { spec, status } = object as Finalized;
  if ((spec?.nodeName ?? '') === '') return 0;
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return 0;
  const grace = gracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? DEFAULT_GRACE_S;
  return grace < 0 ? 1 : grace;
}

function namespaceIsHeld(kind: KindDefinition, object: KubeObject): boolean {
  return isNamespace(kind) && ((object as Finalized).spec?.finalizers ?? []).length > 0;
}

function isNamespace(kind: KindDefinition): boolean {
  return kind.type.group === NAMESPACES.group && kind.type.resource === NAMESPACES.resource;
}
