// Approves the client certificates that kubelets ask for, where the one who asks may have them.
// Guarantees: only requests that the signer would sign; the API's own authorization decides who may ask; a bootstrap token
// gets no certificate of a node that is there: that is for an administrator to approve.
import type { V1SubjectAccessReview } from '../../api/gen/types.js';
import { CERTIFICATE_SIGNING_REQUESTS, NODES } from '../../api/resources.js';
import { ignoring } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { stampOf } from '../pods.js';
import { type CertificateRequest, isIssued, isJudged } from './conditions.js';
import type { RequestedCertificate } from './request.js';
import { KUBELET_CLIENT_SIGNER, kubeletClientRule, NODE_PREFIX } from './signers.js';

const NAME = 'certificatesigningrequest-approving-controller';
const BOOTSTRAP_PREFIX = 'system:bootstrap:';
/** Rights may be given later. */
const AGAIN_MS = 30_000;
const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

export const certificateApprover: Controller = {
  name: NAME,
  needs: [CERTIFICATE_SIGNING_REQUESTS],
  run(context) {
    const requests = context.informers.of(CERTIFICATE_SIGNING_REQUESTS);
    const queue = newQueue(context);
    const wake = (request: CertificateRequest) => {
      if (isOpen(request)) queue.add(request.metadata.name);
    };
    requests.on({ added: wake, updated: wake });
    const nodes = context.informers.of(NODES);
    nodes.on({ deleted: () => requests.list().forEach(wake) });
    const isThere = (node: string) => nodes.get(node) !== undefined;
    return runLoop(context, NAME, {
      queue,
      reconcile: async (name) => {
        const request = requests.get(name);
        if (request === undefined || !isOpen(request)) return undefined;
        return judge({ ...context, isThere }, request);
      },
    });
  },
};

function isOpen(request: CertificateRequest): boolean {
  return request.spec.signerName === KUBELET_CLIENT_SIGNER && !isJudged(request) && !isIssued(request);
}

interface Ground {
  readonly subresource: 'selfnodeclient' | 'nodeclient';
  readonly message: string;
}

/** On which grounds a request may be approved; none when it is not a kubelet's. Pure. */
export function groundOf(
  asked: RequestedCertificate,
  { usages = [], username }: CertificateRequest['spec'],
): Ground | undefined {
  if (kubeletClientRule(asked, usages) !== undefined) return undefined;
  return username === asked.commonName
    ? {
        subresource: 'selfnodeclient',
        message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
      }
    : {
        subresource: 'nodeclient',
        message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
      };
}

/** The node whose name a bootstrap token would take over; undefined when none is there. Pure. */
function takenNode(
  { commonName }: RequestedCertificate,
  { username = '' }: CertificateRequest['spec'],
  isThere: (node: string) => boolean,
): string | undefined {
  const node = commonName.slice(NODE_PREFIX.length);
  return username.startsWith(BOOTSTRAP_PREFIX) && isThere(node) ? node : undefined;
}

interface Judge extends ControllerContext {
  isThere(node: string): boolean;
}

async function judge(context: Judge, request: CertificateRequest): Promise<number | undefined> {
  // Loaded only where certificates are asked for.
  const { readRequest } = await import('./request.js');
  const read = await readRequest(request.spec.request).catch((error: unknown) => {
    if (error instanceof RangeError) return undefined;
    throw error;
  });
  const ground = read === undefined ? undefined : groundOf(read.asked, request.spec);
  if (read === undefined || ground === undefined) return undefined;
  if (!(await isAllowed(context, request, ground))) return AGAIN_MS;
  const taken = takenNode(read.asked, request.spec, context.isThere);
  if (taken !== undefined) {
    const message =
      `The node "${taken}" exists, so a bootstrap token does not get its certificate by itself: ` +
      `run "kubectl certificate approve ${request.metadata.name}", or "kubectl delete node ${taken}" if it is gone.`;
    context.record(CERTIFICATE_SIGNING_REQUESTS, request, { type: 'Warning', reason: 'NodeExists', message });
    return undefined;
  }
  await approve(context, request, ground.message);
  return undefined;
}

export async function approve(
  context: ControllerContext,
  request: CertificateRequest,
  message: string,
): Promise<void> {
  const condition = {
    type: 'Approved',
    status: 'True',
    reason: 'AutoApproved',
    message,
    lastUpdateTime: stampOf(context.now()),
  };
  const status = { ...request.status, conditions: [...(request.status?.conditions ?? []), condition] };
  const update = { ...request, status };
  await ignoring(
    ['NotFound'],
    context.client.of(CERTIFICATE_SIGNING_REQUESTS).update(update, { subresource: 'approval' }),
  );
}

async function isAllowed(
  { client }: ControllerContext,
  { spec }: CertificateRequest,
  { subresource }: Ground,
): Promise<boolean> {
  const { username = '', uid, groups, extra } = spec;
  const review: V1SubjectAccessReview = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user: username,
      ...(uid === undefined ? {} : { uid }),
      ...(groups === undefined ? {} : { groups }),
      ...(extra === undefined ? {} : { extra }),
      resourceAttributes: {
        group: 'certificates.k8s.io',
        version: '*',
        resource: 'certificatesigningrequests',
        verb: 'create',
        subresource,
      },
    },
  };
  const { status } = await client.raw<V1SubjectAccessReview>('POST', REVIEWS, review);
  return status?.allowed === true;
}
