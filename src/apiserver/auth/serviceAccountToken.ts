// Users by service account token: the signature, the issuer, the audience, the times, then whether what it is bound to still lives.
// Guarantees: a token dies with its account, and with the pod, Secret or node it is bound to, a minute after their deletion
// though finalizers hold them; a same-named successor does not revive it.
import { type JWTPayload, jwtVerify } from 'jose';
import type { Authenticator, UserInfo } from '../identity.js';
import { serviceAccountUser } from './rbac.js';
import type { VerificationKey } from './signingKey.js';
import { bearerToken, unauthorized } from './unauthorized.js';

interface Living {
  readonly metadata: { readonly uid: string; readonly deletionTimestamp?: string | undefined };
}
type Lookup = (name: { namespace?: string; name: string }) => Promise<Living | undefined>;

/** What exists now under that name, or undefined. */
interface BoundObjectLookups {
  readonly serviceAccount: Lookup;
  readonly pod: Lookup;
  readonly secret: Lookup;
  readonly node: Lookup;
}

interface ServiceAccountTokenOptions {
  readonly keys: readonly VerificationKey[];
  /** The first issues; the others were used before and are still accepted. */
  readonly issuers: readonly string[];
  readonly lookups: BoundObjectLookups;
  now?(): number;
}

interface NamedUid {
  readonly name: string;
  readonly uid: string;
}

interface PrivateClaims {
  readonly namespace: string;
  readonly serviceaccount: NamedUid;
  readonly pod?: NamedUid;
  readonly secret?: NamedUid;
  readonly node?: { readonly name: string; readonly uid?: string };
}

/** Also what TokenReview asks, with audiences of the reviewer's choice. */
export interface TokenVerifier {
  /** The user and which of the audiences the token is for; undefined when it is no token of ours. Throws when it is one but bad. */
  verify(
    token: string,
    audiences: readonly string[],
  ): Promise<{ user: UserInfo; audiences: readonly string[] } | undefined>;
}

export function makeTokenVerifier(options: ServiceAccountTokenOptions): TokenVerifier {
  const { keys, issuers, lookups, now = Date.now } = options;
  const keyById = new Map(keys.map((key) => [key.keyId, key]));
  const known = new Map<string, Verified>();

  async function checkSignature(token: string, audiences: readonly string[]): Promise<Verified | undefined> {
    const claimed = unverifiedIssuer(token);
    if (claimed === undefined || !issuers.includes(claimed)) return undefined;
    const { payload } = await jwtVerify(
      token,
      ({ kid }) => {
        const key = keyById.get(kid ?? '');
        if (key === undefined) throw new Error('the key of this token is not known');
        return key.key;
      },
      {
        issuer: [...issuers],
        audience: [...audiences],
        algorithms: [...new Set(keys.map(({ algorithm }) => algorithm))],
        currentDate: new Date(now()),
        requiredClaims: ['exp', 'sub', 'kubernetes.io'],
      },
    );
    const claims = privateClaimsOf(payload);
    const given = [payload.aud ?? []].flat();
    return {
      claims,
      user: userOf(claims, payload.jti),
      audiences: audiences.filter((one) => given.includes(one)),
      expiresAtMs: (payload.exp ?? 0) * 1000,
    };
  }

  /** A signature stays good until the token expires, and checking it costs more than all else of a request. */
  async function verified(token: string, audiences: readonly string[]): Promise<Verified | undefined> {
    const question = JSON.stringify([token, ...audiences]);
    const held = known.get(question);
    if (held !== undefined && now() < held.expiresAtMs) return held;
    known.delete(question);
    const fresh = await checkSignature(token, audiences);
    if (fresh === undefined) return undefined;
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(question, fresh);
    return fresh;
  }

  return {
    async verify(token, audiences) {
      const found = await verified(token, audiences);
      if (found === undefined) return undefined;
      await checkAlive(found.claims, lookups, now());
      return { user: found.user, audiences: found.audiences };
    },
  };
}

const MOST_KNOWN = 2_000;

/** What a token says whose signature, issuer, audience and times are good. */
interface Verified {
  readonly claims: PrivateClaims;
  readonly user: UserInfo;
  readonly audiences: readonly string[];
  readonly expiresAtMs: number;
}

