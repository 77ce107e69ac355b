// The three patches that Kubernetes takes, behind one function. Pure.
// Guarantees: the document given is never changed, though the result may share values with it; a patch that does not fit is
// refused as an ApiError.
import { isMembers, isTooDeep, type Members } from '../ownKeys.js';
import { statusError } from '../status.js';
import type { Steps } from '../steps.js';
import { applyJsonPatch } from './json.js';
import { applyMergePatch } from './merge.js';
import { applyStrategicPatch } from './strategic.js';

export const PATCH_TYPES = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
} as const;

export type PatchType = (typeof PATCH_TYPES)[keyof typeof PATCH_TYPES];

interface PatchRequest {
  readonly type: PatchType;
  /** The document's name in the schemas, such as V1Pod: where a strategic patch finds its merge keys. */
  readonly model: string;
  readonly document: object;
  readonly patch: unknown;
}

/** The patched document, not yet decoded: check it like any other input. Throws ApiError. */
export function* applyPatch({ type, model, document, patch }: PatchRequest): Steps<Members> {
  yield;
  if (isTooDeep(patch)) throw statusError('BadRequest', 'the patch is nested too deeply');
  yield;
  if (type === 'json') {
    const result = yield* applyJsonPatch(document, patch);
    yield;
    // Operations can also build depth: each copy below itself adds a level.
    if (!isMembers(result) || isTooDeep(result))
      throw statusError('BadRequest', 'the patched document is no object or nested too deeply');
    return result;
  }
  if (!isMembers(patch)) throw statusError('BadRequest', 'the patch must be a JSON object');
  const original = document as Members;
  return type === 'merge'
    ? (applyMergePatch(original, patch) as Members)
    : applyStrategicPatch(model, original, patch);
}
