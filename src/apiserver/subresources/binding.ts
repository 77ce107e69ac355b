// pods/binding: the scheduler's answer. Sets the node of a pod, once.
// Guarantees: a pod that has a node, waits for its gates or is being deleted is not bound; the pod is the one of the URL, in
// the version that the binding names, if it names one.
import type { V1Binding, V1Pod } from '../../api/gen/types.js';
import type { Draft, KindDefinition } from '../../api/kind.js';
import { conflict, invalid, statusError } from '../../api/status.js';
import { type ApiResponse, jsonResponse } from '../exchange.js';
import { type Call, type Machinery, timestamp } from '../machinery.js';
import type { DraftObject } from '../registry/metadata.js';
import { updateObject } from '../registry/update.js';
import { decodeOther, readData } from '../verbs/body.js';
import { writeContext } from '../verbs/write.js';

export async function bind(machinery: Machinery, kind: KindDefinition, call: Call): Promise<ApiResponse> {
  const { name } = call.info;
  const binding = decodeOther<V1Binding>('V1Binding', await readData(call));
  if (binding.metadata?.name !== name) {
    throw statusError('BadRequest', 'name in URL does not match name in Binding object');
  }
  const node = checkTarget(name, binding);
  await updateObject(machinery, writeContext(kind, call), {
    mode: 'server',
    transform: (current) => {
      const pod = current as Draft<V1Pod>;
      const version = binding.metadata?.resourceVersion ?? '';
      if (version !== '' && version !== pod.metadata?.resourceVersion) {
        throw conflict(
          kind.type,
          name,
          `Precondition failed: ResourceVersion in precondition: ${version}, ResourceVersion in object meta: ${pod.metadata?.resourceVersion}`,
        );
      }
      if (binding.metadata?.uid !== undefined && binding.metadata.uid !== pod.metadata?.uid) {
        throw conflict(
          kind.type,
          name,
          `Precondition failed: UID in precondition: ${binding.metadata.uid}, UID in object meta: ${pod.metadata?.uid}`,
        );
      }
      if (pod.metadata?.deletionTimestamp !== undefined) {
        throw conflict(kind.type, name, `pod ${name} is being deleted, cannot be assigned to a host`);
      }
      const bound = pod.spec?.nodeName ?? '';
      if (bound !== '') throw conflict(kind.type, name, `pod ${name} is already assigned to node "${bound}"`);
      if ((pod.spec?.schedulingGates ?? []).length > 0) {
        throw conflict(kind.type, name, `pod ${name} has non-empty .spec.schedulingGates`);
      }
      return withNode(pod, node, binding, timestamp(machinery.now()));
    },
  });
  return jsonResponse(201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}

function withNode(pod: Draft<V1Pod>, node: string, { metadata }: V1Binding, time: string): DraftObject {
  const conditions = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
  // It waits for no place any more.
  const { nominatedNodeName: _, ...status } = pod.status ?? {};
  const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: time };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(metadata?.annotations === undefined
        ? {}
        : { annotations: { ...pod.metadata?.annotations, ...metadata.annotations } }),
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
