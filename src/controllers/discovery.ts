// What the server serves, asked of the server: resources with the verbs they have.
// Guarantees: each resource once, in the version that its group prefers; subresources are left out.
import type { V1APIGroupList, V1APIResourceList } from '../api/gen/types.js';
import type { ResourceType } from '../api/resources.js';
import type { Client } from '../client/client.js';

export interface ServedResource extends ResourceType {
  readonly verbs: readonly string[];
}

export async function discover(client: Client): Promise<ServedResource[]> {
  const { groups } = await client.raw<V1APIGroupList>('GET', '/apis');
  const preferred = groups.map(({ name, preferredVersion, versions }) => ({
    group: name,
    version: preferredVersion?.version ?? versions[0]?.version ?? '',
  }));
  const lists = await Promise.all(
    [{ group: '', version: 'v1' }, ...preferred].map(async ({ group, version }) => {
      const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
      return servedBy(group, version, await client.raw<V1APIResourceList>('GET', path));
    }),
  );
  return lists.flat();
}

/** Pure: the resources of one group and version, without subresources. */
export function servedBy(group: string, version: string, { resources }: V1APIResourceList): ServedResource[] {
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
