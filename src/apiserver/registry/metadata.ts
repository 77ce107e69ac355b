// What the server itself writes into metadata, and what it keeps from being changed. Pure.
// Guarantees: uid, creation time and deletion state are the server's alone; generation counts changes of what is wanted.

import { schemas } from '../../api/gen/schemas.js';
import type { Draft, KindDefinition } from '../../api/kind.js';
import { sameMeaning } from '../../api/meaning.js';
import type { KubeObject } from '../../api/object.js';
import { apiVersionOf } from '../../api/resources.js';

export type DraftObject = Draft<KubeObject> & { spec?: unknown; status?: unknown };

const GENERATED_BASE = 58;
export const GENERATED_SUFFIX = 5;

export function generatedName(base: string, suffix: string): string {
  return `${base.slice(0, GENERATED_BASE)}${suffix}`;
}

/** kind, apiVersion, and the spec and status that every stored object has. */
export function complete(kind: KindDefinition, draft: DraftObject): void {
  draft.kind = kind.type.kind;
  draft.apiVersion = apiVersionOf(kind.type);
  draft.metadata ??= {};
  const schema = schemas[kind.model];
  if (schema?.['spec'] !== undefined) draft.spec ??= {};
  if (kind.hasStatus && kind.custom === undefined) draft.status ??= {};
}

interface Birth {
  readonly namespace: string;
  readonly uid: string;
  readonly time: string;
}

export function stampNew(kind: KindDefinition, draft: DraftObject, { namespace, uid, time }: Birth): void {
  const meta = metaOf(draft);
  if (kind.type.namespaced) meta.namespace = namespace;
  else delete meta.namespace;
  meta.uid = uid;
  meta.creationTimestamp = time;
  for (const field of [
    'resourceVersion',
    'selfLink',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ] as const) {
    delete meta[field];
  }
  delete meta.managedFields;
  if (kind.hasGeneration) meta.generation = 1;
  else delete meta.generation;
}

const KEPT = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'generateName',
  'selfLink',
] as const;

/** Brings an update's metadata back to what only the server may change. */
export function keepServerFields(draft: DraftObject, old: KubeObject): void {
  const meta = metaOf(draft) as Record<string, unknown>;
  const before = (old.metadata ?? {}) as Record<string, unknown>;
  for (const field of KEPT) {
    if (before[field] === undefined) delete meta[field];
    else meta[field] = before[field];
  }
  delete meta['resourceVersion'];
}

/** Counts a change of anything but metadata and status. */
export function countGeneration(kind: KindDefinition, draft: DraftObject, old: KubeObject): void {
  if (!kind.hasGeneration) return;
  const meta = metaOf(draft);
  const before = old.metadata?.generation ?? 1;
  meta.generation = sameMeaning(kind.model, wanted(kind, draft), wanted(kind, old)) ? before : before + 1;
}

/** A status that is no subresource is written with the rest, and counts as it does. */
function wanted({ hasStatus, custom }: KindDefinition, object: object): object {
  const { metadata: _m, status, kind: _k, apiVersion: _a, ...rest } = object as Record<string, unknown>;
  return hasStatus || custom === undefined ? rest : { ...rest, status };
}

export function metaOf(draft: DraftObject) {
  draft.metadata ??= {};
  return draft.metadata;
}
