// Who asks, and may they: authentication, impersonation and authorization of one request.
// Guarantees: every path to an object goes through here; an Impersonate header is obeyed or refused, never ignored.
import { statusError } from '../api/status.js';
import { forbiddenError } from './auth/rbac.js';
import type { ApiRequest } from './exchange.js';
import type { Attributes, Authenticator, Authorizer, UserInfo } from './identity.js';
import type { RequestInfo } from './requestInfo.js';

export interface Gate {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
}

export async function authenticate({ authenticator }: Gate, request: ApiRequest): Promise<UserInfo> {
  const user = request.user ?? (await authenticator.authenticate(request.credentials));
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

export function attributesOf(user: UserInfo, info: RequestInfo): Attributes {
  const { verb, group, version, resource, subresource, namespace, name, path } = info;
  const base = { user, verb, group, version, resource, subresource, namespace, name };
  return info.isResource ? base : { ...base, path };
}

const EXTRA = 'impersonate-extra-';

/** The user that the request is made as; each part needs the right to impersonate it. */
export function impersonate({ authorizer }: Gate, user: UserInfo, request: ApiRequest): UserInfo {
  const { headers } = request;
  const wanted = Object.keys(headers).filter((name) => name.startsWith('impersonate-'));
  if (wanted.length === 0) return user;
  const name = headers['impersonate-user'];
  if (
    name === undefined ||
    wanted.some((header) => header.startsWith(EXTRA) || header === 'impersonate-uid')
  ) {
    throw statusError(
      'BadRequest',
      'impersonation is by Impersonate-User, with or without Impersonate-Group',
    );
  }
  const groups = (headers['impersonate-group'] ?? '')
    .split(',')
    .map((group) => group.trim())
    .filter(Boolean);
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  const ask = (resource: string, object: string, namespace = '') =>
    demand(authorizer, {
      user,
      verb: 'impersonate',
      group: '',
      version: 'v1',
      resource,
      subresource: '',
      namespace,
      name: object,
    });
  if (account === null) ask('users', name);
  else ask('serviceaccounts', account[2] ?? '', account[1]);
  for (const group of groups) ask('groups', group);
  return { name, groups: impliedGroups(name, groups, account?.[1]) };
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
