// A subresource by which one part of a pod's spec changes that an ordinary update may not touch.
// Guarantees: nothing but that part changes, and an applier comes to own nothing else; the whole pod is checked, and
// counts as a new generation.
import type { Cause } from '../../api/causes.js';
import type { V1ManagedFieldsEntry, V1Pod, V1PodSpec } from '../../api/gen/types.js';
import type { Draft, KindDefinition } from '../../api/kind.js';
import { validateObject } from '../../api/meta.js';
import { copyJson } from '../../api/ownKeys.js';
import { applyPatch } from '../../api/patch/patch.js';
import { invalid } from '../../api/status.js';
import { inSteps } from '../../api/steps.js';
import type { ApiResponse } from '../exchange.js';
import { applyConfiguration } from '../fields/apply.js';
import { trackWrite } from '../fields/track.js';
import { renderObject } from '../output/render.js';
import { mutate, validateAdmission, type WriteContext } from '../registry/admit.js';
import { countGeneration, type DraftObject, metaOf } from '../registry/metadata.js';
import { type Pause, updateObject } from '../registry/update.js';
import { type Call, type ServerContext, timestamp } from '../serverContext.js';
import { isApply, isForced, readConfiguration, writerOf } from '../verbs/apply.js';
import { decodeAs, readObject } from '../verbs/body.js';
import { readPatch } from '../verbs/patch.js';
import { getObject } from '../verbs/read.js';
import { checkNames, writeContext } from '../verbs/write.js';

export type PodDraft = Draft<V1Pod> & DraftObject;

interface PodPart {
  /** What is wrong with what was sent, where that cannot be brought into the pod. */
  readonly obstacles?: (sent: PodDraft, old: PodDraft) => readonly Cause[];
  /** Brings the part that was sent into the pod as it is. */
  readonly take: (draft: PodDraft, sent: PodDraft) => void;
  /** What is wrong with the change, beside what is wrong with the pod as a whole. */
  readonly check: (draft: PodDraft, old: PodDraft) => readonly Cause[];
  /** Of a spec that is applied: the part alone. */
  readonly partOf: (spec: V1PodSpec) => Partial<V1PodSpec>;
}

interface Wanted {
  readonly pod: PodDraft;
  /** Who owns what, where the write itself says so. */
  readonly managedFields?: V1ManagedFieldsEntry[];
}

export function podPart({ obstacles, take, check, partOf }: PodPart) {
  return async (server: ServerContext, kind: KindDefinition, call: Call): Promise<ApiResponse> => {
    if (call.info.verb === 'get') return getObject(server, kind, call);
    const context = writeContext(kind, call);
    const isApplied = call.info.verb === 'patch' && isApply(call);
    const wanted = isApplied ? await appliedPod(server, context, call, partOf) : await wantedPod(kind, call);
    const bytes = await updateObject(server, context, {
      mode: 'server',
      reserves: true,
      transform: async (current, pause) => {
        const old = current as PodDraft;
        const { pod: sent, managedFields } = await wanted(copyJson(old), pause);
        checkNames(context, sent);
        const unfit = obstacles?.(sent, old) ?? [];
        if (unfit.length > 0) throw invalid(kind.type, context.name, unfit);
        const draft = copyJson(old);
        metaOf(draft).resourceVersion = sent.metadata?.resourceVersion;
        take(draft, sent);
        kind.defaults?.(draft);
        await mutate(server, context, { operation: 'update', object: draft, old });
        // A copy as its own predecessor: the whole is checked, and what an ordinary update may not change is not.
        const faults = [...validateObject<V1Pod>(kind, draft, copyJson(draft)), ...check(draft, old)];
        if (faults.length > 0) throw invalid(kind.type, context.name, faults);
        await validateAdmission(server, context, { operation: 'update', object: draft, old });
        countGeneration(kind, draft, old);
        const writer = { id: context.manager, time: timestamp(server.now()) };
        metaOf(draft).managedFields =
          managedFields ?? (await inSteps(trackWrite(kind, old, draft, writer), pause));
        return draft;
      },
    });
    return renderObject(kind, call, bytes, 200, server.now());
  };
}

type MakeWanted = (current: PodDraft, pause: Pause) => Promise<Wanted>;

async function wantedPod(kind: KindDefinition, call: Call): Promise<MakeWanted> {
  if (call.info.verb === 'update') {
    const sent = (await readObject(call, kind)) as PodDraft;
    return async () => ({ pod: copyJson(sent) });
  }
  const patch = await readPatch(call, kind);
  return async (current, pause) => {
    const work = applyPatch({ ...patch, document: current, model: kind.model });
    return { pod: decodeAs(call, kind, await inSteps(work, pause), patch) as PodDraft };
  };
}

async function appliedPod(
  server: ServerContext,
  context: WriteContext,
  call: Call,
  partOf: PodPart['partOf'],
): Promise<MakeWanted> {
  const { kind } = context;
  const writer = writerOf(server, context, call);
  const sent = (await readConfiguration(kind, call, context)) as PodDraft;
  const { name, namespace, uid, resourceVersion } = sent.metadata ?? {};
  const metadata = {
    name,
    namespace,
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  const config = {
    apiVersion: sent.apiVersion,
    kind: sent.kind,
    metadata,
    spec: partOf(sent.spec ?? { containers: [] }),
  };
  return async (live, pause) => {
    const work = applyConfiguration({ kind, live, config, writer, force: isForced(call) });
    const { object, managedFields } = await inSteps(work, pause);
    const pod = copyJson(object) as PodDraft;
    // The live pod's own revision asks for nothing.
    metaOf(pod).resourceVersion = resourceVersion;
    return { pod, managedFields };
  };
}
