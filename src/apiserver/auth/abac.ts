// Attribute-based access control: a file of policies, one JSON object a line, as --authorization-policy-file. Pure.
// Guarantees: a policy allows only what every one of its properties matches; a file with a wrong line is refused whole.
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
}

const API_VERSION = 'abac.authorization.kubernetes.io/v1beta1';
const TEXTS = ['user', 'group', 'apiGroup', 'resource', 'namespace', 'nonResourcePath'] as const;
const READING = new Set(['get', 'list', 'watch']);

export function makeAbacAuthorizer(text: string): Authorizer {
  const policies = parsePolicyFile(text);
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

function readPolicy(line: string, number: number): Policy {
  const fault = (why: string, cause?: unknown) =>
    new AuthConfigError('POLICY_FILE', `authorization policy file, line ${number}: ${why}`, { cause });
  let parsed: { apiVersion?: unknown; kind?: unknown; spec?: Record<string, unknown> };
  try {
    parsed = JSON.parse(line);
  } catch (cause) {
    throw fault('not JSON', cause);
  }
  if (parsed?.apiVersion !== API_VERSION || parsed.kind !== 'Policy')
    throw fault(`expected apiVersion ${API_VERSION} and kind Policy`);
  const { spec } = parsed;
  if (typeof spec !== 'object' || spec === null) throw fault('it has no spec');
  const unknown = Object.keys(spec).find(
    (key) => key !== 'readonly' && !(TEXTS as readonly string[]).includes(key),
  );
  if (unknown !== undefined) throw fault(`unknown property ${JSON.stringify(unknown)}`);
  const texts = TEXTS.map((key) => {
    const value = spec[key] ?? '';
    if (typeof value !== 'string') throw fault(`${key} must be text`);
    return [key, value] as const;
  });
  const { readonly = false } = spec;
  if (typeof readonly !== 'boolean') throw fault('readonly must be true or false');
  return { ...(Object.fromEntries(texts) as Omit<Policy, 'readonly'>), readonly };
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
  if (user !== '' && user !== '*' && user !== name) return false;
  return group === '' || group === '*' || groups.includes(group);
}

function pathMatches(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return pattern !== '';
  return pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1));
}

const anyOr = (wanted: string, actual: string): boolean => wanted === '*' || wanted === actual;
