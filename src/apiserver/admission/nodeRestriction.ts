// A kubelet writes its own node, its own lease and the pods bound to it. Kubernetes' NodeRestriction.
// Guarantees: what the Node authorizer allows by kind is narrowed here to the objects of that one node.
import { readCertificateRequest } from '../../api/certificates/request.js';
import type {
  V1CertificateSigningRequest,
  V1Node,
  V1PersistentVolumeClaim,
  V1ResourceSlice,
} from '../../api/gen/types.js';
import { sameJson } from '../../api/ownKeys.js';
import {
  CERTIFICATE_SIGNING_REQUESTS,
  CSI_NODES,
  LEASES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  RESOURCE_SLICES,
  type ResourceType,
  SERVICE_ACCOUNTS,
} from '../../api/resources.js';
import { type ApiError, forbidden } from '../../api/status.js';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.js';
import { nodeNameOf } from '../auth/nodeAuthorizer.js';
import type { AdmissionLookups } from './lookups.js';
import { changedRestrictedLabels } from './nodeLabels.js';
import { checkNodePod } from './nodePods.js';
import { checkNodeToken, type TokenRules } from './nodeTokens.js';
import { isAbout } from './requests.js';

const LEASE_NAMESPACE = 'kube-node-lease';
const NODE_SIGNERS = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet'];

type Check = (request: AdmissionRequest, node: string) => Promise<void> | void;

export function makeNodeRestriction(
  rules: TokenRules & { readonly lookups: Pick<AdmissionLookups, 'node'> },
): AdmissionPlugin {
  const checks: readonly (readonly [ResourceType, Check])[] = [
    [NODES, checkNode],
    [PODS, (request, node) => checkNodePod(request, node, rules.lookups)],
    [PERSISTENT_VOLUME_CLAIMS, checkClaim],
    [
      SERVICE_ACCOUNTS,
      (request, node) => (request.subresource === 'token' ? checkNodeToken(request, node, rules) : undefined),
    ],
    [LEASES, checkLease],
    [CSI_NODES, checkCsiNode],
    [RESOURCE_SLICES, checkSlice],
    [CERTIFICATE_SIGNING_REQUESTS, checkCertificateRequest],
  ];
  return {
    name: 'NodeRestriction',
    async validate(request) {
      const node = nodeNameOf(request.user);
      if (node === undefined) return;
      for (const [type, check] of checks) if (isAbout(request, type)) await check(request, node);
    },
  };
}

const checkNode: Check = (request, node) => {
  const { name, operation } = request;
  if (name !== node) throw refusal(request, `node "${node}" is not allowed to modify node "${name}"`);
  if (operation !== 'create' && operation !== 'update') return;
  const wanted = request.object as V1Node | undefined;
  const held = request.old as V1Node | undefined;
  const source = wanted?.spec?.configSource;
  const labels = [...changedRestrictedLabels(wanted?.metadata?.labels, held?.metadata?.labels)]
    .sort()
    .join(', ');
  if (operation === 'create') {
    // At registration a node may bring taints along; afterwards it could otherwise lure pods to itself.
    if (source != null)
      throw refusal(request, `node "${node}" is not allowed to create pods with a non-nil configSource`);
    if (labels !== '')
      throw refusal(request, `node "${node}" is not allowed to set the following labels: ${labels}`);
    return;
  }
  if (source != null && !sameJson(source, held?.spec?.configSource))
    throw refusal(
      request,
      `node "${node}" is not allowed to update configSource to a new non-nil configSource`,
    );
  if (!sameJson(wanted?.spec?.taints ?? [], held?.spec?.taints ?? []))
    throw refusal(request, `node "${node}" is not allowed to modify taints`);
  // By an owner that does not exist a node would have itself collected, and come back with other labels and taints.
  if (!sameJson(wanted?.metadata?.ownerReferences ?? [], held?.metadata?.ownerReferences ?? []))
    throw refusal(request, `node "${node}" is not allowed to modify ownerReferences`);
  if (labels !== '') throw refusal(request, `is not allowed to modify labels: ${labels}`);
};

const checkLease: Check = (request, node) => {
  if (request.namespace !== LEASE_NAMESPACE)
    throw refusal(request, `can only access leases in the "${LEASE_NAMESPACE}" system namespace`);
  if (request.name !== node)
    throw refusal(request, 'can only access node lease with the same name as the requesting node');
};

const checkCsiNode: Check = (request, node) => {
  if (request.name !== node)
    throw refusal(request, 'can only access CSINode with the same name as the requesting node');
};

const checkSlice: Check = (request, node) => {
  const { operation } = request;
  if (operation !== 'create' && operation !== 'delete') return;
  const slice = (operation === 'create' ? request.object : request.old) as V1ResourceSlice | undefined;
  if (slice?.spec?.nodeName !== node)
    throw refusal(
      request,
      `can only ${operation} ResourceSlice with the same NodeName as the requesting node`,
    );
};

const checkClaim: Check = (request, node) => {
  if (request.subresource !== 'status') throw refusal(request, 'may only update PVC status');
  if (request.operation !== 'update')
    throw refusal(request, `unexpected operation "${request.operation.toUpperCase()}"`);
  if (sameJson(withoutNodeFields(request.object), withoutNodeFields(request.old))) return;
  const why = 'is not allowed to update fields other than status.quantity and status.conditions';
  throw refusal(request, `node "${node}" ${why}`);
};

/** Without what a node reports of a volume that grows. */
function withoutNodeFields(object: unknown): object {
  const { metadata = {}, status = {}, ...rest } = (object ?? {}) as V1PersistentVolumeClaim;
  const { resourceVersion: _v, managedFields: _m, ...meta } = metadata;
  const {
    capacity: _c,
    conditions: _s,
    allocatedResources: _a,
    allocatedResourceStatuses: _r,
    ...kept
  } = status;
  return { ...rest, metadata: meta, status: kept };
}

const checkCertificateRequest: Check = (request, node) => {
  const { spec } = (request.object ?? {}) as Partial<V1CertificateSigningRequest>;
  if (request.operation !== 'create' || !NODE_SIGNERS.includes(spec?.signerName ?? '')) return;
  const asked = readCertificateRequest(spec?.request ?? '');
  if (typeof asked === 'string') throw refusal(request, `unable to parse csr: ${asked}`);
  if (asked.commonName !== `system:node:${node}`)
    throw refusal(request, `can only create a node CSR with CN=system:node:${node}`);
};

function refusal({ type, name }: AdmissionRequest, why: string): ApiError {
  return forbidden(type, name, why);
}
