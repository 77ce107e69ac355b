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
  return prunedMembers(resource, schema, pruning, true);
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

function prunedMembers(
  members: Members,
  schema: Structural | undefined,
  pruning: Pruning,
  isResource = schema?.isEmbedded === true,
): Members {
  // Made whole: an object that grows member by member is moved again and again.
  const result: Members = { ...members };
  let isComplete = true;
  for (const name of Object.keys(result)) {
    const value = result[name];
    if (isResource && META.has(name)) replace(result, name, copyJson(value));
    else {
      const property = schema?.properties.get(name);
      if (property !== undefined) replace(result, name, at(pruning, name, value, property));
      else if (schema?.additional !== undefined)
        replace(result, name, at(pruning, name, value, schema.additional ?? undefined));
      else if (schema?.keepsUnknown === true) replace(result, name, copyJson(value));
      else {
        note(pruning, name);
        delete result[name];
        isComplete = false;
      }
    }
  }
  // An object that lost a member is slow to read.
  return isComplete ? result : { ...result };
}

/** Texts and numbers are there already. */
function replace(members: Members, name: string, value: unknown): void {
  if (typeof value === 'object' && value !== null) setOwn(members, name, value);
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
