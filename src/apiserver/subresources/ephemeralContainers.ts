// pods/ephemeralcontainers: containers added to a pod that runs, for whoever looks for a fault in it.
// Guarantees: nothing but that list changes; what it holds already is neither changed nor removed.
import type { V1EphemeralContainer, V1Pod } from '../../api/gen/types.js';
import type { Draft, KindDefinition } from '../../api/kind.js';
import { validateObject } from '../../api/meta.js';
import { copyJson, sameMeaning } from '../../api/own.js';
import { applyPatch } from '../../api/patch/patch.js';
import { invalid } from '../../api/status.js';
import type { ApiResponse } from '../exchange.js';
import { trackWrite } from '../fields/track.js';
import { type Call, type Machinery, timestamp } from '../machinery.js';
import { renderObject } from '../output/render.js';
import { mutate, validateAdmission, type WriteContext } from '../registry/admit.js';
import { type DraftObject, metaOf } from '../registry/metadata.js';
import { updateObject } from '../registry/update.js';
import { decodeAs, readObject } from '../verbs/body.js';
import { readPatch } from '../verbs/patch.js';
import { getObject } from '../verbs/read.js';
import { checkNames, writeContext } from '../verbs/write.js';

type PodDraft = Draft<V1Pod> & DraftObject;

export async function ephemeralContainers(
  machinery: Machinery,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> {
  if (call.info.verb === 'get') return getObject(machinery, kind, call);
  const context = writeContext(kind, call);
  const wanted = await wantedPod(kind, call);
  const bytes = await updateObject(machinery, context, {
    mode: 'server',
    transform: async (current) => {
      const old = current as PodDraft;
      const sent = wanted(copyJson(old));
      checkNames(context, sent);
      const draft = copyJson(old);
      metaOf(draft).resourceVersion = sent.metadata?.resourceVersion;
      const list = sent.spec?.ephemeralContainers ?? [];
      if (draft.spec !== undefined) draft.spec.ephemeralContainers = list;
      kind.defaults?.(draft);
      await mutate(machinery, context, { operation: 'update', object: draft, old });
      check(context, draft, old);
      await validateAdmission(machinery, context, { operation: 'update', object: draft, old });
      const writer = { id: context.manager, time: timestamp(machinery.now()) };
      metaOf(draft).managedFields = trackWrite(kind, old, draft, writer);
      return draft;
    },
  });
  return renderObject(kind, call, bytes, 200, machinery.now());
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

function check({ kind, name }: WriteContext, draft: PodDraft, old: PodDraft): void {
  const at = 'spec.ephemeralContainers';
  // As its own predecessor: the whole is checked, and what an ordinary update may not change is not.
  const faults = [...validateObject<V1Pod>(kind, draft, draft)];
  const next: readonly V1EphemeralContainer[] = draft.spec?.ephemeralContainers ?? [];
  for (const held of old.spec?.ephemeralContainers ?? []) {
    const same = next.find((container) => container.name === held.name);
    if (same !== undefined && sameMeaning(same, held)) continue;
    const how = same === undefined ? 'removed' : 'changed';
    const message = `Forbidden: existing ephemeral containers ${JSON.stringify(held.name)} may not be ${how}`;
    faults.push({ field: at, reason: 'FieldValueForbidden', message });
  }
  if (faults.length > 0) throw invalid(kind.type, name, faults);
}
