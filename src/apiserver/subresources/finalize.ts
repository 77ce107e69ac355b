// namespaces/finalize: the namespace controller's word that nothing is left inside.
// Guarantees: only spec.finalizers is taken from the body; the namespace goes when the list is empty and it was deleted.
import type { V1Namespace } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import type { ApiResponse } from '../exchange.js';
import { renderObject } from '../output/render.js';
import type { DraftObject } from '../registry/metadata.js';
import { updateObject } from '../registry/update.js';
import type { Call, ServerContext } from '../serverContext.js';
import { readObject } from '../verbs/body.js';
import { checkNames, writeContext } from '../verbs/write.js';

export async function finalizeNamespace(
  server: ServerContext,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> {
  const context = writeContext(kind, call);
  const sent = await readObject(call, kind);
  checkNames(context, sent);
  const finalizers = [...((sent as V1Namespace).spec?.finalizers ?? [])];
  const bytes = await updateObject(server, context, {
    mode: 'server',
    transform: (current) => {
      const draft = current as DraftObject;
      return {
        ...draft,
        metadata: { ...draft.metadata, resourceVersion: sent.metadata?.resourceVersion },
        spec: { ...(draft.spec as object), finalizers },
      };
    },
  });
  return renderObject(kind, call, bytes, 200, server.now());
}
