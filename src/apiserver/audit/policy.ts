// Which requests are recorded, and how much of them: the rules of an audit.k8s.io/v1 Policy. Pure.
// Guarantees: the first rule that matches decides; what carries secrets is never recorded beyond its metadata.
import { getOwn } from '../../api/ownKeys.js';
import { ApiServerError } from '../error.js';
import type { RequestInfo } from '../requestInfo.js';
import type { RequestTrace } from '../requestTrace.js';

export const AUDIT_LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof AUDIT_LEVELS)[number];

export type AuditPolicy = (trace: RequestTrace) => AuditLevel;

interface Rule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly ResourceRule[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

interface ResourceRule {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** Bodies and answers of these hold secrets. */
const SECRETIVE = new Set([
  '/secrets',
  '/serviceaccounts/token',
  'authentication.k8s.io/tokenreviews',
  'authentication.k8s.io/tokenrequests',
]);

/** One level for everything. */
export function uniformPolicy(level: AuditLevel): AuditPolicy {
  return ({ info }) => capped(level, info);
}

/** `document` is a parsed policy file. Throws ApiServerError when it is none. */
export function readPolicy(document: unknown): AuditPolicy {
  const policy = record(document, 'the policy');
  if (policy['apiVersion'] !== 'audit.k8s.io/v1' || policy['kind'] !== 'Policy')
    throw fault('expected apiVersion audit.k8s.io/v1 and kind Policy');
  const rules = list(policy['rules'], 'rules').map((rule, at) => readRule(record(rule, `rules[${at}]`), at));
  if (rules.length === 0) throw fault('it has no rules');
  return (trace) => capped(rules.find((rule) => matches(rule, trace))?.level ?? 'None', trace.info);
}

function capped(level: AuditLevel, info: RequestInfo | undefined): AuditLevel {
  if (level === 'None' || info === undefined || !info.isResource) return level;
  const parts = info.subresource === '' ? [info.resource] : [info.resource, info.subresource];
  const isSecretive = SECRETIVE.has([info.group, ...parts].join('/')) || info.resource === 'secrets';
  return isSecretive ? 'Metadata' : level;
}

function matches(rule: Rule, { info, caller }: RequestTrace): boolean {
  const groups = caller?.groups ?? [];
  if (!emptyOr(rule.users, (user) => user === caller?.name)) return false;
  if (!emptyOr(rule.userGroups, (group) => groups.includes(group))) return false;
  if (!emptyOr(rule.verbs, (verb) => verb === info?.verb)) return false;
  if (rule.namespaces.length === 0 && rule.resources.length === 0 && rule.nonResourceURLs.length === 0)
    return true;
  if (info === undefined) return false;
  if (!info.isResource) return rule.nonResourceURLs.some((url) => urlMatches(url, info.path));
  if (rule.namespaces.length === 0 && rule.resources.length === 0) return false;
  if (!emptyOr(rule.namespaces, (namespace) => namespace === info.namespace)) return false;
  return emptyOr(rule.resources, (wanted) => resourceMatches(wanted, info));
}

function resourceMatches({ group, resources, resourceNames }: ResourceRule, info: RequestInfo): boolean {
  if (group !== info.group) return false;
  if (!emptyOr(resourceNames, (name) => name === info.name)) return false;
  const sub = info.subresource;
  const whole = sub === '' ? info.resource : `${info.resource}/${sub}`;
  return emptyOr(
    resources,
    (wanted) =>
      wanted === '*' ||
      wanted === whole ||
      (sub !== '' && (wanted === `*/${sub}` || wanted === `${info.resource}/*`)),
  );
}

function urlMatches(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
}

function emptyOr<T>(wanted: readonly T[], test: (one: T) => boolean): boolean {
  return wanted.length === 0 || wanted.some(test);
}

function readRule(rule: Record<string, unknown>, at: number): Rule {
  const level = AUDIT_LEVELS.find((known) => known === rule['level']);
  if (level === undefined) throw fault(`rules[${at}].level: expected one of ${AUDIT_LEVELS.join(', ')}`);
  const texts = (key: string) => strings(rule[key], `rules[${at}].${key}`);
  return {
    level,
    users: texts('users'),
    userGroups: texts('userGroups'),
    verbs: texts('verbs'),
    namespaces: texts('namespaces'),
    nonResourceURLs: texts('nonResourceURLs'),
    resources: list(rule['resources'], `rules[${at}].resources`).map((entry, index) => {
      const where = `rules[${at}].resources[${index}]`;
      const one = record(entry, where);
      const group = getOwn<unknown>(one, 'group') ?? '';
      if (typeof group !== 'string') throw fault(`${where}.group: expected text`);
      return {
        group,
        resources: strings(one['resources'], `${where}.resources`),
        resourceNames: strings(one['resourceNames'], `${where}.resourceNames`),
      };
    }),
  };
}

function record(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw fault(`${where}: expected an object`);
  return value as Record<string, unknown>;
}

function list(value: unknown, where: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw fault(`${where}: expected a list`);
  return value;
}

function strings(value: unknown, where: string): readonly string[] {
  const all = list(value, where);
  if (!all.every((one) => typeof one === 'string')) throw fault(`${where}: expected a list of texts`);
  return all as readonly string[];
}

const fault = (why: string) => new ApiServerError('AUDIT_POLICY', `the audit policy is wrong: ${why}`);
