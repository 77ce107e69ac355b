// Authentication, impersonation and authorization of one request.
// Guarantees: every path to an object goes through here; an Impersonate header is obeyed or refused, never ignored.
import { setOwn } from '../api/ownKeys.js';
import { statusError } from '../api/status.js';
import { accountOfUser, forbiddenError } from './auth/rbac.js';
import type { ApiRequest } from './exchange.js';
import type { Attributes, Authenticator, Authorizer, UserInfo } from './identity.js';
import type { RequestInfo } from './requestInfo.js';

export interface Gate {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
}

/** Without a promise where the user is known at once, as by the certificate of the connection. */
export function authenticate({ authenticator }: Gate, request: ApiRequest): Promise<UserInfo> | UserInfo {
  const user = request.user ?? authenticator.authenticate(request.credentials);
  return user instanceof Promise ? user.then(known) : known(user);
}

function known(user: UserInfo | undefined): UserInfo {
  if (user === undefined) throw statusError('Unauthorized', 'Unauthorized');
  return user;
}

/** Answers why it is allowed; throws Forbidden with the authorizer's reason. */
export function authorize({ authorizer }: Gate, user: UserInfo, info: RequestInfo): string {
  return demand(authorizer, attributesOf(user, info));
}

function demand(authorizer: Authorizer, attributes: Attributes): string {
  const { verdict, reason } = authorizer.authorize(attributes);
  if (verdict !== 'allow') throw forbiddenError(attributes, reason);
  return reason;
}

function attributesOf(user: UserInfo, info: RequestInfo): Attributes {
  const { verb, group, version, resource, subresource, namespace, name, fieldSelector, path } = info;
  const base = { user, verb, group, version, resource, subresource, namespace, name, fieldSelector };
  return info.isResource ? base : { ...base, path };
}

const IMPERSONATE = 'impersonate-';
const EXTRA = 'impersonate-extra-';
const AUTHENTICATION = 'authentication.k8s.io';

/** The user that the request is made as; each part needs the right to impersonate it. */
export function impersonate({ authorizer }: Gate, user: UserInfo, request: ApiRequest): UserInfo {
  const { headers } = request;
  if (!asksForAnother(headers)) return user;
  const wanted = Object.keys(headers).filter((name) => name.startsWith(IMPERSONATE));
  const name = headers['impersonate-user'];
  if (name === undefined) {
    throw statusError('BadRequest', 'requested impersonation without impersonating a user');
  }
  const uid = headers['impersonate-uid'];
  const extra = extraOf(headers, wanted);
  const groups = (headers['impersonate-group'] ?? '')
    .split(',')
    .map((group) => group.trim())
    .filter(Boolean);
  const account = accountOfUser(name);
  const ask = (resource: string, object: string, more: Partial<Attributes> = {}) =>
    demand(authorizer, {
      user,
      verb: 'impersonate',
      group: '',
      version: 'v1',
      resource,
      subresource: '',
      namespace: '',
      name: object,
      ...more,
    });
  if (account === undefined) ask('users', name);
  else ask('serviceaccounts', account.name, { namespace: account.namespace });
  for (const group of groups) ask('groups', group);
  if (uid !== undefined) ask('uids', uid, { group: AUTHENTICATION });
  for (const [key, values] of Object.entries(extra)) {
    for (const value of values) ask('userextras', value, { group: AUTHENTICATION, subresource: key });
  }
  return {
    name,
    groups: impliedGroups(name, groups, account?.namespace),
    ...(uid === undefined ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

function asksForAnother(headers: ApiRequest['headers']): boolean {
  for (const name in headers) if (name.startsWith(IMPERSONATE)) return true;
  return false;
}

/** Header names are lower case and hold what they cannot as %xx; so is Kubernetes' reading of them. */
function extraOf(
  headers: ApiRequest['headers'],
  names: readonly string[],
): Record<string, readonly string[]> {
  const extra: Record<string, readonly string[]> = {};
  for (const name of names) {
    if (!name.startsWith(EXTRA)) continue;
    const values = (headers[name] ?? '').split(',').map((value) => value.trim());
    setOwn(extra, decoded(name.slice(EXTRA.length)), values);
  }
  return extra;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not an escape, then: taken as it is
  }
}

function impliedGroups(
  name: string,
  groups: readonly string[],
  accountNamespace: string | undefined,
): string[] {
  const all = new Set(groups);
  if (accountNamespace !== undefined && groups.length === 0) {
    all.add('system:serviceaccounts').add(`system:serviceaccounts:${accountNamespace}`);
  }
  all.add(name === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated');
  return [...all];
}
