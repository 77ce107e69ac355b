// Approves the client certificates that kubelets ask for, where the one who asks may have them.
// Guarantees: only requests that the signer would sign; the API's own authorization decides, nothing here.
import type { V1SubjectAccessReview } from '../../api/gen/types.js';
import { CERTIFICATE_SIGNING_REQUESTS } from '../../api/resources.js';
import { ignoring } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { stampOf } from '../pods.js';
import { type CertificateRequest, isIssued, isJudged } from './conditions.js';
import type { RequestedCertificate } from './request.js';
import { KUBELET_CLIENT_SIGNER, kubeletClientRule } from './signers.js';

const NAME = 'certificatesigningrequest-approving-controller';
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
    return runLoop(context, NAME, {
      queue,
      reconcile: async (name) => {
        const request = requests.get(name);
        return request === undefined || !isOpen(request) ? undefined : await judge(context, request);
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

async function judge(context: ControllerContext, request: CertificateRequest): Promise<number | undefined> {
  // Loaded only where certificates are asked for.
  const { readRequest } = await import('./request.js');
  const read = await readRequest(request.spec.request).catch((error: unknown) => {
    if (error instanceof RangeError) return undefined;
    throw error;
  });
  const ground = read === undefined ? undefined : groundOf(read.asked, request.spec);
  if (ground === undefined) return undefined;
  if (!(await isAllowed(context, request, ground))) return AGAIN_MS;
  await approve(context, request, ground.message);
  return undefined;
}

export async function approve(
  context: ControllerContext,
  request: CertificateRequest,
  message: string,
): Promise<void> {
  const condition = {
    ...{ type: 'Approved', status: 'True', reason: 'AutoApproved', message },
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
        ...{ group: 'certificates.k8s.io', version: '*', resource: 'certificatesigningrequests' },
        ...{ verb: 'create', subresource },
      },
    },
  };
  const { status } = await client.raw<V1SubjectAccessReview>('POST', REVIEWS, review);
  return status?.allowed === true;
}
