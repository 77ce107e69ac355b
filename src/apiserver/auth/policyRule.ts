// Policy rules in one line each. Pure.
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

/** Several groups are written as `apps,extensions`; the core group is empty. */
export function rule(groups: string, resources: readonly string[], verbs: readonly string[]): V1PolicyRule {
  return { apiGroups: groups.split(','), resources, verbs };
}

export function pathRule(paths: readonly string[], verbs: readonly string[] = ['get']): V1PolicyRule {
  return { nonResourceURLs: paths, verbs };
}
