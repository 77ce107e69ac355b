// CREATE: defaults, admission, checks, then one durable write.
// Guarantees: nothing is written before every check has passed; what hooks took is given back when the write fails.
import type { KindDefinition } from '../../api/kind.js';
import { validateObject } from '../../api/meta.js';
import { alreadyExists, invalid, qualifiedResource, statusError } from '../../api/status.js';
import { StoreError } from '../../store/store.js';
import { type Machinery, timestamp, type Undo } from '../machinery.js';
import { mutate, validateAdmission, type WriteContext, writeOf } from './admit.js';
import { encodeForStore, withRevision } from './encode.js';
import { objectKey } from './keys.js';
import { complete, type DraftObject, GENERATED_SUFFIX, generatedName, metaOf, stampNew } from './metadata.js';

const NAME_ATTEMPTS = 8;

/** Answers the bytes to send. */
export async function createObject(
  machinery: Machinery,
  context: WriteContext,
  draft: DraftObject,
): Promise<Buffer> {
  const { kind, namespace } = context;
  const meta = metaOf(draft);
  if ((meta.resourceVersion ?? '') !== '') {
    throw statusError('BadRequest', 'resourceVersion should not be set on objects to be created');
  }
  const generated = (meta.name ?? '') === '' ? (meta.generateName ?? '') : '';
  requireName(kind, draft, generated);
  stampNew(kind, draft, { namespace, uid: machinery.uid(), time: timestamp(machinery.now()) });
  for (let attempt = 1; ; attempt += 1) {
    if (generated !== '') meta.name = generatedName(generated, machinery.randomSuffix(GENERATED_SUFFIX));
    try {
      return await createNamed(machinery, context, structuredClone(draft));
    } catch (error) {
      const taken = error instanceof StoreError && error.code === 'EXISTS';
      if (!taken) throw error;
      if (generated === '' || attempt === NAME_ATTEMPTS) throw alreadyExists(kind.type, meta.name ?? '');
    }
  }
}

async function createNamed(machinery: Machinery, context: WriteContext, draft: DraftObject): Promise<Buffer> {
  const { kind, namespace, dryRun } = context;
  complete(kind, draft);
  kind.defaults?.(draft);
  await mutate(machinery, context, { operation: 'create', object: draft });
  kind.defaults?.(draft);
  kind.prepareForCreate?.(draft, writeOf(machinery, context));
  complete(kind, draft);
  const name = draft.metadata?.name ?? '';
  const key = objectKey(kind.type, namespace, name);
  const undo = await machinery.hooks.get(qualifiedResource(kind.type))?.beforeCreate?.(draft);
  return guarded(undo, dryRun, async () => {
    const faults = validateObject(kind, draft);
    if (faults.length > 0) throw invalid(kind.type, name, faults);
    await validateAdmission(machinery, context, { operation: 'create', object: draft });
    const stored = encodeForStore(kind, draft);
    if (!dryRun) return withRevision(stored, await machinery.store.create(key, stored));
    await machinery.feed.current();
    if (machinery.feed.cacheOf(kind).get(key) !== undefined) throw alreadyExists(kind.type, name);
    return stored;
  });
}

/** Runs the write; what a hook took before it is given back when it fails, or was only tried. */
export async function guarded<T>(
  undo: Undo | undefined,
  dryRun: boolean,
  write: () => Promise<T>,
): Promise<T> {
  let written = false;
  try {
    const result = await write();
    written = !dryRun;
    return result;
  } finally {
    if (!written) await undo?.();
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
