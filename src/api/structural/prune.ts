// An instance without the fields that its schema does not have. Pure.
// Guarantees: the result shares nothing with the input; pruning twice is pruning once; apiVersion, kind and metadata of a
// resource, and of one that is embedded, are left alone.
import { copyJson, type Members, setOwn } from '../ownKeys.js';
import { pathText, type Step } from './path.js';
import type { Structural } from './schema.js';

const META = new Set(['apiVersion', 'kind', 'metadata']);
/** Beyond these nobody reads on. */
const MOST_UNKNOWN = 100;

/** The paths of fields that are not kept: `spec.list[3].foo`. */
interface Unknown {
  readonly paths: string[];
}

/** `schema` is that of a whole resource. */
export function prunedResource(resource: Members, schema: Structural, unknown: Unknown): Members {
  const pruning = { path: [], unknown };
  return prunedMembers(resource, { ...schema, isEmbedded: true }, pruning);
}

export function pruned(value: unknown, schema: Structural | undefined, unknown: Unknown): unknown {
  return prunedValue(value, schema, { path: [], unknown });
}

interface Pruning {
  readonly path: Step[];
  readonly unknown: Unknown;
}

function prunedValue(value: unknown, schema: Structural | undefined, pruning: Pruning): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value)) return prunedMembers(value as Members, schema, pruning);
  // Lists of what is kept as it is may still have known fields below their items.
  const items = schema?.items;
  if (items === undefined && schema?.keepsUnknown === true) return copyJson(value);
  const itemSchema = schema?.keepsUnknown === true && items !== undefined ? kept(items) : items;
  return value.map((item: unknown, index) => at(pruning, index, item, itemSchema));
}

/** Inside a list that keeps unknown fields, so do its items. */
const kept = (items: Structural): Structural =>
  items.keepsUnknown ? items : { ...items, keepsUnknown: true };

function prunedMembers(members: Members, schema: Structural | undefined, pruning: Pruning): Members {
  const result: Members = {};
  for (const name of Object.keys(members)) {
    const value = members[name];
    if (schema?.isEmbedded === true && META.has(name)) setOwn(result, name, copyJson(value));
    else {
      const property = schema?.properties.get(name);
      if (property !== undefined) setOwn(result, name, at(pruning, name, value, property));
      else if (schema?.additional !== undefined)
        setOwn(result, name, at(pruning, name, value, schema.additional ?? undefined));
      else if (schema?.keepsUnknown === true) setOwn(result, name, copyJson(value));
      else note(pruning, name);
    }
  }
  return result;
}

function at(pruning: Pruning, step: Step, value: unknown, schema: Structural | undefined): unknown {
  if (typeof value !== 'object' || value === null) return value;
  pruning.path.push(step);
  const result = prunedValue(value, schema, pruning);
  pruning.path.pop();
  return result;
}

function note({ path, unknown }: Pruning, name: string): void {
  if (unknown.paths.length < MOST_UNKNOWN) unknown.paths.push(pathText([...path, name]));
}
