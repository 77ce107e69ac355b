// The discovery documents: groups, resource lists, and both in one (aggregated discovery). Pure.
import { createHash } from 'node:crypto';
import type { ResourceType } from '../../api/resources.js';
import { groupsOf, type ServedResource } from './resources.js';

const groupVersion = (group: string, version: string) => (group === '' ? version : `${group}/${version}`);

/** /api */
export function apiVersions(serverAddress: string): object {
  const serverAddressByClientCIDRs = [{ clientCIDR: '0.0.0.0/0', serverAddress }];
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs };
}

/** /apis */
export function apiGroupList(resources: readonly ServedResource[]): object {
  const groups = [...groupsOf(resources)].filter(([group]) => group !== '');
  return {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groups.map(([group, versions]) => groupEntry(group, versions)),
  };
}

/** /apis/<group> */
export function apiGroup(resources: readonly ServedResource[], group: string): object | undefined {
  const versions = groupsOf(resources).get(group);
  if (group === '' || versions === undefined) return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group, versions) };
}

function groupEntry(group: string, versions: readonly string[]) {
  const list = versions.map((version) => ({ groupVersion: groupVersion(group, version), version }));
  return { name: group, versions: list, preferredVersion: list[0] };
}

/** /api/v1 and /apis/<group>/<version> */
export function resourceList(
  resources: readonly ServedResource[],
  group: string,
  version: string,
): object | undefined {
  const served = resources.filter(({ type }) => type.group === group && type.version === version);
  if (served.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    // As in Kubernetes, the list of the core group does not say it.
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: groupVersion(group, version),
    resources: served.flatMap(resourceEntries).sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function resourceEntries(resource: ServedResource) {
  const { type, singular, shortNames, categories, verbs, subresources, stored } = resource;
  const { namespaced } = type;
  const main = {
    name: type.resource,
    singularName: singular,
    namespaced,
    kind: type.kind,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(stored === undefined ? {} : { storageVersionHash: storageVersionHash(stored) }),
  };
  const parts = subresources.map(({ subresource, kind, verbs: partVerbs }) => ({
    name: `${type.resource}/${subresource}`,
    singularName: '',
    namespaced,
    ...(kind.group === type.group && kind.version === type.version
      ? {}
      : { group: kind.group, version: kind.version }),
    kind: kind.kind,
    verbs: partVerbs,
  }));
  return [main, ...parts];
}

/** Changes when objects are kept in another version: clients that migrate them look at it. */
function storageVersionHash({ group, version, kind }: ResourceType): string {
  return createHash('sha256').update(`${group}/${version}/${kind}`).digest().toString('base64', 0, 8);
}

/** /api and /apis for clients that ask for everything at once. */
export function aggregated(
  resources: readonly ServedResource[],
  root: 'api' | 'apis',
  version: string,
): object {
  const groups = [...groupsOf(resources)].filter(([group]) => (group === '') === (root === 'api'));
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(([group, versions]) => ({
      metadata: { name: group, creationTimestamp: null },
      versions: versions.map((served) => ({
        version: served,
        freshness: 'Current',
        resources: resources
          .filter(({ type }) => type.group === group && type.version === served)
          .map(aggregatedEntry),
      })),
    })),
  };
}

function aggregatedEntry({ type, singular, shortNames, categories, verbs, subresources }: ServedResource) {
  return {
    resource: type.resource,
    responseKind: { group: type.group, version: type.version, kind: type.kind },
    scope: type.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0
      ? {}
      : {
          subresources: subresources.map(({ subresource, kind, verbs: partVerbs }) => ({
            subresource,
            responseKind: kind,
            verbs: partVerbs,
          })),
        }),
  };
}
