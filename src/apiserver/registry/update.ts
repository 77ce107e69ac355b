// UPDATE and everything that changes an existing object: read, transform, check, write at the revision read.
// Guarantees: no write is lost: a change in between is a conflict, tried again when the caller did not name a revision.

import type { V1ManagedFieldsEntry } from '../../api/gen/types.js';
import type { Draft, KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { copyJson, sameJson } from '../../api/ownKeys.js';
import { conflict, invalid, qualifiedResource } from '../../api/status.js';
import { trackAcross } from '../fields/versions.js';
import { type ServerContext, timestamp } from '../serverContext.js';
import { mutate, reserveAdmission, turn, validateAdmission, type WriteContext, writeOf } from './admit.js';
import type { CachedObject } from './cached.js';
import { bytesToSend, bytesToStore, conversionOf, shownObject, versionsOf } from './conversion.js';
import { guarded } from './create.js';
import { mayBeRemoved } from './deletion.js';
import { encodeForStore, withRevision } from './encode.js';
import { complete, countGeneration, type DraftObject, keepServerFields, metaOf } from './metadata.js';
import { checkCaller, MODIFIED, readAndWrite } from './readAndWrite.js';
import { writeWith } from './transaction.js';
import { validateInTime } from './validateInTime.js';

/** Between two steps of work on the object. */
export type Pause = () => Promise<void> | undefined;

/** Makes the wanted object of the current one. Called again after a conflict. */
export type Transform = (current: Draft<KubeObject>, pause: Pause) => Promise<DraftObject> | DraftObject;

interface UpdateOptions {
  readonly transform: Transform;
  /**
   * `user`: what a client sent: admission, validation, kept fields, generation.
   * `server`: the server's own change (deletion marks, binding): written as it is.
   */
  readonly mode: 'user' | 'server';
  /** The server's own change may take more than before: plugins that keep count are asked. */
  readonly reserves?: boolean;
  /** The transform leaves the current object as it is; what its result keeps of it may be the very same value. */
  readonly isPure?: boolean;
  /** The transform itself says who owns which fields. */
  readonly tracked?: boolean;
}

/** Answers the bytes to send. The object is removed instead when this was the last thing that held it. */
export function updateObject(
  server: ServerContext,
  context: WriteContext,
  options: UpdateOptions,
): Promise<Buffer> {
  return readAndWrite(server, context, (held) => attemptUpdate(server, context, options, held));
}

async function attemptUpdate(
  server: ServerContext,
  context: WriteContext,
  { transform, mode, isPure = false, tracked = false, reserves = mode === 'user' }: UpdateOptions,
  held: CachedObject,
): Promise<Buffer> {
  const { kind, name, dryRun } = context;
  const pause: Pause = () => turn(context, held.size);
  await pause();
  const shown = await shownObject(context, held);
  const old = shown.parse();
  if (!isPure) await pause();
  const draft = await transform(isPure ? (old as Draft<KubeObject>) : shown.parse(), pause);
  await pause();
  const sent = draft.metadata?.resourceVersion ?? '';
  // To Kubernetes 0 is no revision: it asks for nothing.
  if (sent !== '' && sent !== '0' && sent !== String(held.revision))
    throw conflict(kind.type, name, MODIFIED);
  checkUid(context, draft, old);
  complete(kind, draft);
  const hooks = server.hooks.get(qualifiedResource(kind.type));
  if (mode === 'user') await prepare(server, context, { draft, old, tracked, pause });
  const companions = mode === 'user' ? await hooks?.beforeUpdate(draft, old) : undefined;
  try {
    await pause();
    if (mode === 'user') await check(server, context, draft, old);
    await pause();
    const { key, revision: expected } = held;
    if (mayBeRemoved(draft)) {
      const last = encodeForStore(kind, draft);
      if (dryRun) return withRevision(last, expected);
      const writes = (await hooks?.beforeDelete(old))?.writes ?? [];
      const own = { verb: 'delete', key, expected } as const;
      checkCaller(context);
      return withRevision(last, await writeWith(server.store, own, writes, context.term));
    }
    if (isSame(draft, old) && isAsWritten(kind, held)) return shown.bytes;
    await pause();
    const stored = await bytesToStore(context, draft);
    const subject = { operation: 'update', object: draft, old } as const;
    const reserved = reserves ? await reserveAdmission(server, context, subject) : undefined;
    return await guarded(reserved, dryRun, async () => {
      if (dryRun) return withRevision(encodeForStore(kind, draft), expected);
      const own = { verb: 'update', key, value: stored, expected } as const;
      checkCaller(context);
      const revision = await writeWith(server.store, own, companions?.writes ?? [], context.term);
      return bytesToSend(context, stored, { key, revision });
    });
  } finally {
    companions?.release?.();
  }
}

interface Prepared {
  readonly draft: DraftObject;
  readonly old: KubeObject;
  readonly tracked: boolean;
  readonly pause: Pause;
}

async function prepare(
  server: ServerContext,
  context: WriteContext,
  { draft, old, tracked, pause }: Prepared,
) {
  const { kind, subresource, manager } = context;
  keepServerFields(draft, old);
  if (subresource === '' && kind.hasStatus) draft.status = copyJson((old as DraftObject).status);
  kind.defaults?.(draft);
  kind.prepareForUpdate?.(draft, old, writeOf(server, context));
  await pause();
  const writer = { id: manager, time: timestamp(server.now()) };
  const entries = tracked
    ? draft.metadata?.managedFields
    : await trackAcross({ kind, live: old, next: draft, writer }, versionsOf(context), pause);
  await pause();
  await mutate(server, context, { operation: 'update', object: draft, old });
  keepServerFields(draft, old);
  countGeneration(kind, draft, old);
  await pause();
  setManagedFields(draft, old, entries ?? []);
}

/** Nothing but the times of entries may not make a write. */
function setManagedFields(draft: DraftObject, old: KubeObject, entries: readonly V1ManagedFieldsEntry[]) {
  const meta = metaOf(draft);
  const before = old.metadata?.managedFields ?? [];
  const timeless = (list: readonly V1ManagedFieldsEntry[]) => list.map(({ time: _, ...entry }) => entry);
  const kept = sameJson(timeless(entries), timeless(before)) && sameContent(draft, old) ? before : entries;
  if (kept.length > 0) meta.managedFields = kept as Draft<V1ManagedFieldsEntry>[];
  else delete meta.managedFields;
}

async function check(server: ServerContext, context: WriteContext, draft: DraftObject, old: KubeObject) {
  const { kind, name } = context;
  const faults = await validateInTime(server, context, draft, old);
  if (faults.length > 0) throw invalid(kind.type, name, faults);
  if (context.subresource === '')
    for (const sentence of kind.warnings?.(draft) ?? []) context.warn?.(sentence);
  await validateAdmission(server, context, { operation: 'update', object: draft, old });
}

function checkUid({ kind, name }: WriteContext, draft: DraftObject, old: KubeObject): void {
  const sent = draft.metadata?.uid ?? '';
  const held = old.metadata?.uid ?? '';
  if (sent === '' || sent === held) return;
  throw conflict(
    kind.type,
    name,
    `Precondition failed: UID in precondition: ${sent}, UID in object meta: ${held}`,
  );
}

/** What lies in the store in another version is written again: migrations to another storage version count on it. */
function isAsWritten(kind: KindDefinition, held: CachedObject): boolean {
  return conversionOf(kind)?.isAsWritten(held) ?? held.isAsStored;
}

/** A write that changes nothing is none: it would wake every watcher for nothing. */
function isSame(draft: DraftObject, old: KubeObject): boolean {
  return sameContent(draft, old) && sameJson(draft.metadata?.managedFields, old.metadata?.managedFields);
}

function sameContent(draft: DraftObject, old: KubeObject): boolean {
  const { resourceVersion: _, managedFields: _m, ...meta } = old.metadata ?? {};
  const { resourceVersion: __, managedFields: __m, ...wanted } = draft.metadata ?? {};
  return sameJson({ ...draft, metadata: wanted }, { ...old, metadata: meta });
}
