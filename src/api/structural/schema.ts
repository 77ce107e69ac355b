// A structural schema as a tree of nodes, made once of a definition's OpenAPI schema. Pure.
// Guarantees: what a node says of pruning, defaults and lists is read here and nowhere else; never changes after it was made.
import type { V1JSONSchemaProps } from '../gen/types.js';
import { isMembers } from '../ownKeys.js';
import { spendWork } from '../workLimit.js';

export type JsonSchema = V1JSONSchemaProps;

export interface Structural {
  readonly source: JsonSchema;
  /** Empty where none is given. */
  readonly type: string;
  readonly nullable: boolean;
  readonly isEmbedded: boolean;
  readonly keepsUnknown: boolean;
  readonly properties: ReadonlyMap<string, Structural>;
  /** Null when additionalProperties is true or false: anything goes, and nothing of it is known. */
  readonly additional: Structural | null | undefined;
  readonly items: Structural | undefined;
  readonly listType: string | undefined;
  readonly listKeys: readonly string[];
  readonly isAtomicMap: boolean;
  readonly default: unknown;
  /** Of the default as JSON; 0 without one. */
  readonly defaultBytes: number;
  /** The properties that have a default themselves. */
  readonly defaulted: readonly (readonly [string, Structural])[];
  /** True when something below, or this, has a default. */
  readonly hasDefaults: boolean;
  /** True when an instance may have something in it to fill in, or a null that has to go. */
  readonly isFillable: boolean;
  /** True when something below, or this, is a list that is a set or has keys. */
  readonly hasKeyedLists: boolean;
  /** True when something below, or this, is an embedded resource. */
  readonly hasEmbedded: boolean;
}

/** The schema of a member that is either a schema or something else. */
export const subSchema = (value: unknown): JsonSchema | undefined =>
  isMembers(value) ? (value as JsonSchema) : undefined;

/** The one schema of all items; a list of schemas is not structural, and none. */
export const itemSchema = ({ items }: JsonSchema): JsonSchema | undefined => subSchema(items);

export const propertiesOf = ({ properties }: JsonSchema): readonly (readonly [string, JsonSchema])[] =>
  Object.entries(properties ?? {});

const NO_PROPERTIES: ReadonlyMap<string, Structural> = new Map();
const NO_DEFAULTS: readonly (readonly [string, Structural])[] = [];
const NO_KEYS: readonly string[] = [];
/** Of work, as spendWork counts it. */
const NODE_UNITS = 10;

/** One node for each schema, and there may be tens of thousands: each is made in one go, and shares what it lacks. */
export function structural(source: JsonSchema): Structural {
  spendWork(NODE_UNITS);
  const items = itemSchema(source);
  const below = source.additionalProperties;
  const properties = propertyNodes(source);
  const additional = below === undefined || below === null ? undefined : additionalNode(below);
  const itemNode = items === undefined ? undefined : structural(items);
  const listType = source['x-kubernetes-list-type'];
  const isEmbedded = source['x-kubernetes-embedded-resource'] === true;
  const parts = { properties, additional, itemNode };
  return {
    source,
    type: source.type ?? '',
    nullable: source.nullable === true,
    isEmbedded,
    keepsUnknown: source['x-kubernetes-preserve-unknown-fields'] === true,
    properties,
    additional,
    items: itemNode,
    listType,
    listKeys: source['x-kubernetes-list-map-keys'] ?? NO_KEYS,
    isAtomicMap: source['x-kubernetes-map-type'] === 'atomic',
    default: source.default ?? undefined,
    defaultBytes: source.default === undefined ? 0 : JSON.stringify(source.default).length,
    defaulted: defaultedOf(properties),
    isFillable: isFillable(parts),
    hasDefaults: (source.default ?? undefined) !== undefined || someBelow(parts, hasDefaults),
    hasKeyedLists: listType === 'set' || listType === 'map' || someBelow(parts, hasKeyedLists),
    hasEmbedded: isEmbedded || someBelow(parts, hasEmbedded),
  };
}

const hasDefaults = (node: Structural) => node.hasDefaults;
const hasKeyedLists = (node: Structural) => node.hasKeyedLists;
const hasEmbedded = (node: Structural) => node.hasEmbedded;

function propertyNodes({ properties }: JsonSchema): ReadonlyMap<string, Structural> {
  if (!isMembers(properties)) return NO_PROPERTIES;
  const nodes = new Map<string, Structural>();
  for (const name of Object.keys(properties)) nodes.set(name, structural(properties[name] as JsonSchema));
  return nodes;
}

function additionalNode(below: unknown): Structural | null {
  const schema = subSchema(below);
  return schema === undefined ? null : structural(schema);
}

function defaultedOf(properties: ReadonlyMap<string, Structural>): Structural['defaulted'] {
  if (properties.size === 0) return NO_DEFAULTS;
  return [...properties].filter(([, property]) => property.default !== undefined);
}

interface Parts {
  readonly properties: ReadonlyMap<string, Structural>;
  readonly additional: Structural | null | undefined;
  readonly itemNode: Structural | undefined;
}

function isFillable({ properties, additional, itemNode }: Parts): boolean {
  if (properties.size > 0 || isMembers(additional)) return true;
  return itemNode !== undefined && (itemNode.default !== undefined || itemNode.isFillable);
}

function someBelow({ properties, additional, itemNode }: Parts, has: (node: Structural) => boolean): boolean {
  for (const property of properties.values()) if (has(property)) return true;
  return (isMembers(additional) && has(additional)) || (itemNode !== undefined && has(itemNode));
}
