// What all objects of a namespace use of a ResourceQuota, counted from the objects themselves. Pure.
import type { V1ResourceQuota } from '../gen/types.js';
import type { KubeObject } from '../object.js';
import type { ResourceType } from '../resources.js';
import { isInScope } from './scopes.js';
import { countName, sum, type Usage, usageOf } from './usage.js';

interface CountedObjects {
  readonly type: ResourceType;
  readonly items: readonly KubeObject[];
}

/** Core kinds by the names under which quotas limit them, besides `count/...`. */
const PREFIXES: readonly (readonly [RegExp, string])[] = [
  [/^services(\.|$)/, 'services'],
  [
    /^(persistentvolumeclaims$|requests\.storage$|.*\.storageclass\.storage\.k8s\.io\/)/,
    'persistentvolumeclaims',
  ],
  [/^(pods$|cpu$|memory$|ephemeral-storage$|requests\.(?!storage$)|limits\.|hugepages-)/, 'pods'],
];

/** The kinds whose objects must be looked at to know what is used of these names. */
export function countedTypes(names: readonly string[], served: readonly ResourceType[]): ResourceType[] {
  return served.filter((type) =>
    names.some(
      (name) =>
        name === countName(type) ||
        (type.group === '' &&
          (name === type.resource ||
            PREFIXES.some(([pattern, resource]) => resource === type.resource && pattern.test(name)))),
    ),
  );
}

/** Every name that the quota limits, with what is used of it. */
export function usedBy({ spec }: V1ResourceQuota, lists: readonly CountedObjects[]): Usage {
  const hard = spec?.hard ?? {};
  let total: Usage = Object.fromEntries(Object.keys(hard).map((name) => [name, '0']));
  for (const { type, items } of lists)
    for (const item of items) {
      if (!isInScope(spec ?? {}, type, item)) continue;
      const usage = Object.entries(usageOf(type, item)).filter(([name]) => hard[name] !== undefined);
      total = sum(total, Object.fromEntries(usage));
    }
  return total;
}
