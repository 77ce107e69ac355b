// A subresource by which one part of a pod's spec changes that an ordinary update may not touch.
// Guarantees: nothing but that part changes; the whole pod is checked, and counts as a new generation.
import type { Cause } from '../../api/causes.js';
import type { V1Pod } from '../../api/gen/types.js';
import type { Draft, KindDefinition } from '../../api/kind.js';
import { validateObject } from '../../api/meta.js';
import { copyJson } from '../../api/own.js';
import { applyPatch } from '../../api/patch/patch.js';
import { invalid } from '../../api/status.js';
import type { ApiResponse } from '../exchange.js';
import { trackWrite } from '../fields/track.js';
import { type Call, type Machinery, timestamp } from '../machinery.js';
import { renderObject } from '../output/render.js';
import { mutate, validateAdmission } from '../registry/admit.js';
import { countGeneration, type DraftObject, metaOf } from '../registry/metadata.js';
import { updateObject } from '../registry/update.js';
import { decodeAs, readObject } from '../verbs/body.js';
import { readPatch } from '../verbs/patch.js';
import { getObject } from '../verbs/read.js';
import { checkNames, writeContext } from '../verbs/write.js';

export type PodDraft = Draft<V1Pod> & DraftObject;

export interface PodPart {
  /** Brings the part that was sent into the pod as it is. */
  readonly take: (draft: PodDraft, sent: PodDraft) => void;
  /** What is wrong with the change, beside what is wrong with the pod as a whole. */
  readonly check: (draft: PodDraft, old: PodDraft) => readonly Cause[];
}

export function podPart({ take, check }: PodPart) {
  return async (machinery: Machinery, kind: KindDefinition, call: Call): Promise<ApiResponse> => {
    if (call.info.verb === 'get') return getObject(machinery, kind, call);
    const context = writeContext(kind, call);
    const wanted = await wantedPod(kind, call);
    const bytes = await updateObject(machinery, context, {
      mode: 'server',
      reserves: true,
      transform: async (current) => {
        const old = current as PodDraft;
        const sent = wanted(copyJson(old));
        checkNames(context, sent);
        const draft = copyJson(old);
        metaOf(draft).resourceVersion = sent.metadata?.resourceVersion;
        take(draft, sent);
        kind.defaults?.(draft);
        await mutate(machinery, context, { operation: 'update', object: draft, old });
        // A copy as its own predecessor: the whole is checked, and what an ordinary update may not change is not.
        const faults = [...validateObject<V1Pod>(kind, draft, copyJson(draft)), ...check(draft, old)];
        if (faults.length > 0) throw invalid(kind.type, context.name, faults);
        await validateAdmission(machinery, context, { operation: 'update', object: draft, old });
        countGeneration(kind, draft, old);
        const writer = { id: context.manager, time: timestamp(machinery.now()) };
        metaOf(draft).managedFields = trackWrite(kind, old, draft, writer);
        return draft;
      },
    });
    return renderObject(kind, call, bytes, 200, machinery.now());
  };
}

async function wantedPod(kind: KindDefinition, call: Call): Promise<(current: PodDraft) => PodDraft> {
  if (call.info.verb === 'update') {
    const sent = (await readObject(call, kind)) as PodDraft;
    return () => copyJson(sent);
  }
  const patch = await readPatch(call);
  return (current) =>
    decodeAs(call, kind, applyPatch({ ...patch, document: current, model: kind.model })) as PodDraft;
}
