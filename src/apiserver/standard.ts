// The apiserver as a cluster runs it: certificates and tokens, RBAC and Node authorization, admission, service addresses.
// Guarantees: nothing is judged before the roles are known; the parts read the API only through its own handlers.
import type { AuthenticationV1TokenRequest, V1Pod, V1Service, V1ServiceAccount } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import type { KubeObject, ObjectName, Stored } from '../api/object.js';
import { PODS, type ResourceType, SERVICE_ACCOUNTS, SERVICES } from '../api/resources.js';
import { ApiError, statusError } from '../api/status.js';
import type { Client } from '../client/client.js';
import { openInformers } from '../client/sharedInformers.js';
import { openClient } from '../client/typedClient.js';
import { defaultAdmission } from './admission/plugins.js';
import { clientCertificate } from './auth/clientCertificate.js';
import { makeNodeAuthorizer } from './auth/nodeAuthorizer.js';
import { firstOpinion, makeRbacAuthorizer } from './auth/rbacAuthorizer.js';
import { makeReviews } from './auth/reviews.js';
import { makeServiceAccountTokenAuthenticator, makeTokenVerifier } from './auth/serviceAccountToken.js';
import { makeTokenIssuer, type TokenIssuer } from './auth/tokenIssuer.js';
import { makeUnionAuthenticator } from './auth/union.js';
import type { SubresourceHook, WriteHooks } from './machinery.js';
import type { InProcess, ServerParts } from './server.js';
import { makeServiceAllocator, type ServiceAllocator } from './services/serviceAllocator.js';

export interface StandardOptions {
  /** PKCS #8; signs service account tokens. */
  readonly serviceAccountKey: string;
  readonly issuer: string;
  readonly serviceCidrs: readonly string[];
  readonly allowAnonymous: boolean;
  readonly log: Log;
}

/** The apiserver's own identity: it may do everything, as in Kubernetes. */
export const APISERVER_USER = {
  name: 'system:apiserver',
  groups: ['system:masters', 'system:authenticated'],
};

export function standardParts(options: StandardOptions): (inProcess: InProcess) => ServerParts {
  return (inProcess) => {
    const client = openClient(inProcess(APISERVER_USER));
    const informers = openInformers(client, { log: options.log });
    const rbac = makeRbacAuthorizer(informers);
    const authorizer = firstOpinion([makeNodeAuthorizer(informers), rbac]);
    const audiences = [options.issuer];
    const issuer = makeTokenIssuer({
      privateKeyPem: options.serviceAccountKey,
      issuer: options.issuer,
      audiences,
    });
    const verifier = makeTokenVerifier({
      keys: [{ ...issuer.key, key: issuer.key.publicKey }],
      issuers: [options.issuer],
      lookups: {
        serviceAccountUid: (name) => uidOf(client, SERVICE_ACCOUNTS, name),
        podUid: (name) => uidOf(client, PODS, name),
      },
    });
    const services = serviceHooks(client, options.serviceCidrs);
    return {
      authenticator: makeUnionAuthenticator({
        authenticators: [clientCertificate, makeServiceAccountTokenAuthenticator(verifier, audiences)],
        allowAnonymous: options.allowAnonymous,
      }),
      authorizer,
      admission: defaultAdmission({ client, informers, rbac: { rbac, authorizer } }),
      hooks: new Map([['services', services.hooks]]),
      virtualResources: makeReviews({ authorizer, rbac, tokens: verifier, audiences }).map(
        ({ type, singular, create }) => ({ ...type, singular, answer: create }),
      ),
      subresourceHooks: [tokenHook(client, issuer)],
      ready: async () => {
        await services.open();
        await informers.synced();
      },
      close: () => informers.stop(),
    };
  };
}

async function find<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  name: ObjectName,
): Promise<Stored<T> | undefined> {
  try {
    return await client.of(type).get(name);
  } catch (error) {
    if (ApiError.is(error, 'NotFound')) return undefined;
    throw error;
  }
}

async function uidOf(client: Client, type: ResourceType, name: ObjectName): Promise<string | undefined> {
  return (await find(client, type, name))?.metadata.uid;
}

/** Addresses are given out once those in use are known; a Service written before that is told to come again. */
function serviceHooks(client: Client, serviceCidrs: readonly string[]) {
  let allocator: ServiceAllocator | undefined;
  const ready = (): ServiceAllocator => {
    if (allocator === undefined)
      throw statusError('ServiceUnavailable', 'the addresses in use are still being read');
    return allocator;
  };
  const hooks: WriteHooks = {
    beforeCreate: (draft) => ready().beforeCreate(draft),
    beforeUpdate: (draft, old) => ready().beforeUpdate(draft, old),
    afterUpdate: (written, old) => ready().afterUpdate(written, old),
    afterDelete: (old) => ready().afterDelete(old),
  };
  const open = async () => {
    const { items } = await client.of<V1Service>(SERVICES).list();
    allocator = makeServiceAllocator({ serviceCidrs, services: items });
  };
  return { hooks, open };
}

function tokenHook(client: Client, issuer: TokenIssuer): SubresourceHook {
  return {
    type: SERVICE_ACCOUNTS,
    subresource: 'token',
    kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
    create: async (object, body) => {
      const account = object as Stored<V1ServiceAccount>;
      const request = body as AuthenticationV1TokenRequest;
      const pod = await boundPod(client, request, account.metadata.namespace);
      const { token, expirationTimestamp } = await issuer.issue(request, account, pod);
      return { ...request, status: { token, expirationTimestamp } } as KubeObject;
    },
  };
}

async function boundPod(
  client: Client,
  request: AuthenticationV1TokenRequest,
  namespace: string | undefined,
) {
  const reference = request.spec?.boundObjectRef;
  if (reference?.kind !== 'Pod' || reference.name === undefined) return undefined;
  const pod = await find<V1Pod>(client, PODS, { namespace, name: reference.name });
  if (pod === undefined) return undefined;
  const { nodeName } = pod.spec;
  return { pod, ...(nodeName === undefined ? {} : { node: { name: nodeName } }) };
}
