// pods/binding: the scheduler's answer. Sets the node of a pod, once.
// Guarantees: a pod that has a node, waits for its gates or is being deleted is not bound; the pod is the one of the URL, in
// the version that the binding names, if it names one.
import type { V1Binding, V1Pod } from '../../api/gen/types.js';
import type { Draft, KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { PODS } from '../../api/resources.js';
import { conflict, invalid, statusError } from '../../api/status.js';
import { NO_TIME } from '../../api/zeroValues.js';
import { type ApiResponse, jsonResponse } from '../exchange.js';
import { mutate, validateAdmission, type WriteContext } from '../registry/admit.js';
import type { DraftObject } from '../registry/metadata.js';
import { updateObject } from '../registry/update.js';
import { type Call, type ServerContext, timestamp } from '../serverContext.js';
import { decodeOther, readData } from '../verbs/body.js';
import { writeContext } from '../verbs/write.js';

/** POST /pods/<name>/binding. */
export async function bind(server: ServerContext, kind: KindDefinition, call: Call): Promise<ApiResponse> {
  const binding = decodeOther<V1Binding>('V1Binding', await readData(call));
  if (binding.metadata?.name !== call.info.name) {
    throw statusError('BadRequest', 'name in URL does not match name in Binding object');
  }
  return bindPod(server, writeContext(kind, call), binding);
}

/** POST /bindings: the old path, where the body alone names the pod. */
export async function bindByBody(
  server: ServerContext,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> {
  const binding = decodeOther<V1Binding>('V1Binding', await readData(call));
  const { namespace } = binding.metadata ?? {};
  if (namespace !== undefined && namespace !== '' && namespace !== call.info.namespace) {
    const message = 'the namespace of the provided object does not match the namespace sent on the request';
    throw statusError('BadRequest', message);
  }
  const info = { ...call.info, resource: PODS.resource, subresource: 'binding' };
  const context = writeContext(kind, { ...call, info: { ...info, name: binding.metadata?.name ?? '' } });
  return bindPod(server, context, binding);
}

async function bindPod(
  server: ServerContext,
  context: WriteContext,
  binding: Draft<V1Binding>,
): Promise<ApiResponse> {
  const { kind, name } = context;
  const node = checkTarget(name, binding);
  const subject = { operation: 'create', object: binding as Draft<KubeObject> } as const;
  await mutate(server, context, subject);
  await validateAdmission(server, context, subject);
  await updateObject(server, context, {
    mode: 'server',
    transform: (current) => {
      const pod = current as Draft<V1Pod>;
      checkVersion(kind, name, pod, binding);
      checkUnbound(name, pod);
      return withNode(pod, node, binding, timestamp(server.now()));
    },
  });
  return jsonResponse(201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}

function checkVersion(kind: KindDefinition, name: string, pod: Draft<V1Pod>, { metadata }: V1Binding): void {
  const { resourceVersion, uid } = pod.metadata ?? {};
  const version = metadata?.resourceVersion ?? '';
  if (version !== '' && version !== resourceVersion) {
    throw conflict(
      kind.type,
      name,
      `Precondition failed: ResourceVersion in precondition: ${version}, ResourceVersion in object meta: ${resourceVersion}`,
    );
  }
  const wanted = metadata?.uid ?? '';
  if (wanted !== '' && wanted !== uid) {
    const why = `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${uid}`;
    throw conflict(kind.type, name, why);
  }
}

function checkUnbound(name: string, { metadata, spec }: Draft<V1Pod>): void {
  const refuse = (why: string) =>
    conflict({ group: '', resource: 'pods/binding' }, name, `pod ${name} ${why}`);
  if (metadata?.deletionTimestamp !== undefined)
    throw refuse('is being deleted, cannot be assigned to a host');
  const bound = spec?.nodeName ?? '';
  if (bound !== '') throw refuse(`is already assigned to node "${bound}"`);
  if ((spec?.schedulingGates ?? []).length > 0) throw refuse('has non-empty .spec.schedulingGates');
}

function withNode(pod: Draft<V1Pod>, node: string, { metadata }: V1Binding, time: string): DraftObject {
  const conditions = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
  // It waits for no place any more.
  const { nominatedNodeName: _, ...status } = pod.status ?? {};
  const scheduled = {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: NO_TIME,
    lastTransitionTime: time,
  };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(metadata?.annotations === undefined
        ? {}
        : { annotations: { ...pod.metadata?.annotations, ...metadata.annotations } }),
      ...(metadata?.labels === undefined ? {} : { labels: { ...pod.metadata?.labels, ...metadata.labels } }),
    },
    spec: { ...pod.spec, nodeName: node },
    status: { ...status, conditions: [...conditions, scheduled] },
  };
}

function checkTarget(name: string, { target }: V1Binding): string {
  if (target?.kind !== undefined && target.kind !== '' && target.kind !== 'Node') {
    throw invalid({ group: '', kind: 'Binding' }, name, [
      {
        field: 'target.kind',
        reason: 'FieldValueNotSupported',
        message: `Unsupported value: ${JSON.stringify(target.kind)}: supported values: "Node", "<empty>"`,
      },
    ]);
  }
  if ((target?.name ?? '') === '') {
    throw invalid({ group: '', kind: 'Binding' }, name, [
      { field: 'target.name', reason: 'FieldValueRequired', message: 'Required value' },
    ]);
  }
  return target.name as string;
}
