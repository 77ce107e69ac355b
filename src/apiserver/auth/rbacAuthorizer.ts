// The RBAC authorizer: from a user to its bindings, to their roles, to their rules, over local copies of the four kinds.
// Guarantees: a decision looks only at bindings that name the user or one of its groups; what no rule allows is not allowed.
import type { RbacV1Subject, V1PolicyRule, V1RoleRef } from '../../api/gen/types.js';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES } from '../../api/resources.js';
import type { Informers } from '../../client/informer.js';
import type { Attributes, Authorizer, Decision, UserInfo } from '../identity.js';
import { accountOfUser, keysOfUser, ruleAllows, SUPERUSER_GROUP, subjectKey } from './rbac.js';

export interface RbacAuthorizer extends Authorizer {
  /** Every rule the user has: in the namespace, and cluster-wide. With an empty namespace, cluster-wide only. */
  rulesFor(user: UserInfo, namespace: string): readonly V1PolicyRule[];
  /** The rules behind a reference, or undefined when the role does not exist. */
  rulesOf(reference: V1RoleRef, namespace: string): readonly V1PolicyRule[] | undefined;
}

/** One way by which a user comes to rules. `why` is told in the reason of an allowance. */
interface Grant {
  readonly rules: readonly V1PolicyRule[] | undefined;
  readonly roleRef: V1RoleRef;
  why(): string;
}

const BY_SUBJECT = 'rbac.subject';

export function makeRbacAuthorizer(informers: Informers): RbacAuthorizer {
  const roles = informers.of(ROLES);
  const clusterRoles = informers.of(CLUSTER_ROLES);
  const roleBindings = informers.of(ROLE_BINDINGS);
  const clusterRoleBindings = informers.of(CLUSTER_ROLE_BINDINGS);

  clusterRoleBindings.index(BY_SUBJECT, ({ subjects }) => keysOf(subjects, ''));
  roleBindings.index(BY_SUBJECT, ({ subjects, metadata: { namespace = '' } }) =>
    keysOf(subjects, namespace).map((key) => `${namespace}/${key}`),
  );

  const rulesOf = ({ kind, name }: V1RoleRef, namespace: string) => {
    const role = kind === 'ClusterRole' ? clusterRoles.get(name) : roles.get(`${namespace}/${name}`);
    return role === undefined ? undefined : (role.rules ?? []);
  };

  function* grantsTo(user: UserInfo, namespace: string): Generator<Grant> {
    const keys = keysOfUser(user);
    for (const key of keys)
      for (const { roleRef, metadata } of clusterRoleBindings.byIndex(BY_SUBJECT, key))
        yield {
          rules: rulesOf(roleRef, ''),
          roleRef,
          why: () => allowedBy('ClusterRoleBinding', metadata.name, roleRef, key),
        };
    if (namespace === '') return;
    for (const key of keys)
      for (const { roleRef, metadata } of roleBindings.byIndex(BY_SUBJECT, `${namespace}/${key}`))
        yield {
          rules: rulesOf(roleRef, namespace),
          roleRef,
          why: () => allowedBy('RoleBinding', `${metadata.name}/${namespace}`, roleRef, key),
        };
  }

  function authorize(attributes: Attributes): Decision {
    if (attributes.user.groups.includes(SUPERUSER_GROUP)) return { verdict: 'allow', reason: '' };
    const missing: string[] = [];
    for (const { rules, roleRef, why } of grantsTo(attributes.user, attributes.namespace)) {
      if (rules === undefined) missing.push(notFoundRole(roleRef));
      else if (rules.some((rule) => ruleAllows(rule, attributes))) return { verdict: 'allow', reason: why() };
    }
    return { verdict: 'no opinion', reason: missing.length === 0 ? '' : `RBAC: ${listed(missing)}` };
  }

  return {
    authorize,
    rulesOf,
    rulesFor: (user, namespace) => [...grantsTo(user, namespace)].flatMap(({ rules }) => rules ?? []),
  };
}

/** Asks each in turn; the first that has an opinion decides. */
export function firstOpinion(authorizers: readonly Authorizer[]): Authorizer {
  return {
    authorize(attributes) {
      const reasons: string[] = [];
      for (const authorizer of authorizers) {
        const decision = authorizer.authorize(attributes);
        if (decision.verdict !== 'no opinion') return decision;
        if (decision.reason !== '') reasons.push(decision.reason);
      }
      return { verdict: 'no opinion', reason: reasons.join(', ') };
    },
  };
}

function keysOf(subjects: readonly RbacV1Subject[] | undefined, namespace: string): readonly string[] {
  const keys = (subjects ?? []).map((subject) => subjectKey(subject, namespace));
  return [...new Set(keys.filter((key) => key !== undefined))];
}

function allowedBy(kind: string, binding: string, role: V1RoleRef, key: string): string {
  return `RBAC: allowed by ${kind} "${binding}" of ${role.kind} "${role.name}" to ${subjectOf(key)}`;
}

function subjectOf(key: string): string {
  const account = key.startsWith('User:') ? accountOfUser(key.slice('User:'.length)) : undefined;
  if (account !== undefined) return `ServiceAccount "${account.name}/${account.namespace}"`;
  const colon = key.indexOf(':');
  return `${key.slice(0, colon)} "${key.slice(colon + 1)}"`;
}

function notFoundRole({ kind, name }: V1RoleRef): string {
  return `${kind.toLowerCase()}.rbac.authorization.k8s.io "${name}" not found`;
}

function listed(sentences: readonly string[]): string {
  const unique = [...new Set(sentences)];
  return unique.length === 1 ? (unique[0] ?? '') : `[${unique.join(', ')}]`;
}
