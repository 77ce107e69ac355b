// What the server serves, as one list: kinds, their subresources, and the resources that are only computed. Pure.
// Guarantees: discovery in all its forms, and routing, read this list, so they cannot disagree.
import type { KindDefinition } from '../../api/kind.js';
import { componentStatusKind } from '../../api/kinds/componentStatus.js';
import { BINDINGS, PODS, type ResourceType } from '../../api/resources.js';
import type { Definitions } from '../customResources/definitions.js';
import type { MeasuredResource, SubresourceHook, VirtualResource } from '../serverContext.js';

interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface ServedSubresource {
  readonly subresource: string;
  readonly kind: ServedKind;
  readonly verbs: readonly string[];
}

export interface ServedResource {
  readonly type: ResourceType;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources: readonly ServedSubresource[];
  /** As what its objects are kept; undefined where none are. */
  readonly stored?: ResourceType;
}

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const ONE_BY_ONE = VERBS.filter((verb) => verb !== 'deletecollection');
const CHANGE = ['get', 'patch', 'update'];

const PROXY_VERBS = ['create', 'delete', 'get', 'patch', 'update'];

const POD_SUBRESOURCES: readonly ServedSubresource[] = [
  { subresource: 'attach', kind: core('PodAttachOptions'), verbs: ['create', 'get'] },
  { subresource: 'binding', kind: core('Binding'), verbs: ['create'] },
  { subresource: 'ephemeralcontainers', kind: core('Pod'), verbs: CHANGE },
  { subresource: 'eviction', kind: { group: 'policy', version: 'v1', kind: 'Eviction' }, verbs: ['create'] },
  { subresource: 'exec', kind: core('PodExecOptions'), verbs: ['create', 'get'] },
  { subresource: 'log', kind: core('Pod'), verbs: ['get'] },
  { subresource: 'portforward', kind: core('PodPortForwardOptions'), verbs: ['create', 'get'] },
  { subresource: 'resize', kind: core('Pod'), verbs: CHANGE },
];

function core(kind: string): ServedKind {
  return { group: '', version: 'v1', kind };
}

/** Kinds with something behind them that speaks HTTP. */
export function isProxied({ group, resource }: ResourceType): boolean {
  return group === '' && (resource === 'pods' || resource === 'services' || resource === 'nodes');
}

export interface Served {
  readonly kinds: readonly KindDefinition[];
  readonly definitions?: Pick<Definitions, 'version' | 'forms'> | undefined;
  readonly virtualResources: readonly VirtualResource[];
  readonly measuredResources: readonly MeasuredResource[];
  readonly subresourceHooks: readonly SubresourceHook[];
  isServed?(type: ResourceType): boolean;
}

/** Looked up when it is asked for, and only to be read. */
const COMPONENT_STATUS: ServedResource = {
  type: componentStatusKind.type,
  singular: componentStatusKind.singular,
  shortNames: componentStatusKind.shortNames,
  categories: [],
  verbs: ['get', 'list'],
  subresources: [],
};

const BINDING: ServedResource = {
  type: BINDINGS,
  singular: 'binding',
  shortNames: [],
  categories: [],
  verbs: ['create'],
  subresources: [],
};

export function servedResources({
  kinds,
  definitions,
  virtualResources,
  measuredResources,
  subresourceHooks,
  isServed = () => true,
}: Served): readonly ServedResource[] {
  const stored = kinds.flatMap((kind) =>
    [kind.type, ...(kind.versions ?? []).map(({ type }) => type)].map((type) => ({
      type,
      singular: kind.singular,
      shortNames: kind.shortNames,
      categories: kind.categories,
      verbs: kind.deletedOneByOne === true ? ONE_BY_ONE : VERBS,
      subresources: subresourcesOf(kind, type, subresourceHooks),
      stored: kind.type,
    })),
  );
  const computed = (verbs: readonly string[]) => (type: VirtualResource | MeasuredResource) => ({
    type,
    singular: type.singular,
    shortNames: [],
    categories: [],
    verbs,
    subresources: [],
  });
  const custom = (definitions?.forms ?? []).map(({ kind, version }) => {
    const { type } = version ?? kind;
    const { singular, shortNames, categories } = kind;
    return {
      type,
      singular,
      shortNames,
      categories,
      verbs: VERBS,
      subresources: subresourcesOf(kind, type, []),
      stored: kind.type,
    };
  });
  return [
    ...stored,
    ...custom,
    ...virtualResources.map(computed(['create'])),
    ...measuredResources.map(computed(['get', 'list'])),
    BINDING,
    COMPONENT_STATUS,
  ].filter(({ type }) => isServed(type));
}

function subresourcesOf(
  kind: KindDefinition,
  type: ResourceType,
  hooks: readonly SubresourceHook[],
): readonly ServedSubresource[] {
  const self = { group: type.group, version: type.version, kind: type.kind };
  const found: ServedSubresource[] = [];
  if (isType(type, PODS)) found.push(...POD_SUBRESOURCES);
  if (isProxied(type)) {
    found.push({ subresource: 'proxy', kind: core(`${type.kind}ProxyOptions`), verbs: PROXY_VERBS });
  }
  if (type.group === '' && type.resource === 'namespaces') {
    found.push({ subresource: 'finalize', kind: self, verbs: ['update'] });
  }
  if (kind.scale !== undefined) {
    found.push({
      subresource: 'scale',
      kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
      verbs: CHANGE,
    });
  }
  for (const subresource of [...(kind.hasStatus ? ['status'] : []), ...(kind.statusParts ?? [])])
    found.push({ subresource, kind: self, verbs: CHANGE });
  for (const hook of hooks) {
    if (isType(type, hook.type))
      found.push({ subresource: hook.subresource, kind: hook.kind, verbs: ['create'] });
  }
  return found.sort((a, b) => (a.subresource < b.subresource ? -1 : 1));
}

export function isType(a: ResourceType, b: ResourceType): boolean {
  return a.group === b.group && a.resource === b.resource;
}

/** Core first, then the groups by name, each with its versions: the order of /apis. */
export function groupsOf(resources: readonly ServedResource[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const { type } of resources) {
    const versions = groups.get(type.group) ?? [];
    if (!versions.includes(type.version)) versions.push(type.version);
    groups.set(type.group, versions);
  }
  return new Map([...groups].sort(([a], [b]) => (a < b ? -1 : 1)));
}
