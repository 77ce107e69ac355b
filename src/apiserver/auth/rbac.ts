// RBAC as arithmetic: does a rule allow a request, and how is a refusal worded. Pure.
// Guarantees: nothing is allowed that no rule names; the words of a refusal are Kubernetes' own.
import type { RbacV1Subject, V1PolicyRule } from '../../api/gen/types.js';
import { dnsLabel, dnsSubdomain } from '../../api/names.js';
import { type ApiError, forbidden, statusError } from '../../api/status.js';
import type { Attributes, UserInfo } from '../identity.js';

export const SUPERUSER_GROUP = 'system:masters';
export const AUTHENTICATED_GROUP = 'system:authenticated';
export const UNAUTHENTICATED_GROUP = 'system:unauthenticated';

export function ruleAllows(rule: V1PolicyRule, attributes: Attributes): boolean {
  if (!matches(rule.verbs, attributes.verb)) return false;
  if (attributes.path !== undefined)
    return (rule.nonResourceURLs ?? []).some((url) => urlMatches(url, attributes.path ?? ''));
  const names = rule.resourceNames ?? [];
  return (
    matches(rule.apiGroups, attributes.group) &&
    (rule.resources ?? []).some((named) => resourceMatches(named, attributes)) &&
    (names.length === 0 || names.includes(attributes.name))
  );
}

/** A subject as one string. A service account is the user it authenticates as, so both spellings meet. */
export function subjectKey(subject: RbacV1Subject, bindingNamespace: string): string | undefined {
  switch (subject.kind) {
    case 'User':
      return `User:${subject.name}`;
    case 'Group':
      return `Group:${subject.name}`;
    case 'ServiceAccount': {
      const namespace = subject.namespace || bindingNamespace;
      return namespace === '' ? undefined : `User:${serviceAccountUser({ namespace, name: subject.name })}`;
    }
    default:
      return undefined;
  }
}

/** Every key under which a binding can mean this user. */
export function keysOfUser(user: UserInfo): readonly string[] {
  return [`User:${user.name}`, ...user.groups.map((group) => `Group:${group}`)];
}

export function serviceAccountUser({ namespace, name }: { namespace: string; name: string }): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** The account that a user name means; undefined for names that no account can have. */
export function accountOfUser(user: string): { namespace: string; name: string } | undefined {
  const [, namespace = '', name = ''] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? [];
  const isAccount = dnsLabel(namespace).length === 0 && dnsSubdomain(name).length === 0;
  return isAccount ? { namespace, name } : undefined;
}

/** `User "x" cannot list resource "pods" in API group "" in the namespace "default"`. */
function denialOf(attributes: Attributes): string {
  const who = `User ${JSON.stringify(attributes.user.name)} cannot ${attributes.verb}`;
  if (attributes.path !== undefined) return `${who} path ${JSON.stringify(attributes.path)}`;
  const { resource, subresource, group, namespace } = attributes;
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  return `${who} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}`;
}

/** The Forbidden that the client gets. A reason, such as a role that a binding names in vain, is appended. */
export function forbiddenError(attributes: Attributes, reason = ''): ApiError {
  const why = reason === '' ? denialOf(attributes) : `${denialOf(attributes)}: ${reason}`;
  if (attributes.path !== undefined) return statusError('Forbidden', `forbidden: ${why}`, {});
  return forbidden(attributes, attributes.name, why);
}

function matches(values: readonly string[] | undefined, wanted: string): boolean {
  return values?.some((value) => value === '*' || value === wanted) ?? false;
}

function resourceMatches(named: string, { resource, subresource }: Attributes): boolean {
  if (named === '*') return true;
  if (subresource === '') return named === resource;
  return named === `${resource}/${subresource}` || named === `*/${subresource}`;
}

export function urlMatches(named: string, path: string): boolean {
  if (named === '*' || named === path) return true;
  return named.endsWith('*') && path.startsWith(named.replace(/\*+$/, ''));
}
