// Values and the field sets in them: what a value holds, what changed between two, and one merged into another. Pure.
// Guarantees: arguments are never changed; lists with keys are compared and merged by key, whatever their order.
import { copyJson, getOwn, isMembers, type Members, sameJson, setOwn } from '../../api/own.js';
import { childOf, type DraftSet, type FieldSet, newSet, trimmed } from './fieldSet.js';
import { fieldShape, isAlwaysThere, keyElement, type Part, partsOf, type Shape } from './shape.js';

/** The fields that a configuration names: its leaves, empty values, and the items of keyed lists. */
export function fieldSetOf(shape: Shape, value: unknown): FieldSet {
  const set = newSet();
  collect(shape, value, set, false);
  return set;
}

/** `containers`: also the values around the leaves, where they are not always there. */
function collect(shape: Shape, value: unknown, set: DraftSet, containers: boolean): void {
  const parts = partsOf(shape, value);
  if (parts === undefined || parts.length === 0) {
    set.member = true;
    return;
  }
  if (containers && !isAlwaysThere(shape)) set.member = true;
  for (const part of parts) {
    const child = childOf(set, part.element);
    if (shape.kind === 'keyed') child.member = true;
    collect(part.shape, part.value, child, containers);
  }
}

export interface Changes {
  /** Added or given another value. */
  readonly written: FieldSet;
  readonly removed: FieldSet;
}

export function changesBetween(shape: Shape, before: unknown, after: unknown): Changes {
  const written = newSet();
  const removed = newSet();
  compare(shape, before, after, written, removed);
  return { written: trimmed(written), removed: trimmed(removed) };
}

function compare(shape: Shape, before: unknown, after: unknown, written: DraftSet, removed: DraftSet): void {
  if (after === undefined) {
    if (before !== undefined) collect(shape, before, removed, true);
    return;
  }
  const old = before === undefined && isAlwaysThere(shape) ? [] : partsOf(shape, before);
  const next = partsOf(shape, after);
  if (before === undefined && old === undefined) collect(shape, after, written, true);
  else if (old !== undefined && next !== undefined) compareParts(shape, old, next, written, removed);
  else if (!sameJson(before, after)) written.member = true;
}

function compareParts(
  shape: Shape,
  before: readonly Part[],
  after: readonly Part[],
  written: DraftSet,
  removed: DraftSet,
): void {
  const held = new Map(before.map((part) => [part.element, part]));
  for (const part of after) {
    const was = held.get(part.element);
    held.delete(part.element);
    // Most of an object stays as it was, a status beside its spec: what is the same is not taken apart.
    if (was !== undefined && sameJson(was.value, part.value)) continue;
    const child = childOf(written, part.element);
    if (was === undefined && shape.kind === 'keyed') {
      child.member = true;
      collect(part.shape, part.value, child, true);
    } else compare(part.shape, was?.value, part.value, child, childOf(removed, part.element));
  }
  for (const part of held.values()) {
    const child = childOf(removed, part.element);
    if (shape.kind === 'keyed') child.member = true;
    collect(part.shape, part.value, child, true);
  }
}

/** What `config` names comes from it, the rest from `live`. */
export function mergeValues(shape: Shape, live: unknown, config: unknown): unknown {
  if (config === undefined) return copyJson(live);
  if (live === undefined) return copyJson(config);
  if (shape.kind === 'struct' || shape.kind === 'map') {
    if (!isMembers(live) || !isMembers(config)) return copyJson(config);
    const result: Members = {};
    for (const [name, value] of Object.entries(live)) setOwn(result, name, copyJson(value));
    for (const [name, value] of Object.entries(config)) {
      const member = shape.kind === 'map' ? shape.item : fieldShape(shape.model, name);
      setOwn(result, name, mergeValues(member, getOwn(live, name), value));
    }
    return result;
  }
  if (shape.kind === 'leaf' || !Array.isArray(live) || !Array.isArray(config)) return copyJson(config);
  if (shape.kind === 'set') {
    const held = new Set(elementsOf(shape, live));
    const wanted = elementsOf(shape, config);
    return [...live, ...config.filter((_, index) => !held.has(wanted[index] ?? ''))].map(copyJson);
  }
  return mergeKeyed(shape.keys, shape.item, live, config);
}

const elementsOf = (shape: Shape, list: readonly unknown[]): string[] =>
  (partsOf(shape, list) ?? []).map(({ element }) => element);

/** Items keep their places; those that are new come where the configuration has them after its known ones. */
function mergeKeyed(
  keys: readonly string[],
  item: Shape,
  live: readonly unknown[],
  config: readonly unknown[],
): unknown[] {
  const wanted = new Map(config.map((value, index) => [keyElement(keys, value) ?? `i:${index}`, value]));
  const result: unknown[] = [];
  for (const held of live) {
    const element = keyElement(keys, held) ?? '';
    result.push(mergeValues(item, held, wanted.get(element)));
    wanted.delete(element);
  }
  for (const value of wanted.values()) result.push(copyJson(value));
  return reorder(keys, result, config);
}

/** The items that the configuration names stand in its order, in the places that they hold together. */
function reorder(keys: readonly string[], items: unknown[], config: readonly unknown[]): unknown[] {
  const order = new Map(config.map((value, index) => [keyElement(keys, value), index]));
  const rank = (value: unknown) => order.get(keyElement(keys, value)) ?? -1;
  const named = items
    .filter((value) => rank(value) >= 0)
    .sort((a, b) => rank(a) - rank(b))
    .values();
  return items.map((value) => (rank(value) >= 0 ? named.next().value : value));
}

/**
 * The value without the paths of `gone`. A path that holds others goes whole, except for what `kept` has below it.
 * What becomes empty by that goes too.
 */
export function removePaths(shape: Shape, value: unknown, gone: FieldSet, kept: FieldSet): unknown {
  const parts = partsOf(shape, value);
  if (parts === undefined) return value;
  const left = parts.flatMap((part) => {
    const lost = gone.children.get(part.element);
    const owned = kept.children.get(part.element);
    if (lost === undefined) return [part];
    if (lost.member && owned === undefined) return [];
    const rest = removePaths(part.shape, part.value, lost, owned ?? newSet());
    return rest === undefined ? [] : [{ ...part, value: rest }];
  });
  if (left.length === 0 && parts.length > 0) return undefined;
  if (shape.kind === 'keyed' || shape.kind === 'set') return left.map((part) => part.value);
  const result: Members = {};
  for (const part of left) setOwn(result, part.element.slice(2), part.value);
  return result;
}
