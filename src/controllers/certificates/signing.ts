// Signs approved certificate requests of Kubernetes' own signers.
// Guarantees: nothing is signed without approval or against its signer's rule; a request is answered once.
import { CERTIFICATE_SIGNING_REQUESTS } from '../../api/resources.js';
import { ignoring } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { stampOf } from '../pods.js';
import { type CertificateRequest, hasCondition, isIssued } from './conditions.js';
import type { SigningAuthority } from './sign.js';
import { SIGNERS } from './signers.js';

const NAME = 'certificatesigningrequest-signing-controller';

/** Without an authority nobody here can sign: the controller has nothing to do. */
export function certificateSigner(authority: SigningAuthority | undefined): Controller {
  return {
    name: NAME,
    needs: [CERTIFICATE_SIGNING_REQUESTS],
    async run(context) {
      if (authority === undefined) return;
      const requests = context.informers.of(CERTIFICATE_SIGNING_REQUESTS);
      const queue = newQueue(context);
      const wake = (request: CertificateRequest) => {
        if (isDue(request)) queue.add(request.metadata.name);
      };
      requests.on({ added: wake, updated: wake });
      await runLoop(context, NAME, {
        queue,
        reconcile: async (name) => {
          const request = requests.get(name);
          if (request !== undefined && isDue(request)) await answer(context, authority, request);
          return undefined;
        },
      });
    },
  };
}

function isDue(request: CertificateRequest): boolean {
  return (
    SIGNERS.has(request.spec.signerName) &&
    hasCondition(request, 'Approved') &&
    !hasCondition(request, 'Denied') &&
    !hasCondition(request, 'Failed') &&
    !isIssued(request)
  );
}

async function answer(
  context: ControllerContext,
  authority: SigningAuthority,
  request: CertificateRequest,
): Promise<void> {
  const status = await statusOf(context, authority, request);
  const update = { ...request, status: { ...request.status, ...status } };
  await ignoring(
    ['NotFound'],
    context.client.of(CERTIFICATE_SIGNING_REQUESTS).update(update, { subresource: 'status' }),
  );
}

/** The certificate, or why there will be none. */
async function statusOf(
  { now }: ControllerContext,
  authority: SigningAuthority,
  { spec, status }: CertificateRequest,
): Promise<CertificateRequest['status']> {
  const failed = (message: string) => ({
    conditions: [
      ...(status?.conditions ?? []),
      {
        type: 'Failed',
        status: 'True',
        reason: 'SignerValidationFailure',
        message,
        lastUpdateTime: stampOf(now()),
      },
    ],
  });
  // Loaded only where certificates are asked for.
  const [{ readRequest }, { sign }] = await Promise.all([import('./request.js'), import('./sign.js')]);
  const usages = spec.usages ?? [];
  try {
    const request = await readRequest(spec.request);
    const fault = SIGNERS.get(spec.signerName)?.(request.asked, usages);
    if (fault !== undefined) return failed(fault);
    const { expirationSeconds } = spec;
    const pem = await sign(authority, { request, usages, expirationSeconds, now: now() });
    return { certificate: Buffer.from(pem).toString('base64') };
  } catch (error) {
    if (error instanceof RangeError) return failed(error.message);
    throw error;
  }
}
