// DELETE: marks or removes one object, as its finalizers and grace allow.
// Guarantees: preconditions are judged on the version that is deleted; a change in between means another look.
import type { V1DeleteOptions } from '../../api/gen/types.js';
import type { KubeObject } from '../../api/object.js';
import { conflict, qualifiedResource } from '../../api/status.js';
import type { ServerContext } from '../serverContext.js';
import { validateAdmission, type WriteContext } from './admit.js';
import type { CachedObject } from './cached.js';
import { bytesToSend, bytesToStore, shownObject } from './conversion.js';
import { planDeletion } from './deletion.js';
import { encodeForStore, withRevision } from './encode.js';
import { checkCaller, readAndWrite } from './readAndWrite.js';
import { writeWith } from './transaction.js';

interface Deletion {
  /** False when the object is only marked. */
  readonly removed: boolean;
  readonly bytes: Buffer;
  readonly uid: string;
}

/** `isAdmitted`: admission has agreed to the request that this is a part of. */
export function deleteObject(
  server: ServerContext,
  context: WriteContext,
  options: V1DeleteOptions,
  { isAdmitted = false } = {},
): Promise<Deletion> {
  const admit = (old: KubeObject) => validateAdmission(server, context, { operation: 'delete', old });
  const admitted = { ...context, admit: isAdmitted ? undefined : admit };
  return readAndWrite(server, context, (held) => attemptDelete(server, admitted, options, held));
}

async function attemptDelete(
  server: ServerContext,
  context: WriteContext & { readonly admit: ((old: KubeObject) => Promise<void>) | undefined },
  options: V1DeleteOptions,
  held: CachedObject,
): Promise<Deletion> {
  const { kind, dryRun } = context;
  const shown = await shownObject(context, held);
  const old = shown.parse();
  checkPreconditions(context, options, old);
  await context.admit?.(old);
  const plan = planDeletion(kind, old, options, server.now());
  const uid = old.metadata?.uid ?? '';
  if (plan.action === 'keep') return { removed: false, bytes: shown.bytes, uid };
  if (plan.action === 'remove') {
    if (!dryRun) {
      const companions = await server.hooks.get(qualifiedResource(kind.type))?.beforeDelete(old);
      checkCaller(context);
      const own = { verb: 'delete', key: held.key, expected: held.revision } as const;
      await writeWith(server.store, own, companions?.writes ?? [], context.term);
    }
    return { removed: true, bytes: shown.bytes, uid };
  }
  if (dryRun) {
    const bytes = withRevision(encodeForStore(kind, plan.marked), held.revision);
    return { removed: false, bytes, uid };
  }
  const value = await bytesToStore(context, plan.marked);
  checkCaller(context);
  const { key, revision: expected } = held;
  const mark = { verb: 'update', key, value, expected } as const;
  const revision = await writeWith(server.store, mark, [], context.term);
  return { removed: false, bytes: await bytesToSend(context, value, { key, revision }), uid };
}

export function checkPreconditions(
  { kind, name }: Pick<WriteContext, 'kind' | 'name'>,
  { preconditions }: V1DeleteOptions,
  { metadata }: KubeObject,
): void {
  const { uid = '', resourceVersion = '' } = metadata ?? {};
  const wantedUid = preconditions?.uid;
  if (wantedUid !== undefined && wantedUid !== uid) {
    const why = `Precondition failed: UID in precondition: ${wantedUid}, UID in object meta: ${uid}`;
    throw conflict(kind.type, name, why);
  }
  const wanted = preconditions?.resourceVersion;
  if (wanted === undefined || wanted === resourceVersion) return;
  const why = `Precondition failed: ResourceVersion in precondition: ${wanted}, ResourceVersion in object meta: ${resourceVersion}`;
  throw conflict(kind.type, name, why);
}
