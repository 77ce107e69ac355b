// CREATE: defaults, admission, checks, then one durable write.
// Guarantees: nothing is written before every check has passed; what was taken is given back when the write is
// refused, and kept when only its answer was lost.
import type { V1ManagedFieldsEntry } from '../../api/gen/types.js';
import type { Draft, KindDefinition } from '../../api/kind.js';
import { copyJson } from '../../api/ownKeys.js';
import { alreadyExists, conflict, invalid, qualifiedResource, statusError } from '../../api/status.js';
import { isRefused, StoreError } from '../../store/store.js';
import { trackNew } from '../fields/created.js';
import { type ServerContext, timestamp, type Undo } from '../serverContext.js';
import { mutate, reserveAdmission, turn, validateAdmission, type WriteContext, writeOf } from './admit.js';
import { bytesToSend, bytesToStore, conversionOf } from './conversion.js';
import { encodeForStore } from './encode.js';
import { objectKey } from './keys.js';
import { complete, type DraftObject, GENERATED_SUFFIX, generatedName, metaOf, stampNew } from './metadata.js';
import { checkCaller } from './readAndWrite.js';
import { writeWith } from './transaction.js';
import { validateInTime } from './validateInTime.js';

const ATTEMPTS = 8;

interface CreateOptions {
  /** Who owns what is known already; otherwise the writer owns all that it sent and what was filled in for it. */
  readonly managedFields?: readonly V1ManagedFieldsEntry[];
}

/** Answers the bytes to send. */
export async function createObject(
  server: ServerContext,
  context: WriteContext,
  draft: DraftObject,
  { managedFields }: CreateOptions = {},
): Promise<Buffer> {
  const { kind, namespace } = context;
  if (kind.closedBecause !== undefined) throw statusError('MethodNotAllowed', kind.closedBecause);
  const meta = metaOf(draft);
  if ((meta.resourceVersion ?? '') !== '') {
    throw statusError('BadRequest', 'resourceVersion should not be set on objects to be created');
  }
  const generated = (meta.name ?? '') === '' ? (meta.generateName ?? '') : '';
  requireName(kind, draft, generated);
  const hooks = server.hooks.get(qualifiedResource(kind.type));
  stampNew(kind, draft, { namespace, uid: server.uid(), time: timestamp(server.now()) });
  for (let attempt = 1; ; attempt += 1) {
    if (generated !== '') meta.name = generatedName(generated, server.randomSuffix(GENERATED_SUFFIX));
    try {
      // Another name, or another address, is tried with the object as it was sent.
      const sent = generated === '' && hooks === undefined ? draft : copyJson(draft);
      return await createNamed(server, context, sent, managedFields);
    } catch (error) {
      const taken = error instanceof StoreError && error.code === 'EXISTS';
      if (!taken) throw error;
      const name = meta.name ?? '';
      const isName = error.key === objectKey(kind.type, namespace, name);
      if (isName && (generated === '' || attempt === ATTEMPTS)) throw alreadyExists(kind.type, name);
      if (attempt === ATTEMPTS)
        throw conflict(kind.type, name, `${error.key} was taken meanwhile, again and again`);
      // Another server took what the hook had chosen: the next choice is made knowing that.
      if (!isName) await server.feed.current();
    }
  }
}

async function createNamed(
  server: ServerContext,
  context: WriteContext,
  draft: DraftObject,
  managedFields: readonly V1ManagedFieldsEntry[] | undefined,
): Promise<Buffer> {
  const { kind, namespace, dryRun } = context;
  complete(kind, draft);
  kind.defaults?.(draft);
  const writer = { id: context.manager, time: timestamp(server.now()) };
  await turn(context);
  // Those that were given may be needed for another try.
  const entries = managedFields === undefined ? trackNew(kind, draft, writer) : copyJson(managedFields);
  await turn(context);
  await mutate(server, context, { operation: 'create', object: draft });
  kind.defaults?.(draft);
  kind.prepareForCreate?.(draft, writeOf(server, context));
  complete(kind, draft);
  if (entries.length > 0) metaOf(draft).managedFields = entries as Draft<V1ManagedFieldsEntry>[];
  const name = draft.metadata?.name ?? '';
  const key = objectKey(kind.type, namespace, name);
  const companions = await server.hooks.get(qualifiedResource(kind.type))?.beforeCreate(draft);
  try {
    await turn(context);
    const faults = await validateInTime(server, context, draft);
    if (faults.length > 0) throw invalid(kind.type, name, faults);
    for (const sentence of kind.warnings?.(draft) ?? []) context.warn?.(sentence);
    const subject = { operation: 'create', object: draft } as const;
    await validateAdmission(server, context, subject);
    const reserved = await reserveAdmission(server, context, subject);
    await turn(context);
    return await guarded(reserved, dryRun, async () => {
      const stored = await bytesToStore(context, draft);
      if (!dryRun) {
        const own = { verb: 'create', key, value: stored } as const;
        checkCaller(context);
        const revision = await writeWith(server.store, own, companions?.writes ?? [], context.term);
        const held = server.feed.cacheOf(kind).get(key);
        // The embedded store tells its watchers first, so the bytes to send are made already.
        const isHeld = held?.revision === revision && conversionOf(kind) === undefined;
        return isHeld ? held.bytes : await bytesToSend(context, stored, { key, revision });
      }
      await server.feed.current();
      if (server.feed.cacheOf(kind).get(key) !== undefined) throw alreadyExists(kind.type, name);
      return conversionOf(kind) === undefined ? stored : encodeForStore(kind, draft);
    });
  } finally {
    companions?.release?.();
  }
}

/** Runs the write; what was taken for it is given back when it was refused, or only tried. */
export async function guarded<T>(
  undo: Undo | undefined,
  dryRun: boolean,
  write: () => Promise<T>,
): Promise<T> {
  let isKept = false;
  try {
    const result = await write();
    isKept = !dryRun;
    return result;
  } catch (error) {
    // The answer was lost: the object may be there.
    isKept = error instanceof StoreError && !isRefused(error);
    throw error;
  } finally {
    if (!isKept) await undo?.();
  }
}

function requireName(kind: KindDefinition, draft: DraftObject, generated: string): void {
  if ((draft.metadata?.name ?? '') !== '' || generated !== '') return;
  throw invalid(kind.type, '', [
    {
      field: 'metadata.name',
      reason: 'FieldValueRequired',
      message: 'Required value: name or generateName is required',
    },
  ]);
}
