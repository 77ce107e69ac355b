// Everything of an apiserver that decides who asks and what they may do, made of one set of options.
// Guarantees: requests, reviews and admission are judged by the same authenticator and authorizer.

import type { KindDefinition } from '../../api/kind.js';
import { KINDS } from '../../api/kinds/index.js';
import type { Log } from '../../api/log.js';
import type { Client } from '../../client/client.js';
import type { Informers } from '../../client/informer.js';
import type { AdmissionChoice } from '../admission/choice.js';
import { type AdmissionLookups, makeLookups } from '../admission/lookups.js';
import { makeAdmission } from '../admission/plugins.js';
import type { AdmissionPlugin } from '../admission.js';
import { type ApiResponse, bytesResponse, jsonResponse } from '../exchange.js';
import type { Authenticator, Authorizer } from '../identity.js';
import type { SubresourceHook, VirtualResource } from '../serverContext.js';
import { makeBasicAuthenticator } from './basicAuth.js';
import { makeBootstrapTokenAuthenticator } from './bootstrapToken.js';
import { clientCertificate } from './clientCertificate.js';
import { type AuthorizationMode, makeAuthorization } from './modes.js';
import { makeReviews } from './reviews.js';
import { makeServiceAccountTokenAuthenticator, makeTokenVerifier } from './serviceAccountToken.js';
import {
  jsonWebKeySet,
  openIdConfiguration,
  readVerificationKey,
  type SigningKey,
  type VerificationKey,
} from './signingKey.js';
import { makeStaticTokenAuthenticator } from './staticToken.js';
import { makeTokenIssuer } from './tokenIssuer.js';
import { makeTokenSubresource } from './tokenSubresource.js';
import { makeUnionAuthenticator, type UnionAuthenticator } from './union.js';

const DEFAULT_MODES: readonly AuthorizationMode[] = ['Node', 'RBAC'];

export interface SecurityOptions {
  /** Trusted: reaches the server as system:masters, since it is how the server itself looks things up. */
  readonly client: Client;
  readonly informers: Informers;
  readonly serviceAccountKeyPem: string;
  /** Public keys of tokens signed before, which stay good until they expire. */
  readonly olderKeysPem?: readonly string[];
  /** Such as `https://kubernetes.default.svc.cluster.local`. */
  readonly issuer: string;
  /** The longest life of a token; none unless given. */
  readonly maxTokenSeconds?: number;
  /** The issuer alone unless given. */
  readonly audiences?: readonly string[];
  /** Content of a token file. */
  readonly tokenFile?: string;
  /** Content of a file of passwords. */
  readonly basicAuthFile?: string;
  readonly bootstrapTokens?: boolean;
  /** In the order they are asked; Node and RBAC unless given. */
  readonly modes?: readonly AuthorizationMode[];
  /** Content of the ABAC policy file. */
  readonly policyFile?: string;
  readonly log?: Log;
  /** Which admission plugins run besides and without the defaults. */
  readonly admission?: AdmissionChoice;
  /** Where clients outside find the public keys; below the issuer unless given. */
  readonly jwksUri?: string;
  /** What the server serves; plugins ask for nothing else. */
  readonly kinds?: readonly KindDefinition[];
  readonly allowAnonymous?: boolean;
  now?(): number;
}

/** Fits into the parts that openApiServer takes; the `services` hooks are added by whoever opens it. */
interface Security {
  readonly authenticator: UnionAuthenticator;
  /** The modes in their order. Anything but `allow` is a refusal. */
  readonly authorizer: Authorizer;
  readonly admission: readonly AdmissionPlugin[];
  /** The create-only kinds. */
  readonly virtualResources: readonly VirtualResource[];
  /** serviceaccounts/token. */
  readonly subresourceHooks: readonly SubresourceHook[];
  /** Resolves when the roles and bindings are known. */
  ready(): Promise<void>;
  /** GET /openid/v1/jwks and /.well-known/openid-configuration. */
  readonly jwks: object;
  openId(jwksUri: string): object;
  readonly paths: ReadonlyMap<string, () => ApiResponse>;
}

