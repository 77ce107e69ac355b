// Takes away certificate requests that nobody needs any more.
// Guarantees: a request goes by its age and state alone, at Kubernetes' ages; only the one that was looked at goes;
// one that cannot go keeps no other.
import { X509Certificate } from 'node:crypto';
import { CERTIFICATE_SIGNING_REQUESTS } from '../../api/resources.js';
import { ignoring } from '../claim.js';
import { type Controller, runEvery, sweep } from '../controller.js';
import { timeOf } from '../pods.js';
import { type CertificateRequest, hasCondition, isIssued, isJudged } from './conditions.js';

const NAME = 'certificatesigningrequest-cleaner-controller';
const HOUR_MS = 60 * 60 * 1000;
const DONE_MS = HOUR_MS;
const PENDING_MS = 24 * HOUR_MS;

export const certificateCleaner: Controller = {
  name: NAME,
  needs: [CERTIFICATE_SIGNING_REQUESTS],
  run(context) {
    const { client, informers, now } = context;
    const requests = informers.of(CERTIFICATE_SIGNING_REQUESTS);
    return runEvery(context, {
      name: NAME,
      periodMs: HOUR_MS,
      tick: () =>
        sweep(context, { name: NAME, items: requests.list() }, async (request) => {
          if (!isOutdated(request, now())) return;
          const { name, uid } = request.metadata;
          await ignoring(
            ['Conflict'],
            client.of(CERTIFICATE_SIGNING_REQUESTS).delete({ name }, { preconditions: { uid } }),
          );
        }),
    });
  },
};

/** Pure. */
export function isOutdated(request: CertificateRequest, now: number): boolean {
  const conditions = request.status?.conditions ?? [];
  const since = (stamp: string | undefined) => now - (timeOf(stamp) ?? now);
  const judgedLongAgo = conditions.some(({ lastUpdateTime }) => since(lastUpdateTime) > DONE_MS);
  if (judgedLongAgo && (isJudged(request) || hasCondition(request, 'Failed'))) return true;
  if (isIssued(request)) return isExpired(request, now);
  return conditions.length === 0 && since(request.metadata.creationTimestamp) > PENDING_MS;
}

function isExpired({ status }: CertificateRequest, now: number): boolean {
  try {
    const pem = Buffer.from(status?.certificate ?? '', 'base64');
    return Date.parse(new X509Certificate(pem).validTo) < now;
  } catch {
    // Another signer may have written what only its requester can read.
    return false;
  }
}
