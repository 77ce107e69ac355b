// What deleting an object means before it is gone: grace, finalizers, propagation. Pure.
// Guarantees: an object with finalizers, or a running pod within its grace, is only marked; nothing else keeps it.
import type { V1DeleteOptions } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { copyJson } from '../../api/ownKeys.js';
import { NAMESPACES, PODS } from '../../api/resources.js';
import { timestamp } from '../serverContext.js';
import type { DraftObject } from './metadata.js';

const FOREGROUND = 'foregroundDeletion';
const ORPHAN = 'orphan';
const DEFAULT_GRACE_S = 30;

type DeletePlan =
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
  held: KubeObject,
  options: V1DeleteOptions,
  now: number,
): DeletePlan {
  const current = prepared(kind, held, now);
  const before = current.metadata?.deletionTimestamp;
  const finalizers = finalizersFor(kind, options, current.metadata?.finalizers ?? []);
  const mark =
    before === undefined ? firstMark(kind, current, options, now) : laterMark(current, options, now);
  const isHeld = finalizers.length > 0 || namespaceIsHeld(kind, current);
  if (!isHeld && mark.grace === 0) return { action: 'remove' };
  const finalizersChanged = finalizers.join() !== (held.metadata?.finalizers ?? []).join();
  if (mark.time === before && !finalizersChanged) return { action: 'keep' };

  const marked: DraftObject = copyJson(current as DraftObject);
  const meta = { ...marked.metadata, deletionTimestamp: mark.time, deletionGracePeriodSeconds: mark.grace };
  marked.metadata = meta;
  if (finalizers.length > 0) meta.finalizers = finalizers;
  else delete meta.finalizers;
  if (kind.hasGeneration && before === undefined) meta.generation = (meta.generation ?? 1) + 1;
  if (isNamespace(kind)) marked.status = { ...(marked.status as object), phase: 'Terminating' };
  return { action: 'mark', marked };
}

function prepared(kind: KindDefinition, held: KubeObject, now: number): KubeObject {
  if (kind.prepareForDelete === undefined) return held;
  const draft = copyJson(held as DraftObject);
  kind.prepareForDelete(draft, timestamp(now));
  return draft;
}

interface Mark {
  readonly time: string;
  readonly grace: number;
}

function firstMark(kind: KindDefinition, current: KubeObject, options: V1DeleteOptions, now: number): Mark {
  const grace = graceOf(kind, current, options);
  return { time: timestamp(now + grace * 1000), grace };
}

/** What is marked keeps its mark, unless a shorter grace is named; that counts from the first request on. */
function laterMark({ metadata }: KubeObject, { gracePeriodSeconds }: V1DeleteOptions, now: number): Mark {
  const { deletionTimestamp: time = '', deletionGracePeriodSeconds: before = 0 } = metadata ?? {};
  const grace = (gracePeriodSeconds ?? before) < 0 ? 1 : (gracePeriodSeconds ?? before);
  if (grace >= before) return { time, grace: before };
  const wanted = Date.parse(time) + (grace - before) * 1000;
  if (wanted >= now) return { time: timestamp(wanted), grace };
  // That time is over. Whoever ends the pod is still told, and has a second.
  return { time: timestamp(now), grace: grace === 0 ? 0 : 1 };
}

/** True when an object that was marked is held by nothing any more. */
export function mayBeRemoved(object: DraftObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata ?? {};
  if (deletionTimestamp === undefined || (finalizers ?? []).length > 0) return false;
  if ((deletionGracePeriodSeconds ?? 0) > 0) return false;
  return object.kind !== NAMESPACES.kind || ((object as Finalized).spec?.finalizers ?? []).length === 0;
}

function finalizersFor(kind: KindDefinition, options: V1DeleteOptions, held: readonly string[]): string[] {
  const isDecided = held.includes(FOREGROUND) || held.includes(ORPHAN);
  if (!namesPolicy(options) && (isDecided || kind.orphansByDefault === undefined)) return [...held];
  const { propagationPolicy, orphanDependents = !namesPolicy(options) } = options;
  const policy = propagationPolicy ?? (orphanDependents ? 'Orphan' : undefined);
  const others = held.filter((finalizer) => finalizer !== FOREGROUND && finalizer !== ORPHAN);
  if (policy === 'Foreground') return [...others, FOREGROUND];
  if (policy === 'Orphan') return [...others, ORPHAN];
  return others;
}

export function namesPolicy({ propagationPolicy, orphanDependents }: V1DeleteOptions): boolean {
  return propagationPolicy !== undefined || orphanDependents !== undefined;
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