export function makeSecurity(options: SecurityOptions): Security {
  const { client, informers, issuer, audiences = [issuer], allowAnonymous = true, kinds = KINDS } = options;
  const clock = options.now === undefined ? {} : { now: options.now };
  const lookups = makeLookups({ client, informers, kinds });
  const tokenIssuer = makeTokenIssuer({
    privateKeyPem: options.serviceAccountKeyPem,
    issuer,
    audiences,
    ...(options.maxTokenSeconds === undefined ? {} : { maxExpirationSeconds: options.maxTokenSeconds }),
    ...clock,
  });
  const keys = verificationKeys(tokenIssuer.key, options.olderKeysPem ?? []);
  const tokens = makeTokenVerifier({
    ...clock,
    keys,
    issuers: [issuer],
    lookups: {
      serviceAccount: lookups.serviceAccount,
      pod: lookups.placedPod,
      secret: lookups.secret,
      node: lookups.node,
    },
  });
  const { modes = DEFAULT_MODES, policyFile, log } = options;
  const warn = (sentence: string) => log?.warn(sentence);
  const authorization = makeAuthorization({ informers, modes, policyFile, kinds, warn });
  const { authorizer, rbac } = authorization;
  const admission = makeAdmission({
    client,
    kinds,
    lookups,
    authorizer,
    ...options.admission,
    ...(rbac === undefined ? {} : { rbac }),
  });
  const otherTokens = otherTokenAuthenticators(options, lookups);
  const authenticators = [
    clientCertificate,
    ...otherTokens,
    ...(options.basicAuthFile === undefined ? [] : [makeBasicAuthenticator(options.basicAuthFile)]),
    makeServiceAccountTokenAuthenticator(tokens, audiences),
  ];
  const jwks = jsonWebKeySet(keys);
  const openId = (jwksUri: string) => openIdConfiguration({ issuer, jwksUri });
  return {
    authenticator: makeUnionAuthenticator({ authenticators, allowAnonymous }),
    authorizer,
    admission,
    virtualResources: makeReviews({ authorizer, rbac: authorization, tokens, otherTokens, audiences }),
    subresourceHooks: [makeTokenSubresource({ issuer: tokenIssuer, lookups, admission })],
    ready: () => informers.synced(),
    jwks,
    openId,
    paths: openIdPaths(jwks, openId(options.jwksUri ?? `${issuer.replace(/\/$/, '')}${JWKS_PATH}`)),
  };
}

/** Tokens signed by any of the keys are good; the same key given twice is one. */
function verificationKeys(
  { keyId, algorithm, publicKey }: SigningKey,
  olderPem: readonly string[],
): VerificationKey[] {
  const all = [{ keyId, algorithm, key: publicKey }, ...olderPem.map((pem) => readVerificationKey(pem))];
  return [...new Map(all.map((key) => [key.keyId, key])).values()];
}

function otherTokenAuthenticators(
  { tokenFile, bootstrapTokens, now }: SecurityOptions,
  { secret }: AdmissionLookups,
): Authenticator[] {
  return [
    ...(tokenFile === undefined ? [] : [makeStaticTokenAuthenticator(tokenFile)]),
    ...(bootstrapTokens === true
      ? [makeBootstrapTokenAuthenticator({ secret, ...(now === undefined ? {} : { now }) })]
      : []),
  ];
}

const JWKS_PATH = '/openid/v1/jwks';

function openIdPaths(jwks: object, openId: object): ReadonlyMap<string, () => ApiResponse> {
  const keySet = Buffer.from(JSON.stringify(jwks));
  return new Map([
    ['/.well-known/openid-configuration', () => jsonResponse(200, openId)],
    [JWKS_PATH, () => bytesResponse(200, keySet, 'application/jwk-set+json')],
  ]);
}
