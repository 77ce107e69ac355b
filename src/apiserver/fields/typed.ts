// Values and the field sets in them: what a value holds, what changed between two, and one merged into another. Pure.
// Guarantees: arguments are never changed, though results may share values with them; lists with keys are compared and merged
// by key, whatever their order.
import type { KubeObject } from '../../api/object.js';
import { getOwn, isMembers, type Members, sameJson, setOwn } from '../../api/ownKeys.js';
import type { Steps } from '../../api/steps.js';
import { addLeaf, childOf, type DraftSet, type FieldSet, isEmptySet, newSet, trimmed } from './fieldSet.js';
import { hasMembers, isAlwaysThere, keyElement, memberOf, type Part, partsOf, type Shape } from './shape.js';

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
  for (const part of parts) collectPart(shape, part, set, containers);
}

function collectPart({ kind }: Shape, { element, shape, value }: Part, set: DraftSet, containers: boolean) {
  if (shape.kind === 'leaf') {
    addLeaf(set, element);
    return;
  }
  const child = childOf(set, element);
  if (kind === 'keyed') child.member = true;
  collect(shape, value, child, containers);
}

export interface Changes {
  /** Added or given another value. */
  readonly written: FieldSet;
  readonly removed: FieldSet;
}

/** Between two objects. Who owns their fields is no field of theirs. */
export function* changesBetween(shape: Shape, before: KubeObject, after: KubeObject): Steps<Changes> {
  const written = newSet();
  const removed = newSet();
  const [old, next] = differing(before, after);
  compare(shape, old, next, written, removed);
  yield;
  return { written: trimmed(written), removed: trimmed(removed) };
}

/** Most of an object stays as it was, a status beside its spec: what is the same is not taken apart. */
function differing(before: KubeObject, after: KubeObject): readonly [KubeObject, KubeObject] {
  const old: Members = { ...before };
  const next: Members = { ...after };
  for (const name of ['spec', 'status', 'data']) {
    const value = getOwn(old, name);
    if (value === undefined || !sameJson(value, getOwn(next, name))) continue;
    old[name] = undefined;
    next[name] = undefined;
  }
  return [withoutEntries(old), withoutEntries(next)];
}

function withoutEntries(object: KubeObject): KubeObject {
  const { metadata } = object;
  if (metadata?.managedFields === undefined) return object;
  return { ...object, metadata: { ...metadata, managedFields: undefined } };
}

function compare(shape: Shape, before: unknown, after: unknown, written: DraftSet, removed: DraftSet): void {
  if (after === undefined) {
    if (before !== undefined) collect(shape, before, removed, true);
    return;
  }
  if (hasMembers(shape) && isMembers(after)) {
    const old = before === undefined && isAlwaysThere(shape) ? {} : before;
    if (isMembers(old)) {
      compareMembers(shape, old, after, written, removed);
      return;
    }
  }
  const old = before === undefined && isAlwaysThere(shape) ? [] : partsOf(shape, before);
  const next = partsOf(shape, after);
  if (before === undefined && old === undefined) collect(shape, after, written, true);
  else if (old !== undefined && next !== undefined) compareParts(shape, old, next, written, removed);
  else if (!sameJson(before, after)) written.member = true;
}

/** As compareParts, without making the parts: a map may have many thousands, and most stay as they were. */
function compareMembers(
  shape: Parameters<typeof memberOf>[0],
  before: Members,
  after: Members,
  written: DraftSet,
  removed: DraftSet,
): void {
  for (const name of Object.keys(after)) {
    const value = after[name];
    const was = getOwn(before, name);
    if (value === undefined || was === value) continue;
    const { element, shape: member } = memberOf(shape, name);
    if (!hasMembers(member) && sameJson(was, value)) continue;
    if (member.kind === 'leaf') addLeaf(written, element);
    else compare(member, was, value, childOf(written, element), childOf(removed, element));
  }
  for (const name of Object.keys(before)) {
    const value = before[name];
    if (value === undefined || getOwn(after, name) !== undefined) continue;
    collectPart(shape, { ...memberOf(shape, name), value }, removed, true);
  }
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
    if (was === undefined) collectPart(shape, part, written, true);
    else {
      const child = childOf(written, part.element);
      compare(part.shape, was.value, part.value, child, childOf(removed, part.element));
    }
  }
  for (const part of held.values()) collectPart(shape, part, removed, true);
}

/** What `config` names comes from it, the rest from `live`. */
export function mergeValues(shape: Shape, live: unknown, config: unknown): unknown {
  if (config === undefined) return live;
  if (live === undefined) return config;
  if (hasMembers(shape)) {
    if (!isMembers(live) || !isMembers(config)) return config;
    const result: Members = { ...live };
    for (const name of Object.keys(config)) {
      const member = memberOf(shape, name).shape;
      setOwn(result, name, mergeValues(member, getOwn(live, name), config[name]));
    }
    return result;
  }
  if (shape.kind === 'leaf' || !Array.isArray(live) || !Array.isArray(config)) return config;
  if (shape.kind === 'set') {
    const held = new Set(elementsOf(shape, live));
    const wanted = elementsOf(shape, config);
    return [...live, ...config.filter((_, index) => !held.has(wanted[index] ?? ''))];
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
  for (const value of wanted.values()) result.push(value);
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
 * The value without the paths of `gone`. A path that holds others goes whole, except for what `kept` has below it; an item
 * of a keyed list goes with all it holds unless `kept` has the item itself, since it cannot be without what tells it apart.
 * What becomes empty by that goes too.
 */
export function removePaths(shape: Shape, value: unknown, gone: FieldSet, kept: FieldSet): unknown {
  const parts = isEmptySet(gone) ? undefined : partsOf(shape, value);
  if (parts === undefined) return value;
  const left = parts.flatMap((part) => {
    const lost = gone.children.get(part.element);
    const owned = kept.children.get(part.element);
    if (lost === undefined) return [part];
    if (lost.member && !(shape.kind === 'keyed' ? owned?.member : owned)) return [];
    const rest = removePaths(part.shape, part.value, withoutKeys(shape, lost), owned ?? newSet());
    return rest === undefined ? [] : [{ ...part, value: rest }];
  });
  if (left.length === 0 && parts.length > 0) return undefined;
  if (shape.kind === 'keyed' || shape.kind === 'set') return left.map((part) => part.value);
  const result: Members = {};
  for (const part of left) setOwn(result, part.element.slice(2), part.value);
  return result;
}

function withoutKeys(shape: Shape, set: FieldSet): FieldSet {
  if (shape.kind !== 'keyed') return set;
  const names = new Set(shape.keys.map((name) => `f:${name}`));
  return { ...set, children: new Map([...set.children].filter(([element]) => !names.has(element))) };
}
