// PATCH: the patch is applied to the newest version, and to a newer one again when another write came between.
// Guarantees: a patch that names no resourceVersion never fails for a conflict; the result passes every check of an update.
import type { KindDefinition } from '../../api/kind.js';
import { getOwn, isMembers, type Members } from '../../api/ownKeys.js';
import { applyPatch, PATCH_TYPES, type PatchType } from '../../api/patch/patch.js';
import { statusError } from '../../api/status.js';
import { inSteps } from '../../api/steps.js';
import type { ApiResponse } from '../exchange.js';
import { renderObject } from '../output/render.js';
import type { WriteContext } from '../registry/admit.js';
import type { DraftObject } from '../registry/metadata.js';
import { updateObject } from '../registry/update.js';
import type { Call, ServerContext } from '../serverContext.js';
import { APPLY_TYPE, applyObject, isApply } from './apply.js';
import { decodeAs, duplicatesIn, mediaTypeOf, parseJson, refuseInexact } from './body.js';
import { optionsError } from './fieldManager.js';
import { formOf, fromStored } from './served.js';
import { checkNames, replace, writeContext } from './write.js';

interface Patch {
  readonly type: PatchType;
  readonly patch: unknown;
  /** What is said of the members that the text of the patch names twice. */
  readonly duplicates: readonly string[];
}

export async function readPatch(call: Call, kind: KindDefinition): Promise<Patch> {
  const { custom } = kind;
  const { request } = call;
  const type = getOwn<PatchType>(PATCH_TYPES, mediaTypeOf(request.headers['content-type']));
  // Only Kubernetes' own types say how their lists merge.
  const isServed = type !== undefined && (custom === undefined || type !== 'strategic');
  if (!isServed) {
    const known = Object.keys(PATCH_TYPES).filter(
      (name) => custom === undefined || !name.includes('strategic'),
    );
    const accepted = [...known, APPLY_TYPE].join(', ');
    const message = `the body of the request was in an unknown format - accepted media types include: ${accepted}`;
    throw statusError('UnsupportedMediaType', message);
  }
  const body = parseJson(call, await request.body());
  refuseInexact(kind, body);
  return { type, patch: body.data, duplicates: duplicatesIn(call, body) };
}

export async function patchObject(
  server: ServerContext,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> {
  if (isApply(call)) return applyObject(server, kind, call);
  if (call.query.has('force')) {
    throw optionsError(
      'patch',
      'FieldValueForbidden',
      'Forbidden: may not be specified for non-apply patch',
      'force',
    );
  }
  const context = writeContext(kind, call);
  const patch = await readPatch(call, kind);
  let warned = false;
  const bytes = await updateObject(server, context, {
    mode: 'user',
    // What another form of the object shares with it is not known.
    isPure: call.served === undefined,
    transform: async (current, pause) => {
      const document = touched(context, patch, fromStored(call, current));
      const { model } = formOf(kind, call);
      const patched = await inSteps(applyPatch({ ...patch, document, model }), pause);
      await pause();
      const draft = decodeAs(warned ? { ...call, warnings: [] } : call, kind, patched, patch);
      warned = true;
      checkNames(context, draft);
      return replace(context, current as DraftObject, draft);
    },
  });
  return renderObject(kind, call, bytes, 200, server.now());
}

/**
 * The part of the object that the patch of a subresource is about: what its result says of the rest counts for nothing.
 * A JSON patch may look at anything.
 */
function touched({ subresource }: WriteContext, { type, patch }: Patch, document: object): object {
  if (subresource === '' || type === 'json' || !isMembers(patch)) return document;
  const { metadata, ...members } = document as DraftObject & Members;
  const { managedFields: _, ...meta } = metadata ?? {};
  const named = Object.entries(members).filter(([name]) => ALWAYS.has(name) || Object.hasOwn(patch, name));
  return { ...Object.fromEntries(named), metadata: meta };
}

const ALWAYS = new Set(['apiVersion', 'kind', 'status']);
