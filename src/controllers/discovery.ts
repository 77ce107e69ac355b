// What the server serves, asked of the server: resources with the verbs they have.
// Guarantees: each resource once, in the first version of its group that has it; subresources are left out; a group that does not
// answer, or not in time, is named and holds up no other one.
import type { V1APIGroupList, V1APIResourceList } from '../api/gen/types.js';
import { apiVersionOf, type ResourceType } from '../api/resources.js';
import { qualifiedResource } from '../api/status.js';
import { within } from '../base/deadline.js';
import { messageOf } from '../base/errorMessage.js';
import type { Client } from '../client/client.js';

export interface ServedResource extends ResourceType {
  readonly verbs: readonly string[];
}

export interface Discovery {
  readonly served: readonly ServedResource[];
  /** Groups of which nothing is known this time, and why, by group and version. */
  readonly failed: ReadonlyMap<string, string>;
}

const GROUP_TIMEOUT_MS = 10_000;

/** Throws when the server does not even say which groups it has. */
export async function discover(client: Client): Promise<Discovery> {
  const { groups } = await client.raw<V1APIGroupList>('GET', '/apis');
  // A definition may serve its kind in versions that are not the preferred one of its group.
  const all = groups.flatMap(({ name, preferredVersion, versions }) => {
    const preferred = preferredVersion?.version;
    const others = versions.map(({ version }) => version).filter((version) => version !== preferred);
    return [...(preferred === undefined ? [] : [preferred]), ...others].map((version) => ({
      group: name,
      version,
    }));
  });
  const failed = new Map<string, string>();
  const lists = await Promise.all(
    [{ group: '', version: 'v1' }, ...all].map(async ({ group, version }) => {
      const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
      try {
        return servedBy(group, version, await inTime(client.raw<V1APIResourceList>('GET', path)));
      } catch (error) {
        failed.set(apiVersionOf({ group, version }), messageOf(error));
        return [];
      }
    }),
  );
  const seen = new Set<string>();
  const served = lists.flat().filter((type) => {
    const name = qualifiedResource(type);
    return !seen.has(name) && seen.add(name);
  });
  return { served, failed };
}

/** What serves a group may be a program of the cluster's own that hangs. */
const inTime = <T>(answer: Promise<T>): Promise<T> =>
  within(answer, GROUP_TIMEOUT_MS, () => {
    throw new Error(`no answer within ${GROUP_TIMEOUT_MS / 1000} s`);
  });

/** Pure: the resources of one group and version, without subresources. */
function servedBy(group: string, version: string, { resources }: V1APIResourceList): ServedResource[] {
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, kind, namespaced, verbs }) => ({
      group,
      version,
      resource: name,
      kind,
      namespaced,
      verbs,
    }));
}

export const has = ({ verbs }: ServedResource, ...wanted: readonly string[]): boolean =>
  wanted.every((verb) => verbs.includes(verb));
