// A kubelet writes its own node, its own lease and the pods bound to it. Kubernetes' NodeRestriction.
// Guarantees: what the Node authorizer allows by kind is narrowed here to the objects of that one node.
import type { AuthenticationV1TokenRequest, V1Node, V1Pod } from '../../api/gen/types.js';
import type { KubeObject } from '../../api/object.js';
import { LEASES, NODES, PODS, SERVICE_ACCOUNTS } from '../../api/resources.js';
import { type ApiError, forbidden } from '../../api/status.js';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.js';
import { nodeNameOf } from '../auth/nodeAuthorizer.js';
import { referencesOf } from '../auth/podReferences.js';
import type { AdmissionLookups } from './lookups.js';
import { changedRestrictedLabels } from './nodeLabels.js';
import { isAbout, MIRROR_ANNOTATION } from './requests.js';

const LEASE_NAMESPACE = 'kube-node-lease';

export function makeNodeRestriction({ pod: lookup }: Pick<AdmissionLookups, 'pod'>): AdmissionPlugin {
  return {
    name: 'NodeRestriction',
    async validate(request) {
      const node = nodeNameOf(request.user);
      if (node === undefined) return;
      if (isAbout(request, NODES)) checkNode(request, node);
      else if (isAbout(request, LEASES)) checkLease(request, node);
      else if (isAbout(request, PODS)) await checkPod(request, node, lookup);
      else if (isAbout(request, SERVICE_ACCOUNTS) && request.subresource === 'token')
        await checkToken(request, node, lookup);
    },
  };
}

function checkNode(request: AdmissionRequest, node: string): void {
  const { name, operation } = request;
  if (name !== node) throw refusal(request, `node "${node}" is not allowed to modify node "${name}"`);
  if (operation !== 'create' && operation !== 'update') return;
  const wanted = request.object as V1Node | undefined;
  const held = request.old as V1Node | undefined;
  const labels = changedRestrictedLabels(wanted?.metadata?.labels, held?.metadata?.labels);
  if (labels.length > 0)
    throw refusal(request, `is not allowed to modify labels: ${[...labels].sort().join(', ')}`);
  const keepsTaints = JSON.stringify(wanted?.spec?.taints ?? []) === JSON.stringify(held?.spec?.taints ?? []);
  // At registration a node may bring taints along; afterwards it could otherwise lure pods to itself.
  if (operation === 'update' && !keepsTaints)
    throw refusal(request, `node "${node}" is not allowed to modify taints`);
}

function checkLease(request: AdmissionRequest, node: string): void {
  if (request.namespace !== LEASE_NAMESPACE)
    throw refusal(request, `can only access leases in the "${LEASE_NAMESPACE}" system namespace`);
  if (request.name !== node)
    throw refusal(request, 'can only access node lease with the same name as the requesting node');
}

async function checkPod(
  request: AdmissionRequest,
  node: string,
  lookup: AdmissionLookups['pod'],
): Promise<void> {
  const { operation, subresource, namespace, name } = request;
  const itself = 'with spec.nodeName set to itself';
  const held = async () => (request.old as V1Pod | undefined) ?? (await lookup({ namespace, name }));
  const isOwn = async () => (await held())?.spec?.nodeName === node;
  if (subresource === '' && operation === 'create') return checkMirrorPod(request, node);
  if (subresource === '' && operation === 'delete') {
    if (!(await isOwn())) throw refusal(request, `node "${node}" can only delete pods ${itself}`);
  } else if (subresource === 'status') {
    if (!(await isOwn()))
      throw refusal(request, `node "${node}" can only update pod status for pods ${itself}`);
    const labels = (object: KubeObject | undefined) => JSON.stringify(object?.metadata?.labels ?? {});
    if (labels(request.object) !== labels(await held()))
      throw refusal(request, `node "${node}" cannot update labels through pod status`);
  } else if (subresource === 'eviction') {
    if (!(await isOwn())) throw refusal(request, `node "${node}" can only evict pods ${itself}`);
  } else
    throw refusal(
      request,
      `unexpected operation "${operation.toUpperCase()}", node "${node}" can only create and delete mirror pods`,
    );
}

function checkMirrorPod(request: AdmissionRequest, node: string): void {
  const pod = request.object as V1Pod | undefined;
  if (pod?.metadata?.annotations?.[MIRROR_ANNOTATION] === undefined)
    throw refusal(
      request,
      `pod does not have "${MIRROR_ANNOTATION}" annotation, node "${node}" can only create mirror pods`,
    );
  if (pod.spec?.nodeName !== node)
    throw refusal(request, `node "${node}" can only create pods with spec.nodeName set to itself`);
  // A mirror pod that named a secret would open that secret to its node.
  const named = referencesOf(pod.spec).filter(
    ({ resource }) => resource !== 'serviceaccounts' || (pod.spec?.serviceAccountName ?? '') !== '',
  );
  const [first] = named;
  if (first !== undefined)
    throw refusal(request, `node "${node}" can not create pods that reference ${first.resource}`);
}

async function checkToken(
  request: AdmissionRequest,
  node: string,
  lookup: AdmissionLookups['pod'],
): Promise<void> {
  const bound = (request.object as AuthenticationV1TokenRequest | undefined)?.spec?.boundObjectRef;
  if (bound?.kind !== 'Pod' || !bound.name) throw refusal(request, 'node requested token not bound to a pod');
  if (!bound.uid) throw refusal(request, 'node requested token with a pod binding without a uid');
  const pod = await lookup({ namespace: request.namespace, name: bound.name });
  if (pod?.metadata.uid !== bound.uid || pod.spec.nodeName !== node)
    throw refusal(request, 'node requested token bound to a pod scheduled on a different node');
}

function refusal({ type, name }: AdmissionRequest, why: string): ApiError {
  return forbidden(type, name, why);
}
