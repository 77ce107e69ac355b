// Which tokens a kubelet may ask for: of its own pods, for the audiences that these pods name, and of the accounts by which
// the other parts of a node read the API.
// Guarantees: a node gets no token for an audience that nobody but itself has named, unless it was given that right; no token
// outlives what it is bound to, a pod of the node or the node.
import type { AuthenticationV1TokenRequest, V1Pod, V1Volume } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { PODS, SERVICE_ACCOUNTS } from '../../api/resources.js';
import { forbidden, notFound } from '../../api/status.js';
import type { AdmissionRequest } from '../admission.js';
import { NODE_PART_ACCOUNTS, NODE_PARTS_NAMESPACE } from '../auth/defaults/nodeParts.js';
import type { Authorizer } from '../identity.js';
import type { AdmissionLookups } from './lookups.js';

export interface TokenRules {
  readonly lookups: Pick<AdmissionLookups, 'pod' | 'claim' | 'volume' | 'csiDriver'>;
  readonly authorizer: Authorizer;
}

/** Of a token for another part of the node: one that was stolen with a kubelet's certificate must not outlast it. */
const PART_SECONDS = 3600;
const AUDIENCE_VERB = 'request-serviceaccounts-token-audience';

export async function checkNodeToken(
  request: AdmissionRequest,
  node: string,
  rules: TokenRules,
): Promise<void> {
  const refuse = (why: string) => forbidden(SERVICE_ACCOUNTS, request.name, why);
  const spec = (request.object as AuthenticationV1TokenRequest | undefined)?.spec;
  const { boundObjectRef: bound, audiences = [] } = spec ?? {};
  if (isOfNodePart(request) && bound?.kind === 'Node') {
    if (bound.name !== node) throw refuse('node requested token bound to another node');
    if (audiences.length > 0) throw refuse('node requested token for an audience of its own choice');
    if ((spec?.expirationSeconds ?? PART_SECONDS) > PART_SECONDS)
      throw refuse('node requested token that lasts longer than an hour');
    return;
  }
  if (bound?.apiVersion !== 'v1' || bound.kind !== 'Pod' || !bound.name)
    throw refuse('node requested token not bound to a pod');
  if (!bound.uid) throw refuse('node requested token with a pod binding without a uid');
  const pod = await rules.lookups.pod({ namespace: request.namespace, name: bound.name });
  if (pod === undefined) throw notFound(PODS, bound.name);
  if (pod.metadata.uid !== bound.uid) {
    const why = `the UID in the bound object reference (${bound.uid}) does not match the UID in record.`;
    throw refuse(`${why} The object might have been deleted and then recreated`);
  }
  if (pod.spec.nodeName !== node)
    throw refuse('node requested token bound to a pod scheduled on a different node');
  if (audiences.length > 1) throw refuse('node may only request 0 or 1 audiences');
  const [audience = ''] = audiences;
  if (await namesAudience(pod, audience, rules.lookups)) return;
  if (mayAsk(request, audience, rules.authorizer)) return;
  throw refuse(`${request.user.name} is not authorized to request tokens for audience "${audience}"`);
}

const isOfNodePart = ({ namespace, name }: AdmissionRequest) =>
  namespace === NODE_PARTS_NAMESPACE && NODE_PART_ACCOUNTS.includes(name);

function mayAsk(
  { user, namespace, name }: AdmissionRequest,
  audience: string,
  authorizer: Authorizer,
): boolean {
  const { verdict } = authorizer.authorize({
    user,
    verb: AUDIENCE_VERB,
    group: '',
    version: 'v1',
    resource: audience,
    subresource: '',
    namespace,
    name,
  });
  return verdict === 'allow';
}

/** In a projected volume, or by the driver of one of its volumes. The server's own audience has no name there. */
async function namesAudience(
  pod: Stored<V1Pod>,
  audience: string,
  lookups: TokenRules['lookups'],
): Promise<boolean> {
  for (const volume of pod.spec.volumes ?? []) {
    const sources = volume.projected?.sources ?? [];
    if (
      sources.some(({ serviceAccountToken: token }) => token != null && (token.audience ?? '') === audience)
    )
      return true;
    const driver = await driverOf(pod, volume, lookups);
    if (driver === undefined) continue;
    const requests = (await lookups.csiDriver({ name: driver }))?.spec.tokenRequests ?? [];
    if (requests.some((one) => one.audience === audience)) return true;
  }
  return false;
}

async function driverOf(
  { metadata }: Stored<V1Pod>,
  volume: V1Volume,
  { claim, volume: persistent }: TokenRules['lookups'],
): Promise<string | undefined> {
  if (volume.csi != null) return volume.csi.driver;
  const claimName =
    volume.ephemeral == null ? volume.persistentVolumeClaim?.claimName : `${metadata.name}-${volume.name}`;
  if (claimName === undefined) return undefined;
  const found = await claim({ namespace: metadata.namespace ?? '', name: claimName });
  const name = found?.spec?.volumeName;
  return name ? (await persistent({ name }))?.spec?.csi?.driver : undefined;
}
