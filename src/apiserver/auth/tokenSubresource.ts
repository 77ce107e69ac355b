// POST serviceaccounts/<name>/token: a TokenRequest in, the same with a token in its status out.
// Guarantees: the account, and the pod, Secret or node it asks to be bound to, are those that exist now.
import type {
  AuthenticationV1TokenRequest,
  V1BoundObjectReference,
  V1ServiceAccount,
} from '../../api/gen/types.js';
import type { Draft } from '../../api/kind.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { SERVICE_ACCOUNTS } from '../../api/resources.js';
import { statusError } from '../../api/status.js';
import type { AdmissionLookups } from '../admission/lookups.js';
import type { AdmissionPlugin } from '../admission.js';
import type { SubresourceHook } from '../serverContext.js';
import type { BoundObject, BoundPod, TokenIssuer } from './tokenIssuer.js';

const KIND = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' };

interface Deps {
  readonly issuer: TokenIssuer;
  readonly lookups: Pick<AdmissionLookups, 'pod' | 'node' | 'secret'>;
  /** NodeRestriction must see these requests too: a kubelet gets tokens for its own pods only. */
  readonly admission: readonly AdmissionPlugin[];
}

export function makeTokenSubresource({ issuer, lookups, admission }: Deps): SubresourceHook {
  return {
    type: SERVICE_ACCOUNTS,
    subresource: 'token',
    kind: KIND,
    async create(object, body, { user, dryRun }) {
      const account = object as Stored<V1ServiceAccount>;
      const request = checked(body);
      const { name, namespace = '' } = account.metadata;
      for (const plugin of admission)
        await plugin.validate?.({
          operation: 'create',
          type: SERVICE_ACCOUNTS,
          subresource: 'token',
          namespace,
          name,
          user,
          dryRun,
          object: request as Draft<KubeObject>,
        });
      const bound = await boundObject(lookups, namespace, request.spec?.boundObjectRef);
      return answerOf(account, request, await issuer.issue(request, account, bound), issuer.audiences);
    },
  };
}

type Lookups = Deps['lookups'];

async function boundObject(
  lookups: Lookups,
  namespace: string,
  reference: V1BoundObjectReference | undefined,
): Promise<BoundObject | undefined> {
  const { kind, name = '' } = reference ?? {};
  if (name === '') return undefined;
  if (kind === 'Pod') return boundPod(lookups, namespace, name);
  if (kind === 'Node') {
    const boundNode = await lookups.node({ name });
    return boundNode === undefined ? undefined : { boundNode };
  }
  const secret = kind === 'Secret' ? await lookups.secret({ namespace, name }) : undefined;
  return secret === undefined ? undefined : { secret };
}

async function boundPod(lookups: Lookups, namespace: string, name: string): Promise<BoundPod | undefined> {
  const pod = await lookups.pod({ namespace, name });
  const nodeName = pod?.spec.nodeName ?? '';
  if (pod === undefined || nodeName === '') return pod === undefined ? undefined : { pod };
  const uid = (await lookups.node({ name: nodeName }))?.metadata.uid;
  return { pod, node: { name: nodeName, ...(uid === undefined ? {} : { uid }) } };
}

function answerOf(
  { metadata: { name, namespace, creationTimestamp } }: Stored<V1ServiceAccount>,
  { spec }: AuthenticationV1TokenRequest,
  { expirationSeconds, ...status }: Awaited<ReturnType<TokenIssuer['issue']>>,
  audiencesOfServer: readonly string[],
): KubeObject {
  const audiences = spec?.audiences?.length ? spec.audiences : audiencesOfServer;
  return {
    kind: KIND.kind,
    apiVersion: `${KIND.group}/${KIND.version}`,
    metadata: { name, namespace, creationTimestamp },
    spec: { ...spec, expirationSeconds, audiences },
    status,
  } as KubeObject;
}

/** The body may have passed no schema on its way: what is read of it is looked at here. */
function checked(body: unknown): AuthenticationV1TokenRequest {
  const { spec } = (body ?? {}) as { spec?: AuthenticationV1TokenRequest['spec'] };
  const { audiences, expirationSeconds } = spec ?? {};
  const isList =
    audiences === undefined ||
    (Array.isArray(audiences) && audiences.every((one) => typeof one === 'string'));
  if (!isList) throw statusError('BadRequest', 'spec.audiences must be a list of strings');
  if (expirationSeconds !== undefined && !Number.isSafeInteger(expirationSeconds))
    throw statusError('BadRequest', 'spec.expirationSeconds must be an integer');
  return { spec };
}
