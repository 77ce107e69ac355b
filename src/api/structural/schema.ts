// A structural schema as a tree of nodes, made once of a definition's OpenAPI schema. Pure.
// Guarantees: what a node says of pruning, defaults and lists is read here and nowhere else; never changes after it was made.
import type { V1JSONSchemaProps } from '../gen/types.js';
import { isMembers } from '../ownKeys.js';

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

export function structural(source: JsonSchema): Structural {
  const items = itemSchema(source);
  const below = source.additionalProperties;
  const additional = subSchema(below);
  const properties = new Map(propertiesOf(source).map(([name, schema]) => [name, structural(schema)]));
  const node = {
    source,
    type: source.type ?? '',
    nullable: source.nullable === true,
    isEmbedded: source['x-kubernetes-embedded-resource'] === true,
    keepsUnknown: source['x-kubernetes-preserve-unknown-fields'] === true,
    properties,
    additional:
      below === undefined || below === null
        ? undefined
        : additional === undefined
          ? null
          : structural(additional),
    items: items === undefined ? undefined : structural(items),
    listType: source['x-kubernetes-list-type'],
    listKeys: source['x-kubernetes-list-map-keys'] ?? [],
    isAtomicMap: source['x-kubernetes-map-type'] === 'atomic',
    default: source.default ?? undefined,
    defaultBytes: source.default === undefined ? 0 : JSON.stringify(source.default).length,
    defaulted: [...properties].filter(([, property]) => property.default !== undefined),
  };
  const parts = [...properties.values(), node.additional, node.items].filter(
    (part): part is Structural => part !== undefined && part !== null,
  );
  const isKeyed = node.listType === 'set' || node.listType === 'map';
  return {
    ...node,
    isFillable:
      properties.size > 0 ||
      (node.additional ?? undefined) !== undefined ||
      (node.items !== undefined && (node.items.default !== undefined || node.items.isFillable)),
    hasDefaults: node.default !== undefined || parts.some(({ hasDefaults }) => hasDefaults),
    hasKeyedLists: isKeyed || parts.some(({ hasKeyedLists }) => hasKeyedLists),
    hasEmbedded: node.isEmbedded || parts.some(({ hasEmbedded }) => hasEmbedded),
  };
}
