// What a kubelet may do with pods: make mirrors of its static ones, and report, evict and delete those bound to it.
// Guarantees: no pod that a node writes opens anything to it, or counts as somebody else's.
import type { V1OwnerReference, V1Pod } from '../../api/gen/types.js';
import { sameJson } from '../../api/ownKeys.js';
import { NODES, PODS } from '../../api/resources.js';
import { forbidden, notFound } from '../../api/status.js';
import type { AdmissionRequest } from '../admission.js';
import { isMirror, MIRROR_ANNOTATION } from '../auth/podReferences.js';
import type { AdmissionLookups } from './lookups.js';
import { apiReferenceOf } from './mirrorPod.js';

type Lookups = Pick<AdmissionLookups, 'pod' | 'node'>;

export async function checkNodePod(request: AdmissionRequest, node: string, lookups: Lookups): Promise<void> {
  const { operation, subresource, name } = request;
  const refuse = (why: string) => forbidden(PODS, name, why);
  const own = async (what: string) => {
    const pod = await heldPod(request, lookups);
    if (pod.spec?.nodeName === node) return pod;
    throw refuse(`node "${node}" can only ${what} with spec.nodeName set to itself`);
  };
  if (subresource === 'eviction') await own('evict pods');
  else if (subresource === 'status') checkStatus(request, node, await own('update pod status for pods'));
  else if (subresource !== '')
    throw refuse(`unexpected pod subresource "${subresource}", only 'status' and 'eviction' are allowed`);
  else if (operation === 'create') await checkMirror(request, node, lookups);
  else if (operation === 'delete') await own('delete pods');
  else {
    const what = `unexpected operation "${operation.toUpperCase()}"`;
    throw refuse(`${what}, node "${node}" can only create and delete mirror pods`);
  }
}

async function heldPod({ old, namespace, name }: AdmissionRequest, { pod }: Lookups): Promise<V1Pod> {
  const held = (old as V1Pod | undefined) ?? (await pod({ namespace, name }));
  if (held === undefined) throw notFound(PODS, name);
  return held;
}

/** Claims of devices are written by the scheduler and its controller: by them a node could reach others' claims. */
const KEPT = [
  ['resourceClaimStatuses', 'resource claim statues'],
  ['extendedResourceClaimStatus', 'extended resource claim status'],
  ['nodeAllocatableResourceClaimStatuses', 'node allocatable resource claim statuses'],
] as const;

function checkStatus(request: AdmissionRequest, node: string, held: V1Pod): void {
  const wanted = request.object as V1Pod | undefined;
  const refuse = (what: string) => forbidden(PODS, request.name, `node "${node}" cannot update ${what}`);
  if (!sameJson(wanted?.metadata?.labels ?? {}, held.metadata?.labels ?? {}))
    throw refuse('labels through pod status');
  for (const [field, what] of KEPT) {
    const valueIn = (pod: V1Pod | undefined) =>
      (pod?.status as Readonly<Record<string, unknown>> | undefined)?.[field] ?? [];
    if (!sameJson(valueIn(wanted), valueIn(held))) throw refuse(what);
  }
}

async function checkMirror(request: AdmissionRequest, node: string, lookups: Lookups): Promise<void> {
  const pod = (request.object ?? {}) as V1Pod;
  const refuse = (why: string) => forbidden(PODS, request.name, why);
  if (!isMirror(pod)) {
    const why = `pod does not have "${MIRROR_ANNOTATION}" annotation, node "${node}" can only create mirror pods`;
    throw refuse(why);
  }
  if (pod.spec?.nodeName !== node)
    throw refuse(`node "${node}" can only create pods with spec.nodeName set to itself`);
  const fault = ownerFault(pod.metadata?.ownerReferences ?? [], node);
  if (fault !== undefined) throw refuse(`node "${node}" ${fault}`);
  const held = await lookups.node({ name: node });
  if (held === undefined) throw notFound(NODES, node);
  const uid = pod.metadata?.ownerReferences?.[0]?.uid;
  if (uid !== held.metadata.uid)
    throw refuse(`node ${node} UID mismatch: expected ${uid} got ${held.metadata.uid}`);
  const reference = apiReferenceOf(pod);
  if (reference !== undefined) throw refuse(`node "${node}" can not create pods that reference ${reference}`);
}

function ownerFault(owners: readonly V1OwnerReference[], node: string): string | undefined {
  const [owner, ...more] = owners;
  if (more.length > 0) return 'can only create pods with a single owner reference set to itself';
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    return 'can only create pods with an owner reference set to itself';
  if (owner.controller !== true)
    return 'can only create pods with a controller owner reference set to itself';
  return owner.blockOwnerDeletion === true
    ? 'must not set blockOwnerDeletion on an owner reference'
    : undefined;
}
