// A short notation for RBAC policy rules, one line per rule. Pure.
import type { V1PolicyRule } from '../../api/gen/types.js';

export const READ = ['get', 'list', 'watch'] as const;
export const WRITE = ['create', 'delete', 'deletecollection', 'patch', 'update'] as const;
export const READ_WRITE = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
] as const;

/** A list, or its words with a space between them. */
type Words = string | readonly string[];

/** Several groups are written as `apps,extensions`; the core group is empty. Without names, every object is meant. */
export function rule(groups: string, resources: Words, verbs: Words, names?: Words): V1PolicyRule {
  return {
    apiGroups: groups.split(','),
    resources: words(resources),
    verbs: words(verbs),
    ...(names === undefined ? {} : { resourceNames: words(names) }),
  };
}

export function pathRule(paths: Words, verbs: Words = 'get'): V1PolicyRule {
  return { nonResourceURLs: words(paths), verbs: words(verbs) };
}

/** What everybody needs who tells events about objects. */
export const EVENTS = rule(',events.k8s.io', 'events', 'create patch update');

function words(text: Words): readonly string[] {
  return typeof text === 'string' ? text.split(' ') : text;
}
