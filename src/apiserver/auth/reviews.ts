// Questions about identity and permission: the create-only kinds of authentication.k8s.io and authorization.k8s.io.
// Guarantees: a review changes nothing; its answer comes from the same authenticator and authorizer that serve requests.
import type * as k from '../../api/gen/types.js';
import { demandedFields, type FieldTerm } from '../../api/selectors.js';
import { statusError } from '../../api/status.js';
import type { Attributes, Authenticator, Authorizer, UserInfo } from '../identity.js';
import type { VirtualResource } from '../serverContext.js';
import type { RbacAuthorizer } from './rbacAuthorizer.js';
import type { TokenVerifier } from './serviceAccountToken.js';

interface ReviewDeps {
  readonly authorizer: Authorizer;
  readonly rbac: Pick<RbacAuthorizer, 'rulesFor'>;
  readonly tokens: TokenVerifier;
  /** Who knows tokens of other kinds; they are good for the apiserver's own audiences only. */
  readonly otherTokens?: readonly Authenticator[];
  /** The apiserver's own audiences, for token reviews that name none. */
  readonly audiences: readonly string[];
}

interface ReviewContext {
  readonly user: UserInfo;
  /** Empty for the cluster-wide kinds. */
  readonly namespace: string;
}

const AUTHORIZATION = 'authorization.k8s.io';
const AUTHENTICATION = 'authentication.k8s.io';

export function makeReviews(deps: ReviewDeps): readonly VirtualResource[] {
  return [
    review(AUTHORIZATION, 'SelfSubjectAccessReview', false, (spec, { user }) => access(deps, user, spec)),
    review(AUTHORIZATION, 'SubjectAccessReview', false, (spec) => access(deps, subjectOf(spec), spec)),
    review(AUTHORIZATION, 'LocalSubjectAccessReview', true, (spec, { namespace }) =>
      access(deps, subjectOf(spec), local(spec, namespace)),
    ),
    review(AUTHORIZATION, 'SelfSubjectRulesReview', false, (spec, { user }) => rules(deps, user, spec)),
    review(AUTHENTICATION, 'TokenReview', false, (spec) => tokenReview(deps, spec)),
    review(AUTHENTICATION, 'SelfSubjectReview', false, (_, { user }) => ({ userInfo: userInfo(user) })),
  ];
}

type Answer = (spec: Record<string, unknown>, context: ReviewContext) => Promise<object> | object;

function review(group: string, kind: string, namespaced: boolean, status: Answer): VirtualResource {
  const singular = kind.toLowerCase();
  return {
    group,
    version: 'v1',
    kind,
    resource: `${singular}s`,
    namespaced,
    singular,
    async answer(body, context) {
      const sent = isRecord(body) ? body : {};
      const spec = isRecord(sent['spec']) ? sent['spec'] : {};
      const metadata = isRecord(sent['metadata']) ? sent['metadata'] : {};
      // A review of oneself has no question in it.
      const echoed = kind === 'SelfSubjectReview' ? {} : { spec };
      const answered = await status(spec, context);
      return { kind, apiVersion: `${group}/v1`, metadata, ...echoed, status: answered };
    },
  };
}

function access(
  { authorizer }: ReviewDeps,
  user: UserInfo,
  spec: Record<string, unknown>,
): k.V1SubjectAccessReviewStatus {
  const { verdict, reason } = authorizer.authorize(attributesOf(user, spec));
  const allowed = verdict === 'allow';
  return {
    allowed,
    ...(verdict === 'deny' ? { denied: true } : {}),
    ...(reason === '' ? {} : { reason }),
  };
}

function attributesOf(user: UserInfo, spec: Record<string, unknown>): Attributes {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  if (isRecord(resource) === isRecord(path)) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    throw statusError('BadRequest', `spec.resourceAttributes: Invalid value: ${why}`);
  }
  const empty = { user, group: '', version: '', resource: '', subresource: '', namespace: '', name: '' };
  if (isRecord(path)) return { ...empty, verb: text(path, 'verb'), path: text(path, 'path') };
  const asked = resource as Record<string, unknown>;
  const fields = ['verb', 'group', 'version', 'resource', 'subresource', 'namespace', 'name'] as const;
  const read = Object.fromEntries(fields.map((field) => [field, text(asked, field)]));
  const fieldSelector = fieldTermsOf(asked['fieldSelector']);
  return { ...empty, ...(read as Record<(typeof fields)[number], string>), fieldSelector };
}

