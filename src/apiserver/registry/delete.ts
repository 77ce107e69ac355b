// DELETE: marks or removes one object, as its finalizers and grace allow.
// Guarantees: preconditions are judged on the version that is deleted; a change in between means another look.
import type { V1DeleteOptions } from '../../api/gen/types.js';
import type { KubeObject } from '../../api/object.js';
import { conflict, notFound, qualifiedResource } from '../../api/status.js';
import { StoreError } from '../../store/store.js';
import type { Machinery } from '../machinery.js';
import { validateAdmission, type WriteContext } from './admit.js';
import type { CachedObject } from './cached.js';
import { planDeletion } from './deletion.js';
import { encodeForStore, withRevision } from './encode.js';
import { writeWith } from './transaction.js';
import { isLate, MODIFIED, readCurrent } from './update.js';

const ATTEMPTS = 10;

export interface Deletion {
  /** False when the object is only marked. */
  readonly removed: boolean;
  readonly bytes: Buffer;
  readonly uid: string;
}

/** `isAdmitted`: admission has agreed to the request that this is a part of. */
export async function deleteObject(
  machinery: Machinery,
  context: WriteContext,
  options: V1DeleteOptions,
  { isAdmitted = false } = {},
): Promise<Deletion> {
  const { kind, name } = context;
  for (let attempt = 1; ; attempt += 1) {
    const held = await readCurrent(machinery, context);
    try {
      const admit = (old: KubeObject) => validateAdmission(machinery, context, { operation: 'delete', old });
      return await attemptDelete(
        machinery,
        { ...context, admit: isAdmitted ? undefined : admit },
        options,
        held,
      );
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.code === 'MISSING' && error.key === held.key) throw notFound(kind.type, name);
      if (!isLate(error)) throw error;
      if (attempt === ATTEMPTS) throw conflict(kind.type, name, MODIFIED);
    }
  }
}

async function attemptDelete(
  machinery: Machinery,
  context: WriteContext & { readonly admit: ((old: KubeObject) => Promise<void>) | undefined },
  options: V1DeleteOptions,
  held: CachedObject,
): Promise<Deletion> {
  const { kind, dryRun } = context;
  const old = held.parse();
  checkPreconditions(context, options, held, old.metadata?.uid ?? '');
  await context.admit?.(old);
  const plan = planDeletion(kind, old, options, machinery.now());
  const uid = old.metadata?.uid ?? '';
  if (plan.action === 'keep') return { removed: false, bytes: held.bytes, uid };
  if (plan.action === 'remove') {
    if (!dryRun) {
      const companions = await machinery.hooks.get(qualifiedResource(kind.type))?.beforeDelete(old);
      const own = { verb: 'delete', key: held.key, expected: held.revision } as const;
      await writeWith(machinery.store, own, companions?.writes ?? []);
    }
    return { removed: true, bytes: held.bytes, uid };
  }
  const stored = encodeForStore(kind, plan.marked);
  const revision = dryRun ? held.revision : await machinery.store.update(held.key, stored, held.revision);
  return { removed: false, bytes: withRevision(stored, revision), uid };
}

function checkPreconditions(
  { kind, name }: WriteContext,
  { preconditions }: V1DeleteOptions,
  held: CachedObject,
  uid: string,
): void {
  const wantedUid = preconditions?.uid;
  if (wantedUid !== undefined && wantedUid !== uid) {
    const why = `Precondition failed: UID in precondition: ${wantedUid}, UID in object meta: ${uid}`;
    throw conflict(kind.type, name, why);
  }
  const wanted = preconditions?.resourceVersion;
  if (wanted === undefined || wanted === String(held.revision)) return;
  const why = `Precondition failed: ResourceVersion in precondition: ${wanted}, ResourceVersion in object meta: ${held.revision}`;
  throw conflict(kind.type, name, why);
}
