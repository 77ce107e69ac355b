// Validation of instances against a schema, with Kubernetes' messages. Pure.
// Guarantees: linear in the instance but for the junctors, whose schemas the definition's author wrote; what an update left
// as it was is not told again; a path is made into text only for a fault.
import {
  type Cause,
  invalidType,
  invalidValue,
  MAX_CAUSES,
  notInEnum,
  required,
  tooLong,
  tooMany,
} from '../causes.js';
import { getOwn, isMembers, type Members, sameJson } from '../ownKeys.js';
import { spendWork } from '../workLimit.js';
import { formatCheck } from './formats.js';
import { sortedJson } from './listKeys.js';
import { pathText, type Step } from './path.js';
import { matchesPattern } from './pattern.js';
import { itemSchema, type JsonSchema, subSchema } from './schema.js';

/** A schema made ready to be held against values. */
export interface Validator {
  /** `old` is what the value was before an update, and undefined where there is nothing to compare with. */
  validate(value: unknown, old?: unknown): Cause[];
}

export function makeValidator(schema: JsonSchema, prefix = ''): Validator {
  const node = nodeOf(schema);
  return {
    validate(value, old) {
      const run: Run = { path: prefix === '' ? [] : [prefix], found: [], differs: false, whole: prefix };
      check(node, value, old === undefined ? NOTHING : old, run);
      return unique(run.found);
    },
  };
}

/** Comparing a value with the one before: of some thousands of fields. */
const COMPARE = 5000;
const NOTHING = Symbol('no old value');

/** Made into a cause only when it is told: most faults of a junctor's schemas are not. */
type Fault = () => Cause;

interface Run {
  readonly path: Step[];
  found: Fault[];
  /** True when a member of the value that is checked has been found to be another than before: so is the value. */
  differs: boolean;
  /** Where faults of junctors are told. */
  readonly whole: string;
}

/** What is made of each schema, which never changes; parts of it are made when an instance first has something there. */
const nodes = new WeakMap<JsonSchema, Node>();

function nodeOf(schema: JsonSchema): Node {
  const known = nodes.get(schema);
  if (known !== undefined) return known;
  const node = new Node(schema);
  nodes.set(schema, node);
  return node;
}

const partOf = (schema: JsonSchema | undefined) => (schema === undefined ? undefined : nodeOf(schema));

class Node {
  /** Empty when any will do. */
  readonly types: readonly string[];
  readonly nullable: boolean;
  readonly format: string;
  readonly isFormat: ((text: string) => boolean) | undefined;
  readonly pattern: string;
  readonly hasProperties: boolean;
  readonly isClosed: boolean;
  readonly keys: readonly string[] | undefined;
  readonly isAtomicMap: boolean;
  readonly hasJunctors: boolean;
  readonly #properties = new Map<string, Node>();
  readonly #additionalSchema: JsonSchema | undefined;
  readonly #itemSchema: JsonSchema | undefined;
  #additional: Node | undefined;
  #items: Node | undefined;
  #allowed: ReadonlySet<string> | undefined;

  constructor(readonly schema: JsonSchema) {
    const { type = '', format = '', pattern = '', allOf, anyOf, oneOf, not } = schema;
    const isEither = schema['x-kubernetes-int-or-string'] === true;
    const isText = (type === '' || type === 'string') && format !== '';
    const isKeyed = schema['x-kubernetes-list-type'] === 'map';
    this.types = isEither ? ['integer', 'string'] : type === '' ? [] : [type];
    this.nullable = schema.nullable === true;
    this.format = format;
    this.isFormat = isText && !isEither ? formatCheck(format) : undefined;
    this.pattern = pattern;
    this.#additionalSchema = subSchema(schema.additionalProperties);
    this.#itemSchema = itemSchema(schema);
    this.hasProperties = Object.keys(schema.properties ?? {}).length > 0;
    this.isClosed = schema.additionalProperties === false;
    this.keys = isKeyed ? schema['x-kubernetes-list-map-keys'] : undefined;
    this.isAtomicMap = schema['x-kubernetes-map-type'] === 'atomic';
    this.hasJunctors =
      (allOf?.length ?? 0) + (anyOf?.length ?? 0) + (oneOf?.length ?? 0) > 0 || not !== undefined;
  }

