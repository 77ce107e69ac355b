// Service account tokens: for an audience and a time, bound to the account and, if asked, to a pod, a Secret or a node.
// Guarantees: no token without an expiry; what it is bound to was compared by uid before it was signed.
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import type {
  AuthenticationV1TokenRequest,
  V1Node,
  V1Pod,
  V1Secret,
  V1ServiceAccount,
  V1StatusCause,
} from '../../api/gen/types.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { conflict, invalid, notFound, statusError } from '../../api/status.js';
import { serviceAccountUser } from './rbac.js';
import { readSigningKey, type SigningKey } from './signingKey.js';

const MIN_TOKEN_SECONDS = 600;
const DEFAULT_TOKEN_SECONDS = 3600;
const API_MAX_TOKEN_SECONDS = 2 ** 32;

interface TokenIssuerOptions {
  readonly privateKeyPem: string;
  /** The digest of the public key unless given. */
  readonly keyId?: string;
  readonly issuer: string;
  /** Used when a request names none: the apiserver's own. */
  readonly audiences: readonly string[];
  /** Longer wishes are cut to this, as with --service-account-max-token-expiration. */
  readonly maxExpirationSeconds?: number;
  now?(): number;
}

interface IssuedToken {
  readonly token: string;
  readonly expirationTimestamp: string;
  /** How long it lives: what was asked for, or less. */
  readonly expirationSeconds: number;
}

export interface BoundPod {
  readonly pod: Stored<V1Pod>;
  readonly node?: { readonly name: string; readonly uid?: string };
}

/** The Secret that holds the token: it dies with it. */
interface BoundSecret {
  readonly secret: Stored<V1Secret>;
}

/** The node that the token's holder speaks from. */
interface BoundNode {
  readonly boundNode: Stored<V1Node>;
}

export type BoundObject = BoundPod | BoundSecret | BoundNode;

export interface TokenIssuer {
  readonly key: SigningKey;
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** `bound` is what spec.boundObjectRef names, when it names something and it exists. Throws ApiError. */
  issue(
    request: AuthenticationV1TokenRequest,
    account: Stored<V1ServiceAccount>,
    bound?: BoundObject,
  ): Promise<IssuedToken>;
}

export function makeTokenIssuer(options: TokenIssuerOptions): TokenIssuer {
  const { issuer, audiences, maxExpirationSeconds = Number.POSITIVE_INFINITY, now = Date.now } = options;
  const key = readSigningKey(options.privateKeyPem, options.keyId);
  return {
    key,
    issuer,
    audiences,
    async issue(request, account, bound) {
      const seconds = Math.min(checkedSeconds(request), maxExpirationSeconds);
      checkBound(request, account, bound);
      const issuedAt = Math.floor(now() / 1000);
      const asked = request.spec?.audiences ?? [];
      const token = await new SignJWT({ 'kubernetes.io': privateClaims(account, bound) })
        .setProtectedHeader({ alg: key.algorithm, kid: key.keyId })
        .setIssuer(issuer)
        .setSubject(serviceAccountUser(namedIn(account)))
        .setAudience([...(asked.length === 0 ? audiences : asked)])
        .setIssuedAt(issuedAt)
        .setNotBefore(issuedAt)
        .setExpirationTime(issuedAt + seconds)
        .setJti(randomUUID())
        .sign(key.key);
      const expirationTimestamp = new Date((issuedAt + seconds) * 1000).toISOString().replace('.000Z', 'Z');
      return { token, expirationTimestamp, expirationSeconds: seconds };
    },
  };
}

function checkedSeconds({ spec }: AuthenticationV1TokenRequest): number {
  const seconds = spec?.expirationSeconds ?? DEFAULT_TOKEN_SECONDS;
  const fault = (message: string): V1StatusCause => ({
    field: 'spec.expirationSeconds',
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${seconds}: ${message}`,
  });
  const faults =
    seconds < MIN_TOKEN_SECONDS
      ? [fault('may not specify a duration less than 10 minutes')]
      : seconds > API_MAX_TOKEN_SECONDS
        ? [fault('may not specify a duration larger than 2^32 seconds')]
        : [];
  if (faults.length > 0) throw invalid({ group: 'authentication.k8s.io', kind: 'TokenRequest' }, '', faults);
  return seconds;
}

function checkBound(
  { spec }: AuthenticationV1TokenRequest,
  account: Stored<V1ServiceAccount>,
  bound: BoundObject | undefined,
): void {
  const reference = spec?.boundObjectRef ?? undefined;
  if (reference === undefined) return;
  const resource = BINDABLE[reference.kind ?? ''];
  if (resource === undefined || (reference.apiVersion ?? 'v1') !== 'v1') {
    const what = `${reference.apiVersion ?? ''}, Kind=${reference.kind ?? ''}`;
    throw statusError('BadRequest', `cannot bind token to object of type ${what}`);
  }
  const kind = { group: '', resource };
  const name = reference.name ?? '';
  if (bound === undefined) throw notFound(kind, name);
  const { metadata } = objectOf(bound);
  if (reference.uid !== undefined && reference.uid !== '' && reference.uid !== metadata.uid) {
    const why = `the UID in the bound object reference (${reference.uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict(kind, name, why);
  }
  if ('pod' in bound && bound.pod.spec.serviceAccountName !== account.metadata.name) {
    const why = `cannot bind token for serviceaccount "${account.metadata.name}" to pod running with different serviceaccount name.`;
    throw statusError('BadRequest', why);
  }
}

const BINDABLE: Readonly<Record<string, string>> = { Pod: 'pods', Secret: 'secrets', Node: 'nodes' };

function objectOf(bound: BoundObject): Stored<KubeObject> {
  if ('pod' in bound) return bound.pod;
  return 'secret' in bound ? bound.secret : bound.boundNode;
}

function privateClaims(account: Stored<V1ServiceAccount>, bound: BoundObject | undefined): object {
  const { namespace, name } = namedIn(account);
  return {
    namespace,
    ...(bound === undefined ? {} : boundClaims(bound)),
    serviceaccount: { name, uid: account.metadata.uid },
  };
}

function boundClaims(bound: BoundObject): object {
  const named = ({ metadata }: Stored<KubeObject>) => ({ name: metadata.name, uid: metadata.uid });
  if ('secret' in bound) return { secret: named(bound.secret) };
  if ('boundNode' in bound) return { node: named(bound.boundNode) };
  return { ...(bound.node === undefined ? {} : { node: bound.node }), pod: named(bound.pod) };
}

function namedIn({ metadata }: Stored<V1ServiceAccount>): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? '', name: metadata.name };
}
