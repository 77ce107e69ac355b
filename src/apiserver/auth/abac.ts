// Attribute-based access control: a file of policies, one JSON object a line, as --authorization-policy-file. Pure.
// Guarantees: a policy allows only what every one of its properties matches; a file with a wrong line is refused whole.
import { isMembers, type Members } from '../../api/ownKeys.js';
import type { Attributes, Authorizer, UserInfo } from '../identity.js';
import { AuthConfigError } from './error.js';

interface Policy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
  /** Of a line without apiVersion. */
  readonly isUnversioned: boolean;
}

const API_VERSION = 'abac.authorization.kubernetes.io/v1beta1';
const TEXTS = ['user', 'group', 'apiGroup', 'resource', 'namespace', 'nonResourcePath'] as const;
const UNVERSIONED_TEXTS = ['user', 'group', 'resource', 'namespace'] as const;
const READING = new Set(['get', 'list', 'watch']);

/** The users and groups that `*` stands for: not the one who did not say who they are. */
const ALL_AUTHENTICATED = 'system:authenticated';

export function makeAbacAuthorizer(text: string, warn: (sentence: string) => void = () => {}): Authorizer {
  const policies = parsePolicyFile(text);
  if (policies.some(({ isUnversioned }) => isUnversioned))
    warn(
      `the policy file contained unversioned rules; say apiVersion ${API_VERSION} and kind Policy, with a spec`,
    );
  return {
    authorize(attributes) {
      if (policies.some((policy) => matches(policy, attributes))) return { verdict: 'allow', reason: '' };
      return { verdict: 'no opinion', reason: 'No policy matched.' };
    },
  };
}

export function parsePolicyFile(text: string): readonly Policy[] {
  return text.split(/\r?\n/).flatMap((line, at) => {
    if (line.trim() === '' || line.trimStart().startsWith('#')) return [];
    return [readPolicy(line, at + 1)];
  });
}

type Fault = (why: string, cause?: unknown) => AuthConfigError;

function readPolicy(line: string, number: number): Policy {
  const fault: Fault = (why, cause) =>
    new AuthConfigError('POLICY_FILE', `authorization policy file, line ${number}: ${why}`, { cause });
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch (cause) {
    throw fault('not JSON', cause);
  }
  if (!isMembers(parsed)) throw fault('not an object');
  const policy =
    parsed['apiVersion'] === undefined ? readUnversioned(parsed, fault) : readVersioned(parsed, fault);
  const isForAll = policy.user === '*' || policy.group === '*';
  return isForAll ? { ...policy, user: '', group: ALL_AUTHENTICATED } : policy;
}

function readVersioned({ apiVersion, kind, spec }: Members, fault: Fault): Policy {
  if (apiVersion !== API_VERSION || kind !== 'Policy')
    throw fault(`expected apiVersion ${API_VERSION} and kind Policy`);
  if (!isMembers(spec)) throw fault('it has no spec');
  return { ...readTexts(spec, TEXTS, fault), isUnversioned: false };
}

/** The first form of these files: what a line leaves out matches everything, and it knows no groups of resources. */
function readUnversioned(line: Members, fault: Fault): Policy {
  const { user, group, namespace, resource, readonly } = readTexts(line, UNVERSIONED_TEXTS, fault);
  return {
    user,
    group: user === '' && group === '' ? ALL_AUTHENTICATED : group,
    readonly,
    apiGroup: '*',
    resource: resource === '' ? '*' : resource,
    namespace: namespace === '' ? '*' : namespace,
    nonResourcePath: namespace === '' && resource === '' ? '*' : '',
    isUnversioned: true,
  };
}

function readTexts(
  from: Members,
  names: readonly (typeof TEXTS)[number][],
  fault: Fault,
): Omit<Policy, 'isUnversioned'> {
  const unknown = Object.keys(from).find(
    (key) => key !== 'readonly' && !(names as readonly string[]).includes(key),
  );
  if (unknown !== undefined) throw fault(`unknown property ${JSON.stringify(unknown)}`);
  const texts = TEXTS.map((key) => {
    const value = from[key] ?? '';
    if (typeof value !== 'string') throw fault(`${key} must be text`);
    return [key, value] as const;
  });
  const { readonly = false } = from;
  if (typeof readonly !== 'boolean') throw fault('readonly must be true or false');
  return { ...(Object.fromEntries(texts) as Record<(typeof TEXTS)[number], string>), readonly };
}

function matches(policy: Policy, attributes: Attributes): boolean {
  if (!subjectMatches(policy, attributes.user)) return false;
  if (policy.readonly && !READING.has(attributes.verb)) return false;
  if (attributes.path !== undefined) return pathMatches(policy.nonResourcePath, attributes.path);
  return (
    anyOr(policy.namespace, attributes.namespace) &&
    anyOr(policy.resource, attributes.resource) &&
    anyOr(policy.apiGroup, attributes.group)
  );
}

/** A policy without user and group speaks of nobody. */
function subjectMatches({ user, group }: Policy, { name, groups }: UserInfo): boolean {
  if (user === '' && group === '') return false;
  if (user !== '' && user !== name) return false;
  return group === '' || groups.includes(group);
}

function pathMatches(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return pattern !== '';
  return pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1));
}

const anyOr = (wanted: string, actual: string): boolean => wanted === '*' || wanted === actual;
