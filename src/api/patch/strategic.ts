// Strategic merge patch: a merge patch that knows which lists are keyed, and takes directives ($patch and others). Pure.
// Guarantees: neither argument is changed, though the result may share values with both; directives never end up in the result.
import { schemas } from '../gen/schemas.js';
import { type MergeRule, mergeRule } from '../mergedLists.js';
import { getOwn, isMembers, type Members, setOwn } from '../ownKeys.js';
import { type ApiError, statusError } from '../status.js';
import { orderMerged } from './order.js';

const DELETE_FROM = '$deleteFromPrimitiveList/';
const ELEMENT_ORDER = '$setElementOrder/';
const RETAIN = '$retainKeys';
const DIRECTIVE = '$patch';

/** Throws BadRequest for directives that are none and for elements without their merge key. */
export function applyStrategicPatch(model: string, document: Members, patch: Members): Members {
  return mergeObject(model, document, patch);
}

/** `type` is the field's code in the schemas; undefined where they say nothing. */
type Type = string | undefined;

function mergeObject(type: Type, original: Members, patch: Members): Members {
  switch (patch[DIRECTIVE]) {
    case undefined:
    case 'merge':
      break;
    case 'replace':
      return mergeObject(type, {}, withoutDirective(patch));
    case 'delete':
      return {};
    default:
      throw refusal(`unknown patch type found: ${String(patch[DIRECTIVE])}`);
  }
  const result: Members = { ...original };
  const retained = retainedKeys(patch);
  if (retained !== undefined)
    for (const key of Object.keys(result)) if (!retained.has(key)) delete result[key];
  for (const key of touchedKeys(patch)) {
    if (getOwn(patch, key) === null) delete result[key];
    else mergeMember(type, result, patch, key);
  }
  return result;
}

/** The members that a patch names, be it only by a directive about them. */
function touchedKeys(patch: Members): Iterable<string> {
  const named = Object.keys(patch);
  if (!named.some(isDirective)) return named;
  const keys = named
    .filter((key) => key !== DIRECTIVE && key !== RETAIN)
    .map((key) => {
      const prefix = [DELETE_FROM, ELEMENT_ORDER].find((some) => key.startsWith(some));
      return prefix === undefined ? key : key.slice(prefix.length);
    });
  return new Set(keys);
}

const isDirective = (key: string) => key.startsWith('$');

function retainedKeys(patch: Members): Set<unknown> | undefined {
  const keys = patch[RETAIN];
  if (keys === undefined) return undefined;
  const retained = new Set<unknown>(Array.isArray(keys) ? keys : []);
  if (
    !Array.isArray(keys) ||
    ![...touchedKeys(patch)].every((key) => patch[key] === null || retained.has(key))
  )
    throw refusal('patch format for retainKeys is not correct: it must list every key that the patch sets');
  return retained;
}

function mergeMember(type: Type, result: Members, patch: Members, key: string): void {
  const current = getOwn(result, key);
  const value = getOwn(patch, key);
  const mayBeList = value === undefined || Array.isArray(value);
  const removed = mayBeList ? listOf(patch, `${DELETE_FROM}${key}`) : undefined;
  const wantedOrder = mayBeList ? listOf(patch, `${ELEMENT_ORDER}${key}`) : undefined;
  const rule = mayBeList ? mergeRule(type, key) : undefined;
  const isList = Array.isArray(value) || removed !== undefined || wantedOrder !== undefined;
  if (isList && (value === undefined || Array.isArray(value))) {
    const before = Array.isArray(current) ? current : [];
    const gone = new Set(removed);
    const kept = before.filter((item) => !gone.has(item));
    // Directives alone never empty a list: a client may order what we replace whole.
    if (value === undefined && (rule === undefined || current === undefined)) {
      if (current !== undefined) setOwn(result, key, kept);
      return;
    }
    const merged = mergeList({ type: memberType(type, key), rule, before: kept, patch: value, wantedOrder });
    setOwn(result, key, merged);
  } else if (isMembers(value)) {
    const base = isMembers(current) ? current : {};
    setOwn(result, key, mergeObject(memberType(type, key), base, value));
  } else setOwn(result, key, value);
}

interface ListMerge {
  /** Of the elements. */
  readonly type: Type;
  readonly rule: MergeRule | undefined;
  readonly before: readonly unknown[];
  /** Absent when only directives speak of the list. */
  readonly patch: readonly unknown[] | undefined;
  readonly wantedOrder: readonly unknown[] | undefined;
}

function mergeList({ type, rule, before, patch = [], wantedOrder }: ListMerge): unknown[] {
  if (rule === undefined) return patch.map((item) => withoutDirectives(type, item));
  if (rule.key === undefined) {
    const items = [...new Set([...before, ...patch])];
    return orderMerged({ items, wanted: wantedOrder ?? patch, before, identify: (item) => item });
  }
  const { key } = rule;
  const elements = patch.map((item) => elementOf(item, key));
  // The new list is taken as it is, with keys that repeat: the two addresses of a node of both families.
  if (elements.some((element) => element[DIRECTIVE] === 'replace'))
    return elements
      .filter((element) => element[DIRECTIVE] === undefined)
      .map((element) => withoutDirectives(type, element));
  const identify = (item: unknown) => (isMembers(item) ? item[key] : undefined);
  const items = [...before];
  const deleted = new Set<unknown>();
  // Keys may repeat (a service's port 53 for TCP and UDP): the first is merged, the others stay.
  const first = new Map(items.map((item, index): [unknown, number] => [identify(item), index]).reverse());
  for (const element of elements) {
    const identity = element[key];
    if (element[DIRECTIVE] === 'delete') {
      deleted.add(identity);
      continue;
    }
    const at = first.get(identity) ?? items.length;
    const current = items[at];
    items[at] = mergeObject(type, isMembers(current) ? current : {}, element);
    first.set(identity, at);
  }
  return orderMerged({
    items: items.filter((item) => !deleted.has(identify(item))),
    wanted: (wantedOrder ?? elements).map(identify),
    before: before.map(identify),
    identify,
  });
}

function elementOf(item: unknown, key: string): Members {
  if (!isMembers(item)) throw refusal(`expected a map with merge key ${key} in the list of the patch`);
  // `- $patch: replace` alone says something of the whole list.
  if (item[key] === undefined && item[DIRECTIVE] !== 'replace')
    throw refusal(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
  return item;
}

function withoutDirective(patch: Members): Members {
  const { [DIRECTIVE]: _, ...rest } = patch;
  return rest;
}

function withoutDirectives(type: Type, item: unknown): unknown {
  return isMembers(item) ? mergeObject(type, {}, item) : item;
}

function listOf(patch: Members, directive: string): readonly unknown[] | undefined {
  const list = getOwn(patch, directive);
  if (list === undefined || Array.isArray(list)) return list;
  throw refusal(`${directive} must be a list`);
}

/** The type of a member's elements if it is a list, of its values if it is a map, else its own. */
function memberType(type: Type, key: string): Type {
  if (type === undefined) return undefined;
  if (type.startsWith('{}')) return elementType(type);
  const model = getOwn(schemas, type);
  const code = getOwn(model, key)?.replace(/^!/, '');
  return code?.startsWith('[]') ? elementType(code) : code;
}

const elementType = (code: string) => code.slice(2);

const refusal = (why: string): ApiError => statusError('BadRequest', why);
