// Instances held against the values that a schema allows, in Kubernetes' words. Pure.
// Guarantees: linear in the instance but for the junctors, whose schemas the definition's author wrote; what an update left
// as it was is not told again; a path is made into text only for a fault.
import {
  type Cause,
  invalidType,
  invalidValue,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '../causes.js';
import { getOwn, isMembers, type Members, sameJson } from '../own.js';
import { formatCheck } from './formats.js';
import { sortedJson } from './listKeys.js';
import { compilePattern, type Pattern } from './pattern.js';
import { itemSchema, type JsonSchema, propertiesOf, subSchema } from './schema.js';

/** A schema made ready to be held against values. */
export interface Validator {
  /** `old` is what the value was before an update, and undefined where there is nothing to compare with. */
  validate(value: unknown, old?: unknown): Cause[];
}

export function makeValidator(schema: JsonSchema, prefix = ''): Validator {
  const node = nodeOf(schema);
  return {
    validate(value, old) {
      const run: Run = { path: prefix === '' ? [] : [prefix], found: [], whole: prefix };
      check(node, value, old === undefined ? NOTHING : old, run);
      return unique(run.found);
    },
  };
}

const NOTHING = Symbol('no old value');

/** Made into a cause only when it is told: most faults of a junctor's schemas are not. */
type Fault = () => Cause;

interface Run {
  readonly path: string[];
  found: Fault[];
  /** Where faults of junctors are told. */
  readonly whole: string;
}

interface Node {
  /** Empty when any will do. */
  readonly types: readonly string[];
  readonly nullable: boolean;
  readonly format: string;
  readonly isFormat: ((text: string) => boolean) | undefined;
  readonly pattern: { readonly source: string; readonly compiled: Pattern } | undefined;
  readonly schema: JsonSchema;
  readonly allowed: ReadonlySet<string> | undefined;
  readonly properties: ReadonlyMap<string, Node>;
  readonly additional: Node | undefined;
  readonly isClosed: boolean;
  readonly items: Node | undefined;
  readonly keys: readonly string[] | undefined;
  readonly isAtomicMap: boolean;
  readonly allOf: readonly Node[];
  readonly anyOf: readonly Node[];
  readonly oneOf: readonly Node[];
  readonly not: Node | undefined;
  readonly hasJunctors: boolean;
}

function nodeOf(schema: JsonSchema): Node {
  const { type = '', format = '', pattern, enum: allowed } = schema;
  const isEither = schema['x-kubernetes-int-or-string'] === true;
  const additional = subSchema(schema.additionalProperties);
  const items = itemSchema(schema);
  const nodes = (list: readonly JsonSchema[] | undefined) => (list ?? []).map(nodeOf);
  const junctors = {
    allOf: nodes(schema.allOf),
    anyOf: nodes(schema.anyOf),
    oneOf: nodes(schema.oneOf),
    not: schema.not === undefined ? undefined : nodeOf(schema.not),
  };
  const isText = (type === '' || type === 'string') && format !== '';
  return {
    schema,
    types: isEither ? ['integer', 'string'] : type === '' ? [] : [type],
    nullable: schema.nullable === true,
    format,
    isFormat: isText && !isEither ? formatCheck(format) : undefined,
    pattern:
      pattern === undefined || pattern === ''
        ? undefined
        : { source: pattern, compiled: compilePattern(pattern) },
    allowed: allowed === undefined ? undefined : new Set(allowed.map(sortedJson)),
    properties: new Map(propertiesOf(schema).map(([name, part]) => [name, nodeOf(part)])),
    additional: additional === undefined ? undefined : nodeOf(additional),
    isClosed: schema.additionalProperties === false,
    items: items === undefined ? undefined : nodeOf(items),
    keys: schema['x-kubernetes-list-type'] === 'map' ? schema['x-kubernetes-list-map-keys'] : undefined,
    isAtomicMap: schema['x-kubernetes-map-type'] === 'atomic',
    ...junctors,
    hasJunctors:
      junctors.allOf.length + junctors.anyOf.length + junctors.oneOf.length > 0 || junctors.not !== undefined,
  };
}

/** Answers how much of the schema fitted: of several that do not fit, the best is told. */
function check(node: Node, value: unknown, old: unknown, run: Run): number {
  const before = run.found.length;
  let fitting = checkType(node, value, run) ? 1 : 0;
  if (value === null) checkEnum(node, value, run);
  else {
    if (node.hasJunctors) fitting += checkJunctors(node, value, old, run);
    if (typeof value === 'string') checkText(node, value, run);
    else if (typeof value === 'number') checkNumber(node, value, run);
    else if (Array.isArray(value)) fitting += checkItems(node, value, old, run);
    checkEnum(node, value, run);
    if (isMembers(value)) fitting += checkMembers(node, value, old, run);
  }
  // An error that was there before is not the writer's.
  if (run.found.length > before && old !== NOTHING && sameJson(old, value)) run.found.length = before;
  return fitting;
}

const pathOf = ({ path }: Run): string => path.join('').replace(/^\./, '');

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function checkType({ types, nullable }: Node, value: unknown, run: Run): boolean {
  if (types.length === 0) return true;
  const found = typeOf(value);
  if (found === 'null' ? nullable : types.includes(found)) return true;
  if (found === 'integer' && types.includes('number')) return true;
  const path = pathOf(run);
  const why = `${path} in body must be of type ${types.join(',')}: ${JSON.stringify(found)}`;
  run.found.push(() => invalidType(path, found, why));
  return false;
}

function checkText(node: Node, text: string, run: Run): void {
  const { minLength, maxLength } = node.schema;
  if (maxLength !== undefined || minLength !== undefined) {
    const length = maxLength !== undefined && text.length > maxLength ? runes(text) : text.length;
    if (maxLength !== undefined && length > maxLength) {
      const path = pathOf(run);
      run.found.push(() => tooLong(path, maxLength));
    }
    if (minLength !== undefined && runes(text) < minLength)
      fault(run, text, `should be at least ${minLength} chars long`);
  }
  if (node.pattern !== undefined && !node.pattern.compiled.test(text))
    fault(run, text, `should match '${node.pattern.source}'`);
  if (node.isFormat !== undefined && !node.isFormat(text)) {
    const path = pathOf(run);
    const why = `${path} in body must be of type ${node.format}: ${JSON.stringify(text)}`;
    run.found.push(() => invalidType(path, text, why));
  }
}

/** As Go counts characters. */
function runes(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function fault(run: Run, value: unknown, why: string): void {
  const path = pathOf(run);
  run.found.push(() => invalidValue(path, value, `${path} in body ${why}`));
}

const INT32 = 2 ** 31;

function checkNumber({ schema, types }: Node, value: number, run: Run): void {
  const { maximum, minimum, multipleOf, format } = schema;
  if (format === 'int32' && types.includes('integer') && (value >= INT32 || value < -INT32)) {
    const path = pathOf(run);
    const why = `Checked value must be of type integer with format int32 in ${path}`;
    run.found.push(() => invalidValue('<nil>', '', why));
  }
  if (maximum !== undefined && (schema.exclusiveMaximum === true ? value >= maximum : value > maximum))
    fault(
      run,
      value,
      `should be less than ${schema.exclusiveMaximum === true ? '' : 'or equal to '}${maximum}`,
    );
  if (minimum !== undefined && (schema.exclusiveMinimum === true ? value <= minimum : value < minimum))
    fault(
      run,
      value,
      `should be greater than ${schema.exclusiveMinimum === true ? '' : 'or equal to '}${minimum}`,
    );
  if (multipleOf !== undefined && multipleOf > 0 && !Number.isInteger(value / multipleOf))
    fault(run, value, `should be a multiple of ${multipleOf}`);
}

function checkEnum({ allowed, schema }: Node, value: unknown, run: Run): void {
  if (allowed === undefined || allowed.has(sortedJson(value))) return;
  if (value === null && schema.nullable === true) return;
  const values = (schema.enum ?? []).map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  const path = pathOf(run);
  run.found.push(() => notSupported(path, value, values));
}

function checkItems(node: Node, items: readonly unknown[], old: unknown, run: Run): number {
  const { minItems, maxItems } = node.schema;
  let fitting = 0;
  if (node.items !== undefined) {
    const before = oldItems(node, old);
    for (const [index, item] of items.entries()) {
      run.path.push(`[${index}]`);
      fitting += check(node.items, item, before(item), run);
      run.path.pop();
    }
  }
  if (minItems !== undefined && items.length < minItems)
    fault(run, items.length, `should have at least ${minItems} items`);
  if (maxItems !== undefined && items.length > maxItems) many(run, items.length, maxItems);
  return fitting;
}

/** Items are the same ones as before only where they have keys. */
function oldItems({ keys }: Node, old: unknown): (item: unknown) => unknown {
  if (keys === undefined || !Array.isArray(old)) return () => NOTHING;
  const keyOf = (item: unknown) =>
    sortedJson(isMembers(item) ? keys.map((key) => getOwn(item, key) ?? null) : item);
  let held: Map<string, unknown> | undefined;
  return (item) => {
    held ??= new Map(old.map((one: unknown) => [keyOf(one), one]));
    const key = keyOf(item);
    return held.has(key) ? held.get(key) : NOTHING;
  };
}

function checkMembers(node: Node, members: Members, old: unknown, run: Run): number {
  const { minProperties, maxProperties, required: names } = node.schema;
  const before = isMembers(old) && !node.isAtomicMap ? old : undefined;
  let fitting = 0;
  if (minProperties !== undefined || maxProperties !== undefined) {
    const count = Object.keys(members).length;
    if (minProperties !== undefined && count < minProperties)
      fault(run, count, `should have at least ${minProperties} properties`);
    if (maxProperties !== undefined && count > maxProperties) many(run, count, maxProperties);
  }
  const { properties, additional, isClosed } = node;
  if (properties.size > 0 || additional !== undefined || isClosed)
    for (const name of Object.keys(members)) {
      const part = properties.get(name) ?? additional;
      if (part === undefined) {
        if (isClosed) closed(run, name);
        continue;
      }
      run.path.push(`.${name}`);
      const was = before !== undefined && Object.hasOwn(before, name) ? before[name] : NOTHING;
      fitting += check(part, members[name], was, run);
      run.path.pop();
    }
  for (const name of names ?? []) {
    if (Object.hasOwn(members, name)) continue;
    const path = `${pathOf(run)}.${name}`.replace(/^\./, '');
    run.found.push(() => required(path));
  }
  return fitting;
}

function many(run: Run, count: number, most: number): void {
  const path = pathOf(run);
  run.found.push(() => tooMany(path, count, most));
}

function closed(run: Run, name: string): void {
  const path = pathOf(run);
  run.found.push(() => invalidValue(path, '', `${path}.${name} in body is a forbidden property`));
}

function checkJunctors(node: Node, value: unknown, old: unknown, run: Run): number {
  const { allOf, anyOf, oneOf, not } = node;
  let fitting = 0;
  if (anyOf.length > 0) {
    const { valid, best, fit } = alternatives(anyOf, value, old, run, true);
    fitting += fit;
    if (valid === 0) {
      whole(run, 'must validate at least one schema (anyOf)');
      run.found.push(...best);
    }
  }
  if (oneOf.length > 0) {
    const { valid, best, fit } = alternatives(oneOf, value, old, run, false);
    fitting += fit;
    if (valid !== 1) {
      const found = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`;
      whole(run, `must validate one and only one schema (oneOf). ${found}`);
      if (valid === 0) run.found.push(...best);
    }
  }
  let failed = 0;
  for (const part of allOf) {
    const before = run.found.length;
    fitting += check(part, value, old, run);
    if (run.found.length > before) failed += 1;
  }
  if (failed > 0)
    whole(run, `must validate all the schemas (allOf)${failed === allOf.length ? '. None validated' : ''}`);
  if (not !== undefined && apart(not, value, old, run).found.length === 0)
    whole(run, 'must not validate the schema (not)');
  return fitting;
}

/** A fault of the whole value: Kubernetes tells it without a field. */
function whole(run: Run, why: string): void {
  const sentence = `${JSON.stringify(pathOf(run))} ${why}`;
  run.found.push(() => invalidValue(run.whole === '' ? '<nil>' : run.whole, '', sentence));
}

function apart(node: Node, value: unknown, old: unknown, run: Run) {
  const other: Run = { ...run, found: [] };
  const fit = check(node, value, old, other);
  return { found: other.found, fit };
}

function alternatives(
  nodes: readonly Node[],
  value: unknown,
  old: unknown,
  run: Run,
  isFirstEnough: boolean,
) {
  let valid = 0;
  let best: readonly Fault[] = [];
  let most = -1;
  for (const node of nodes) {
    const { found, fit } = apart(node, value, old, run);
    if (found.length === 0) {
      valid += 1;
      most = Math.max(most, fit);
      if (isFirstEnough) break;
    } else if (fit > most) {
      most = fit;
      best = found;
    }
  }
  return { valid, best, fit: Math.max(0, most) };
}

/** The same fault may be found by several of a junctor's schemas. */
function unique(found: readonly Fault[]): Cause[] {
  const told = new Map<string, Cause>();
  for (const make of found) {
    const cause = make();
    told.set(`${cause.field} ${cause.message}`, cause);
  }
  return [...told.values()];
}
