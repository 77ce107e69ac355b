// Everything of an apiserver that decides who asks and what they may do, made of one set of options.
// Guarantees: requests, reviews and admission are judged by the same authenticator and authorizer.
import type { Client } from '../../client/client.js';
import type { Informers } from '../../client/informer.js';
import { makeLookups } from '../admission/lookups.js';
import { defaultAdmission } from '../admission/plugins.js';
import type { AdmissionPlugin } from '../admission.js';
import type { Authorizer } from '../identity.js';
import type { SubresourceHook, VirtualResource } from '../machinery.js';
import { clientCertificate } from './clientCertificate.js';
import { makeNodeAuthorizer } from './nodeAuthorizer.js';
import { firstOpinion, makeRbacAuthorizer } from './rbacAuthorizer.js';
import { makeReviews } from './reviews.js';
import { makeServiceAccountTokenAuthenticator, makeTokenVerifier } from './serviceAccountToken.js';
import { jsonWebKeySet, openIdConfiguration, readVerificationKey } from './signingKey.js';
import { makeStaticTokenAuthenticator } from './staticToken.js';
import { makeTokenIssuer } from './tokenIssuer.js';
import { makeTokenSubresource } from './tokenSubresource.js';
import { makeUnionAuthenticator, type UnionAuthenticator } from './union.js';

export interface SecurityOptions {
  /** Trusted: reaches the server as system:masters, since it is how the server itself looks things up. */
  readonly client: Client;
  readonly informers: Informers;
  readonly serviceAccountKeyPem: string;
  /** Public keys of tokens signed before, which stay good until they expire. */
  readonly olderKeysPem?: readonly string[];
  /** Such as `https://kubernetes.default.svc.cluster.local`. */
  readonly issuer: string;
  /** The issuer alone unless given. */
  readonly audiences?: readonly string[];
  /** Content of a token file. */
  readonly tokenFile?: string;
  readonly allowAnonymous?: boolean;
  now?(): number;
}

/** Fits into the parts that openApiServer takes; the `services` hooks are added by whoever opens it. */
export interface Security {
  readonly authenticator: UnionAuthenticator;
  /** Node, then RBAC. Anything but `allow` is a refusal. */
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
}

export function makeSecurity(options: SecurityOptions): Security {
  const { client, informers, issuer, audiences = [issuer], allowAnonymous = true, tokenFile } = options;
  const clock = options.now === undefined ? {} : { now: options.now };
  const lookups = makeLookups(client, informers);
  const tokenIssuer = makeTokenIssuer({
    privateKeyPem: options.serviceAccountKeyPem,
    issuer,
    audiences,
    ...clock,
  });
  const { keyId, algorithm, publicKey } = tokenIssuer.key;
  const older = (options.olderKeysPem ?? []).map((pem) => readVerificationKey(pem));
  const keys = [{ keyId, algorithm, key: publicKey }, ...older];
  const tokens = makeTokenVerifier({
    ...clock,
    keys,
    issuers: [issuer],
    lookups: {
      serviceAccountUid: async (name) => (await lookups.serviceAccount(name))?.metadata.uid,
      podUid: async (name) => (await lookups.pod(name))?.metadata.uid,
    },
  });
  const rbac = makeRbacAuthorizer(informers);
  const authorizer = firstOpinion([makeNodeAuthorizer(informers), rbac]);
  const admission = defaultAdmission({ lookups, rbac: { rbac, authorizer } });
  const authenticators = [
    clientCertificate,
    ...(tokenFile === undefined ? [] : [makeStaticTokenAuthenticator(tokenFile)]),
    makeServiceAccountTokenAuthenticator(tokens, audiences),
  ];
  return {
    authenticator: makeUnionAuthenticator({ authenticators, allowAnonymous }),
    authorizer,
    admission,
    virtualResources: makeReviews({ authorizer, rbac, tokens, audiences }),
    subresourceHooks: [makeTokenSubresource({ issuer: tokenIssuer, lookups, admission })],
    ready: () => informers.synced(),
    jwks: jsonWebKeySet(keys),
    openId: (jwksUri) => openIdConfiguration({ issuer, jwksUri }),
  };
}