  property(name: string): Node | undefined {
    const known = this.#properties.get(name);
    if (known !== undefined) return known;
    const { properties } = this.schema;
    if (properties === undefined || !Object.hasOwn(properties, name)) return undefined;
    const node = partOf(properties[name]);
    if (node !== undefined) this.#properties.set(name, node);
    return node;
  }

  get additional(): Node | undefined {
    this.#additional ??= partOf(this.#additionalSchema);
    return this.#additional;
  }

  get items(): Node | undefined {
    this.#items ??= partOf(this.#itemSchema);
    return this.#items;
  }

  get allowed(): ReadonlySet<string> | undefined {
    const values = this.schema.enum;
    if (values === undefined || this.#allowed !== undefined) return this.#allowed;
    spendWork(values.length * 5);
    this.#allowed = new Set(values.map(sortedJson));
    return this.#allowed;
  }
}

/** Answers how much of the schema fitted: of several that do not fit, the best is told. */
function check(node: Node, value: unknown, old: unknown, run: Run): number {
  spendWork(2);
  const before = run.found.length;
  const differed = run.differs;
  run.differs = false;
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
  if (run.found.length > before && old !== NOTHING && !run.differs) {
    spendWork(COMPARE);
    if (sameJson(old, value)) run.found.length = before;
    else run.differs = true;
  }
  run.differs ||= differed;
  return fitting;
}

/** Nobody reads on beyond these. */
function tell(run: Run, fault: Fault): void {
  if (run.found.length < MAX_CAUSES) run.found.push(fault);
}

const pathOf = ({ path }: Run): string => pathText(path);

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
  tell(run, () => invalidType(path, found, why));
  return false;
}