/** What is not understood narrows nothing: fewer terms never allow more. */
function fieldTermsOf(selector: unknown): readonly FieldTerm[] {
  if (!isRecord(selector)) return [];
  const raw = text(selector, 'rawSelector');
  if (raw !== '') return demandedFields(raw);
  const { requirements } = selector;
  return (Array.isArray(requirements) ? requirements.filter(isRecord) : []).flatMap((one) => {
    const [value, ...more] = strings(one['values']);
    const operator = one['operator'] === 'In' ? '=' : one['operator'] === 'NotIn' ? '!=' : undefined;
    if (operator === undefined || value === undefined || more.length > 0) return [];
    return [{ field: text(one, 'key'), operator, value } as const];
  });
}

function subjectOf(spec: Record<string, unknown>): UserInfo {
  const name = text(spec, 'user');
  const groups = strings(spec['groups']);
  if (name === '' && groups.length === 0)
    throw statusError(
      'BadRequest',
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    );
  const uid = text(spec, 'uid');
  return { name, groups, ...(uid === '' ? {} : { uid }) };
}

/** A local review speaks of its own namespace; one that names another is refused, not corrected. */
function local(spec: Record<string, unknown>, namespace: string): Record<string, unknown> {
  const asked = spec['resourceAttributes'];
  const named = isRecord(asked) ? text(asked, 'namespace') : '';
  if (!isRecord(asked)) throw statusError('BadRequest', 'spec.resourceAttributes: Required value');
  if (named !== namespace) {
    const why = `spec.resourceAttributes.namespace must match namespace: ${namespace}`;
    throw statusError('BadRequest', why);
  }
  return spec;
}

function rules(
  { rbac }: ReviewDeps,
  user: UserInfo,
  spec: Record<string, unknown>,
): k.V1SubjectRulesReviewStatus {
  const namespace = text(spec, 'namespace');
  if (namespace === '') throw statusError('BadRequest', 'no namespace on request');
  const held = user.groups.includes('system:masters')
    ? [
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
        { verbs: ['*'], nonResourceURLs: ['*'] },
      ]
    : rbac.rulesFor(user, namespace);
  return {
    resourceRules: held
      .filter((rule) => (rule.resources ?? []).length > 0)
      .map(({ verbs, apiGroups = [], resources = [], resourceNames = [] }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames.length === 0 ? {} : { resourceNames }),
      })),
    nonResourceRules: held
      .filter((rule) => (rule.nonResourceURLs ?? []).length > 0)
      .map(({ verbs, nonResourceURLs = [] }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  };
}

async function otherToken(
  { otherTokens = [], audiences }: ReviewDeps,
  token: string,
  wanted: readonly string[],
) {
  const shared = wanted.filter((audience) => audiences.includes(audience));
  if (shared.length === 0) return undefined;
  for (const authenticator of otherTokens) {
    const user = await authenticator.authenticate({ authorization: `Bearer ${token}` });
    if (user !== undefined) return { user, audiences: shared };
  }
  return undefined;
}

async function tokenReview(deps: ReviewDeps, spec: Record<string, unknown>): Promise<k.V1TokenReviewStatus> {
  const token = text(spec, 'token');
  if (token === '') throw statusError('BadRequest', 'token is required for TokenReview in authentication');
  const asked = strings(spec['audiences']);
  try {
    const wanted = asked.length === 0 ? deps.audiences : asked;
    const known = (await deps.tokens.verify(token, wanted)) ?? (await otherToken(deps, token, wanted));
    if (known === undefined) return { authenticated: false };
    const groups = [...new Set([...known.user.groups, 'system:authenticated'])];
    return { authenticated: true, user: userInfo({ ...known.user, groups }), audiences: known.audiences };
  } catch {
    // The reviewer learns that the token is bad, not what about it.
    return { authenticated: false, error: 'invalid bearer token' };
  }
}

function userInfo({ name, uid, groups, extra }: UserInfo): k.V1UserInfo {
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups,
    ...(extra === undefined ? {} : { extra }),
  };
}

function text(from: Record<string, unknown>, field: string): string {
  const value = from[field];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw statusError('BadRequest', `${field} must be a string`);
  return value;
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
