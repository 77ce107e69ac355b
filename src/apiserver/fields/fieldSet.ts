// Sets of field paths, as managedFields keeps them: a tree whose nodes are path elements. Pure.
// Guarantees: decode(encode(set)) is the same set; operations never change their arguments.
import { isMembers, type Members, setOwn } from '../../api/ownKeys.js';

/** Elements as in FieldsV1: `f:name` of a member, `k:{...}` of a keyed list's item, `v:...` of a set's item. */
export interface FieldSet {
  /** The path that ends here belongs to the set. */
  readonly member: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
}

/** While it is being built. */
export interface DraftSet {
  member: boolean;
  children: Map<string, DraftSet>;
}

export const EMPTY: FieldSet = { member: false, children: new Map() };
/** A path that ends: one for all of them, since most of a large set are such. */
const LEAF: DraftSet = { member: true, children: new Map() };
const MAX_DEPTH = 200;

export function newSet(): DraftSet {
  return { member: false, children: new Map() };
}

export function childOf(set: DraftSet, element: string): DraftSet {
  const known = set.children.get(element);
  if (known !== undefined && known !== LEAF) return known;
  const child = { member: known === LEAF, children: new Map() };
  set.children.set(element, child);
  return child;
}

/** The path of that element belongs to the set. */
export function addLeaf(set: DraftSet, element: string): void {
  const known = set.children.get(element);
  if (known === undefined) set.children.set(element, LEAF);
  else if (known !== LEAF) known.member = true;
}

export function isEmptySet({ member, children }: FieldSet): boolean {
  if (member) return false;
  for (const child of children.values()) if (!isEmptySet(child)) return false;
  return true;
}

/** Without branches that lead to no path: on the wire such a branch would be a path itself. */
export function trimmed(set: FieldSet): FieldSet {
  return pruned(set, set.member, (_, child) => (child.children.size === 0 ? child : trimmed(child)));
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptySet(b)) return a;
  if (isEmptySet(a)) return b;
  const children = new Map(a.children);
  for (const [element, child] of b.children) {
    const mine = children.get(element);
    children.set(element, mine === undefined ? child : union(mine, child));
  }
  return { member: a.member || b.member, children };
}

/** The paths of `a` that `b` does not have. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (inA, inB) => inA && !inB, true);
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (inA, inB) => inA && inB, false);
}

/** The paths of `a` that are not at or below a path of `b`. */
export function without(a: FieldSet, b: FieldSet): FieldSet {
  if (b.member) return EMPTY;
  return pruned(a, a.member, (element, child) => {
    const other = b.children.get(element);
    return other === undefined ? child : without(child, other);
  });
}

function combine(
  a: FieldSet,
  b: FieldSet,
  keep: (inA: boolean, inB: boolean) => boolean,
  keepAlone: boolean,
): FieldSet {
  const member = keep(a.member, b.member);
  if (a.children.size === 0) return member ? LEAF : EMPTY;
  return pruned(a, member, (element, child) => {
    const other = b.children.get(element);
    if (other !== undefined) return combine(child, other, keep, keepAlone);
    return keepAlone ? child : EMPTY;
  });
}

/** The set with its children mapped, and without those that became empty; the same one when nothing changed. */
function pruned(
  set: FieldSet,
  member: boolean,
  map: (element: string, child: FieldSet) => FieldSet,
): FieldSet {
  const kept = new Map<string, FieldSet>();
  let isSame = member === set.member;
  for (const [element, child] of set.children) {
    const mapped = map(element, child);
    if (isEmptySet(mapped)) isSame = false;
    else {
      if (mapped !== child) isSame = false;
      kept.set(element, mapped);
    }
  }
  return isSame ? set : { member, children: kept };
}

export function sameSet(a: FieldSet, b: FieldSet): boolean {
  return isEmptySet(difference(a, b)) && isEmptySet(difference(b, a));
}

/** Every path of the set, shortest first on each branch. */
export function* pathsOf(set: FieldSet, path: readonly string[] = []): Generator<readonly string[]> {
  if (set.member) yield path;
  for (const element of sorted(set)) yield* pathsOf(set.children.get(element) ?? EMPTY, [...path, element]);
}

/** By code units, which is what sort() itself does. */
const sorted = ({ children }: FieldSet): string[] => [...children.keys()].sort();

/** What stands for a path that ends. */
const NO_FIELDS: Members = Object.freeze({});

/** FieldsV1: an empty object is a path that ends; a path that also goes on says so with ".". */
export function encodeSet(set: FieldSet): Members {
  const fields: Members = {};
  if (set.member && set.children.size > 0) fields['.'] = {};
  for (const element of sorted(set)) {
    const child = set.children.get(element) ?? EMPTY;
    if (child === LEAF) fields[element] = NO_FIELDS;
    else if (!isEmptySet(child)) setOwn(fields, element, encodeSet(child));
  }
  return fields;
}

/** Undefined when it is not FieldsV1. */
export function decodeSet(fields: unknown, depth = 0): FieldSet | undefined {
  if (!isMembers(fields) || depth > MAX_DEPTH) return undefined;
  const elements = Object.keys(fields);
  if (depth > 0 && elements.length === 0) return LEAF;
  const children = new Map<string, FieldSet>();
  for (const element of elements) {
    if (element === '.') continue;
    if (!/^[fkvi]:/.test(element)) return undefined;
    const child = decodeSet(fields[element], depth + 1);
    if (child === undefined) return undefined;
    children.set(element, child);
  }
  // The whole object is no field: an empty FieldsV1 is the empty set.
  const member = depth > 0 && (elements.length === 0 || Object.hasOwn(fields, '.'));
  return { member, children };
}

/** `.spec.containers[name="c"].image`, as conflicts name it. */
export function pathText(path: readonly string[]): string {
  return path.map(elementText).join('');
}

function elementText(element: string): string {
  const text = element.slice(2);
  if (element.startsWith('f:')) return `.${text}`;
  if (element.startsWith('v:')) return `[=${text}]`;
  if (element.startsWith('i:')) return `[${text}]`;
  return `[${text.slice(1, -1).replaceAll(/"([^"\\]*)":/g, '$1=')}]`;
}