function checkText(node: Node, text: string, run: Run): void {
  const { minLength, maxLength } = node.schema;
  if (maxLength !== undefined || minLength !== undefined) {
    const length = maxLength !== undefined && text.length > maxLength ? runes(text) : text.length;
    if (maxLength !== undefined && length > maxLength) {
      const path = pathOf(run);
      tell(run, () => tooLong(path, maxLength));
    }
    if (minLength !== undefined && runes(text) < minLength)
      fault(run, text, `should be at least ${minLength} chars long`);
  }
  if (node.pattern !== '' && !matchesPattern(node.pattern, text))
    fault(run, text, `should match '${node.pattern}'`);
  if (node.isFormat !== undefined && !node.isFormat(text)) {
    const path = pathOf(run);
    const why = `${path} in body must be of type ${node.format}: ${JSON.stringify(text)}`;
    tell(run, () => invalidType(path, text, why));
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
  tell(run, () => invalidValue(path, value, `${path} in body ${why}`));
}

const INT32 = 2 ** 31;

function checkNumber({ schema, types }: Node, value: number, run: Run): void {
  const { maximum, minimum, multipleOf, format } = schema;
  if (format === 'int32' && types.includes('integer') && (value >= INT32 || value < -INT32)) {
    const path = pathOf(run);
    const why = `Checked value must be of type integer with format int32 in ${path}`;
    tell(run, () => invalidValue('<nil>', '', why));
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

function checkEnum(node: Node, value: unknown, run: Run): void {
  const { schema } = node;
  if (schema.enum === undefined) return;
  const { allowed } = node;
  if (allowed === undefined || allowed.has(sortedJson(value))) return;
  if (value === null && schema.nullable === true) return;
  spendWork(schema.enum.length * 5);
  const values = schema.enum.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  const path = pathOf(run);
  tell(run, () => notInEnum(path, value, values));
}

function checkItems(node: Node, items: readonly unknown[], old: unknown, run: Run): number {
  const { minItems, maxItems } = node.schema;
  let fitting = 0;
  const inner = node.items;
  if (inner !== undefined) {
    const before = oldItems(node, old);
    const { path } = run;
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index];
      path.push(index);
      fitting += check(inner, item, before === undefined ? NOTHING : before(item), run);
      run.differs = false;
      path.pop();
    }
  }
  if (minItems !== undefined && items.length < minItems)
    fault(run, items.length, `should have at least ${minItems} items`);
  if (maxItems !== undefined && items.length > maxItems) many(run, items.length, maxItems);
  return fitting;
}

/** Items are the same ones as before only where they have keys. */
function oldItems({ keys }: Node, old: unknown): ((item: unknown) => unknown) | undefined {
  if (keys === undefined || !Array.isArray(old)) return undefined;
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
  const { additional, isClosed } = node;
  if (node.hasProperties || additional !== undefined || isClosed)
    for (const name of Object.keys(members)) {
      const part = node.property(name) ?? additional;
      if (part === undefined) {
        if (isClosed) closed(run, name);
        continue;
      }
      run.path.push(name);
      const was = before !== undefined && Object.hasOwn(before, name) ? before[name] : NOTHING;
      fitting += check(part, members[name], was, run);
      run.path.pop();
    }
  spendWork(names?.length ?? 0);
  for (const name of names ?? []) {
    if (Object.hasOwn(members, name)) continue;
    const path = `${pathOf(run)}.${name}`.replace(/^\./, '');
    tell(run, () => required(path));
  }
  return fitting;
}

function many(run: Run, count: number, most: number): void {
  const path = pathOf(run);
  tell(run, () => tooMany(path, count, most));
}

function closed(run: Run, name: string): void {
  const path = pathOf(run);
  tell(run, () => invalidValue(path, '', `${path}.${name} in body is a forbidden property`));
}

function checkJunctors({ schema }: Node, value: unknown, old: unknown, run: Run): number {
  const { allOf = [], anyOf = [], oneOf = [], not } = schema;
  let fitting = 0;
  if (anyOf.length > 0) {
    const { valid, best, fit } = alternatives(anyOf, value, old, run, true);
    fitting += fit;
    if (valid === 0) {
      whole(run, 'must validate at least one schema (anyOf)');
      for (const one of best) tell(run, one);
    }
  }
  if (oneOf.length > 0) {
    const { valid, best, fit } = alternatives(oneOf, value, old, run, false);
    fitting += fit;
    if (valid !== 1) {
      const found = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`;
      whole(run, `must validate one and only one schema (oneOf). ${found}`);
      if (valid === 0) for (const one of best) tell(run, one);
    }
  }
  let failed = 0;
  for (const part of allOf) {
    const before = run.found.length;
    fitting += check(nodeOf(part), value, old, run);
    if (run.found.length > before) failed += 1;
  }
  if (failed > 0)
    whole(run, `must validate all the schemas (allOf)${failed === allOf.length ? '. None validated' : ''}`);
  if (not !== undefined && apart(nodeOf(not), value, old, run).found.length === 0)
    whole(run, 'must not validate the schema (not)');
  return fitting;
}

/** A fault of the whole value: Kubernetes tells it without a field. */
function whole(run: Run, why: string): void {
  const sentence = `${JSON.stringify(pathOf(run))} ${why}`;
  tell(run, () => invalidValue(run.whole === '' ? '<nil>' : run.whole, '', sentence));
}

function apart(node: Node, value: unknown, old: unknown, run: Run) {
  const other: Run = { ...run, found: [], differs: false };
  const fit = check(node, value, old, other);
  return { found: other.found, fit };
}

function alternatives(
  schemas: readonly JsonSchema[],
  value: unknown,
  old: unknown,
  run: Run,
  isFirstEnough: boolean,
) {
  let valid = 0;
  let best: readonly Fault[] = [];
  let most = -1;
  for (const schema of schemas) {
    const { found, fit } = apart(nodeOf(schema), value, old, run);
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