export function makeServiceAccountTokenAuthenticator(
  verifier: TokenVerifier,
  audiences: readonly string[],
): Authenticator {
  return {
    async authenticate({ authorization }) {
      const token = bearerToken(authorization);
      if (token === undefined) return undefined;
      try {
        return (await verifier.verify(token, audiences))?.user;
      } catch (cause) {
        throw unauthorized(cause);
      }
    },
  };
}

/** The issuer that an unverified token claims: only to tell whose business it is. */
function unverifiedIssuer(token: string): string | undefined {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    const issuer = isRecord(claims) ? claims['iss'] : undefined;
    return typeof issuer === 'string' ? issuer : undefined;
  } catch {
    return undefined; // Not a JWT: some other authenticator's.
  }
}

function privateClaimsOf(payload: JWTPayload): PrivateClaims {
  const claims = payload['kubernetes.io'];
  if (!isRecord(claims) || typeof claims['namespace'] !== 'string')
    throw new Error('the token lacks its private claims');
  const { namespace } = claims as { namespace: string };
  const serviceaccount = namedUid(claims['serviceaccount']);
  if (serviceaccount === undefined) throw new Error('the token names no service account');
  if (payload.sub !== serviceAccountUser({ namespace, name: serviceaccount.name }))
    throw new Error("the token's subject is not its service account");
  const pod = namedUid(claims['pod']);
  if (claims['pod'] !== undefined && pod === undefined) throw new Error("the token's pod is malformed");
  const secret = namedUid(claims['secret']);
  if (claims['secret'] !== undefined && secret === undefined)
    throw new Error("the token's secret is malformed");
  const node =
    isRecord(claims['node']) && typeof claims['node']['name'] === 'string' ? claims['node'] : undefined;
  return {
    namespace,
    serviceaccount,
    ...(pod === undefined ? {} : { pod }),
    ...(secret === undefined ? {} : { secret }),
    ...(node === undefined ? {} : { node: node as unknown as { name: string; uid?: string } }),
  };
}

/** How long a deletion may be in coming, as Kubernetes gives its clocks. */
const LEEWAY_MS = 60_000;

async function checkAlive(claims: PrivateClaims, lookups: BoundObjectLookups, nowMs: number): Promise<void> {
  const { namespace, serviceaccount, pod, secret, node } = claims;
  const check = async (
    what: string,
    bound: { name: string; uid?: string },
    found: Promise<Living | undefined>,
  ) => {
    const { uid, deletionTimestamp } = (await found)?.metadata ?? {};
    const isDeleted = deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < nowMs - LEEWAY_MS;
    if (uid === undefined || uid !== bound.uid || isDeleted)
      throw new Error(`the ${what} of this token is gone`);
  };
  const at = ({ name }: { readonly name: string }) => ({ namespace, name });
  await Promise.all([
    check('service account', serviceaccount, lookups.serviceAccount(at(serviceaccount))),
    pod === undefined ? undefined : check('pod', pod, lookups.pod(at(pod))),
    secret === undefined ? undefined : check('secret', secret, lookups.secret(at(secret))),
    // The node of a pod's token is only told: the pod itself ends with it.
    node === undefined || pod !== undefined
      ? undefined
      : check('node', node, lookups.node({ name: node.name })),
  ]);
}

function userOf(
  { namespace, serviceaccount, pod, node }: PrivateClaims,
  tokenId: string | undefined,
): UserInfo {
  const prefix = 'authentication.kubernetes.io';
  return {
    name: serviceAccountUser({ namespace, name: serviceaccount.name }),
    uid: serviceaccount.uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    extra: {
      ...(tokenId === undefined ? {} : { [`${prefix}/credential-id`]: [`JTI=${tokenId}`] }),
      ...(node === undefined ? {} : { [`${prefix}/node-name`]: [node.name] }),
      ...(node?.uid === undefined ? {} : { [`${prefix}/node-uid`]: [node.uid] }),
      ...(pod === undefined ? {} : { [`${prefix}/pod-name`]: [pod.name], [`${prefix}/pod-uid`]: [pod.uid] }),
    },
  };
}

function namedUid(value: unknown): NamedUid | undefined {
  if (!isRecord(value)) return undefined;
  const { name, uid } = value;
  return typeof name === 'string' && typeof uid === 'string' && uid !== '' ? { name, uid } : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
