// Whoever writes roles and bindings may give away only what it has, unless it may `escalate` or `bind`. An admission plugin.
// Guarantees: no chain of writes by a user ends with that user, or a friend, holding more than the writer held.
import type { V1AggregationRule, V1ObjectMeta, V1PolicyRule, V1RoleRef } from '../../api/gen/types.js';
import { sameJson } from '../../api/ownKeys.js';
import { CLUSTER_ROLES, ROLES } from '../../api/resources.js';
import { forbidden, notFound } from '../../api/status.js';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.js';
import type { Attributes, Authorizer, UserInfo } from '../identity.js';
import { uncoveredRules } from './coverage.js';
import { SUPERUSER_GROUP } from './rbac.js';
import type { RbacAuthorizer } from './rbacAuthorizer.js';

const GROUP = 'rbac.authorization.k8s.io';

interface Deps {
  readonly rbac: RbacAuthorizer;
  /** The whole chain, so that `escalate` and `bind` may also come from another authorizer. */
  readonly authorizer: Authorizer;
}

export function makeRbacEscalationCheck(deps: Deps): AdmissionPlugin {
  return {
    name: 'RBACEscalation',
    validate(request) {
      const { type, operation, user, object } = request;
      if (type.group !== GROUP || object === undefined) return;
      if (operation !== 'create' && operation !== 'update') return;
      if (user.groups.includes(SUPERUSER_GROUP) || isForCollectorOnly(request)) return;
      if (type.resource === 'roles' || type.resource === 'clusterroles') checkRole(deps, request);
      else checkBinding(deps, request);
    },
  };
}

function checkRole({ rbac, authorizer }: Deps, request: AdmissionRequest): void {
  const { user, namespace, name, type, object, old } = request;
  if (allows(authorizer, { user, verb: 'escalate', resource: type.resource, namespace, name })) return;
  const held = rbac.rulesFor(user, namespace);
  refuseUncovered(request, uncoveredRules(held, rulesIn(object)));
  // An aggregated role will hold whatever its selectors find, and one that was may not be detached from them either.
  if (!isAggregated(object) && !isAggregated(old)) return;
  if (uncoveredRules(held, EVERYTHING).length > 0)
    throw forbidden(type, name, 'must have cluster-admin privileges to use the aggregationRule');
}

function checkBinding({ rbac, authorizer }: Deps, request: AdmissionRequest): void {
  const { user, namespace } = request;
  const reference = roleRefIn(request.object);
  if (reference === undefined) return;
  const type = reference.kind === 'ClusterRole' ? CLUSTER_ROLES : ROLES;
  if (allows(authorizer, { user, verb: 'bind', resource: type.resource, namespace, name: reference.name }))
    return;
  const wanted = rbac.rulesOf(reference, namespace);
  if (wanted === undefined) throw notFound(type, reference.name);
  refuseUncovered(request, uncoveredRules(rbac.rulesFor(user, namespace), wanted));
}

/** Labels count: they say which roles an aggregated one takes in. Owners and finalizers do not: they only let it be deleted. */
function isForCollectorOnly({ object, old }: AdmissionRequest): boolean {
  return old !== undefined && sameJson(withoutCollectorFields(object), withoutCollectorFields(old));
}

function withoutCollectorFields(object: unknown): object {
  const { metadata, ...rest } = shapeOf(object);
  const {
    ownerReferences: _o,
    finalizers: _f,
    managedFields: _m,
    resourceVersion: _r,
    ...meta
  } = metadata ?? {};
  return { ...rest, metadata: meta };
}

const EVERYTHING: readonly V1PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

function refuseUncovered({ user, type, name }: AdmissionRequest, missing: readonly V1PolicyRule[]): void {
  if (missing.length === 0) return;
  const groups = `[${user.groups.map((group) => JSON.stringify(group)).join(' ')}]`;
  throw forbidden(
    type,
    name,
    `user ${JSON.stringify(user.name)} (groups=${groups}) is attempting to grant RBAC permissions not currently held:\n` +
      missing.map(written).join('\n'),
  );
}

/** A rule as Kubernetes writes it in this refusal. */
function written(rule: V1PolicyRule): string {
  const part = (name: string, values: readonly string[] | undefined) =>
    values === undefined || values.length === 0
      ? []
      : [`${name}:[${values.map((value) => JSON.stringify(value)).join(' ')}]`];
  const parts = [
    ...part('APIGroups', rule.apiGroups),
    ...part('Resources', rule.resources),
    ...part('ResourceNames', rule.resourceNames),
    ...part('NonResourceURLs', rule.nonResourceURLs),
    ...part('Verbs', rule.verbs),
  ];
  return `{${parts.join(', ')}}`;
}

function allows(
  authorizer: Authorizer,
  asked: { user: UserInfo; verb: string; resource: string; namespace: string; name: string },
): boolean {
  const attributes: Attributes = { ...asked, group: GROUP, version: 'v1', subresource: '' };
  return authorizer.authorize(attributes).verdict === 'allow';
}

// The server has validated the object against its schema before admission: these only name its shape.
type RbacShape = {
  metadata?: V1ObjectMeta;
  rules?: readonly V1PolicyRule[] | null;
  aggregationRule?: V1AggregationRule | null;
  roleRef?: V1RoleRef;
};
const shapeOf = (object: unknown): RbacShape => (object ?? {}) as RbacShape;
const rulesIn = (object: unknown) => shapeOf(object).rules ?? [];
const isAggregated = (object: unknown) =>
  (shapeOf(object).aggregationRule?.clusterRoleSelectors ?? []).length > 0;
const roleRefIn = (object: unknown) => shapeOf(object).roleRef;
