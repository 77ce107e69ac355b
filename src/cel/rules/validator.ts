// Runs the rules of a schema on an object: at every value that has some, with the value that was there before.
// Guarantees: within one budget for the whole object, after which nothing more runs and that is said; a value that did not
// change keeps faults that it had; rules about changes run only where there was something before.
import {
  type Cause,
  duplicate,
  forbiddenField,
  invalidValue,
  invalidWhole,
  required,
} from '../../api/causes.js';
import type { V1ValidationRule } from '../../api/gen/types.js';
import { isMembers, type Members, sameJson } from '../../api/ownKeys.js';
import { type JsonSchema, subSchema } from '../../api/structural/schema.js';
import { spendWork } from '../../api/workLimit.js';
import { CelError } from '../error.js';
import { fromJson } from '../json.js';
import { Budget } from '../program.js';
import { typeOfSchema } from '../schemaType.js';
import type { CelType } from '../types.js';
import { OptionalValue, type Value } from '../values.js';
import { type CompiledRule, compileRule, isCompiled, OLD_SELF, SELF } from './rule.js';

const CALL_LIMIT = 1_000_000;
const OBJECT_BUDGET = 10_000_000;
const MAX_MESSAGE_BYTES = 5 * 1024;
/** Comparing a value with the one before: of some thousands of fields. */
const COMPARE = 5000;

interface Validator {
  /** `old` is undefined where there was nothing. */
  evaluate(value: unknown, old: unknown, path: string): readonly Cause[];
}

/** Undefined when neither the schema nor anything below it has rules. */
export function makeValidator(schema: JsonSchema): Validator | undefined {
  const node = compileNode(schema, true);
  if (node === undefined) return undefined;
  return {
    evaluate(value, old, path) {
      const run = new Run();
      run.node(node, { value, old, path, isUnchanged: () => false });
      return run.causes;
    },
  };
}

interface Node {
  /** A type and rules, made when they are first needed: a definition may have thousands. */
  readonly own: Rules | undefined;
  readonly isWhole: boolean;
  readonly allOf: readonly Rules[];
  readonly properties: ReadonlyMap<string, Node>;
  readonly additional: Node | undefined;
  readonly items: Node | undefined;
  /** The fields that tell items of a list apart. */
  readonly keys: readonly string[] | undefined;
}

/** The rules of one schema about values of another: inside allOf they see the type of the value that they are about. */
class Rules {
  readonly #sources: readonly V1ValidationRule[];
  readonly #about: JsonSchema;
  readonly #isRoot: boolean;

  readonly #compiled: (CompiledRule | undefined)[] = [];
  readonly count: number;

  constructor(sources: readonly V1ValidationRule[], about: JsonSchema, isRoot: boolean) {
    this.#sources = sources;
    this.#about = about;
    this.#isRoot = isRoot;

    this.count = sources.length;
  }

  /** As the schema names it; empty where it does not. */
  get typeName(): string {
    return this.#about.type ?? '';
  }

  /** Undefined where expressions see nothing. */
  get type(): CelType | undefined {
    return typeOfSchema(this.#about, this.#isRoot)?.type;
  }

  /** Undefined for one that cannot be compiled. */
  at(index: number, type: CelType): CompiledRule | undefined {
    if (index in this.#compiled) return this.#compiled[index];
    const rule = compileRule(this.#sources[index] as V1ValidationRule, type);
    this.#compiled[index] = isCompiled(rule) ? rule : undefined;
    return this.#compiled[index];
  }
}

function compileNode(schema: JsonSchema, isRoot: boolean): Node | undefined {
  const inner = (one: JsonSchema | undefined) =>
    one && compileNode(one, one['x-kubernetes-embedded-resource'] === true);
  const properties = new Map(
    Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      const node = inner(property);
      return node === undefined ? [] : [[name, node] as const];
    }),
  );
  const additional = inner(subSchema(schema.additionalProperties));
  const items = inner(subSchema(schema.items));
  const own = rulesOf(schema, schema, isRoot);
  const allOf = (schema.allOf ?? []).flatMap((one) => rulesOf(one, schema, isRoot) ?? []);
  if (!own && properties.size + allOf.length === 0 && additional === undefined && items === undefined)
    return undefined;
  const isKeyed = schema['x-kubernetes-list-type'] === 'map';
  return {
    own,
    isWhole: schema.type === 'object' || schema.type === 'array',
    allOf,
    properties,
    additional,
    items,
    keys: isKeyed ? (schema['x-kubernetes-list-map-keys'] ?? []) : undefined,
  };
}

function rulesOf(schema: JsonSchema, about: JsonSchema, isRoot: boolean): Rules | undefined {
  const rules = schema['x-kubernetes-validations'] ?? [];
  return rules.length === 0 ? undefined : new Rules(rules, about, isRoot);
}

function isSame(value: unknown, old: unknown): boolean {
  spendWork(COMPARE);
  return sameJson(value, old);
}

interface RulePosition {
  readonly value: unknown;
  readonly old: unknown;
  readonly path: string;
  /** Whether the nearest value above that can be told apart is as it was. */
  readonly isUnchanged: () => boolean;
}

/** What a rule is about, and how that is told. */
interface Subject {
  readonly path: string;
  /** The path, or the field below it that the rule names. */
  readonly field: string;
  readonly type: string;
  /** Undefined for what is too large to be shown. */
  readonly shown: unknown;
}

class Run {
  readonly causes: Cause[] = [];
  #left = OBJECT_BUDGET;
  #isOver = false;

  node(node: Node, place: RulePosition): void {
    const { value, old } = place;
    if (this.#isOver || value === null || value === undefined) return;
    const isUnchanged = old === undefined ? place.isUnchanged : once(() => isSame(value, old));
    spendWork(2);
    if (node.own !== undefined) this.#rules(node.own, node.isWhole, { ...place, isUnchanged });
    for (const also of node.allOf) this.#rules(also, node.isWhole, place);
    if (Array.isArray(value)) this.#items(node, value, { ...place, isUnchanged });
    else if (isMembers(value)) this.#members(node, value, { ...place, isUnchanged });
  }

  #members(node: Node, value: Members, { old, path, isUnchanged }: RulePosition): void {
    if (node.properties.size === 0 && node.additional === undefined) return;
    const before = isMembers(old) ? old : {};
    for (const name of Object.keys(value)) {
      const property = node.properties.get(name);
      const inner = property ?? node.additional;
      if (inner === undefined) continue;
      const own = Object.hasOwn(before, name) ? before[name] : undefined;
      const at = property === undefined ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
      this.node(inner, { value: value[name], old: own, path: at, isUnchanged });
    }
  }

  #items({ items, keys }: Node, value: readonly unknown[], { old, path, isUnchanged }: RulePosition): void {
    if (items === undefined) return;
    const before = keys === undefined || !Array.isArray(old) ? undefined : itemsByKey(old, keys);
    for (const [index, item] of value.entries()) {
      const own = before?.get(keyOf(item, keys ?? []));
      this.node(items, { value: item, old: own, path: `${path}[${index}]`, isUnchanged });
    }
  }

  #rules(rules: Rules, isWhole: boolean, { value, old, path, isUnchanged }: RulePosition): void {
    const { type } = rules;
    if (type === undefined) return;
    const self = once(() => fromJson(value, type));
    const hadOld = old !== undefined && old !== null;
    const oldSelf = once(() => (hadOld ? fromJson(old, type) : undefined));
    const shown = isWhole ? undefined : value;
    const alone = once(() => variablesOf(self(), { old: undefined, isOptional: false }));
    for (let index = 0; index < rules.count; index += 1) {
      if (this.#isOver) return;
      const compiled = rules.at(index, type);
      if (compiled === undefined) continue;
      const isOptional = compiled.rule.optionalOldSelf === true;
      if (compiled.usesOldSelf && !hadOld && !isOptional) continue;
      const variables =
        compiled.usesOldSelf || isOptional
          ? () => variablesOf(self(), { old: compiled.usesOldSelf ? oldSelf() : undefined, isOptional })
          : alone;
      const subject = { path, field: fieldPath(path, compiled), type: rules.typeName, shown };
      const cause = this.#judge(compiled, variables, subject);
      if (cause !== undefined && (compiled.usesOldSelf || !isUnchanged())) this.causes.push(cause);
    }
  }

  /** Undefined when the rule holds, or when it could not be run: that is told at once, also of what was so before. */
  #judge(
    compiled: CompiledRule,
    variables: () => ReadonlyMap<string, Value>,
    { path, field, type, shown }: Subject,
  ): Cause | undefined {
    const budget = new Budget(Math.min(CALL_LIMIT, this.#left));
    try {
      const holds = compiled.condition.run(variables(), budget);
      this.#left -= budget.used;
      if (holds === true) return undefined;
    } catch (error) {
      this.#left -= budget.used;
      this.causes.push(invalidValue(path, type, this.#failure(error, wordsOf(compiled))));
      return undefined;
    }
    const detail = this.#message(compiled, variables());
    if (this.#isOver) return invalidValue(field, type, detail ?? '');
    return refusal(compiled, field, { shown, detail: detail ?? defaultMessage(compiled) });
  }

  #failure(error: unknown, words: string): string {
    if (!(error instanceof CelError)) throw error;
    if (error.code === 'COST') {
      this.#isOver = true;
      return this.#left <= 0
        ? 'validation failed due to running out of cost budget, no further validation rules will be run'
        : `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${words}`;
    }
    if (error.code === 'NO_OVERLOAD')
      return `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${words}`;
    return `${error.message} evaluating rule: ${words}`;
  }

  /** Undefined where the rule's own message has to do; what ended the rules where the message costs too much. */
  #message({ message, rule }: CompiledRule, variables: ReadonlyMap<string, Value>): string | undefined {
    if (message === undefined) return undefined;
    const budget = new Budget(Math.min(CALL_LIMIT, this.#left));
    try {
      const text = message.run(variables, budget);
      const trimmed = typeof text === 'string' ? text.trim() : '';
      return trimmed === '' || trimmed.length > MAX_MESSAGE_BYTES || trimmed.includes('\n')
        ? undefined
        : trimmed;
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      if (error.code !== 'COST') return undefined;
      this.#isOver = true;
      return budget.used > this.#left
        ? 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run'
        : `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(rule.messageExpression)}`;
    } finally {
      this.#left -= budget.used;
    }
  }
}

function variablesOf(
  self: Value,
  { old, isOptional }: { readonly old: Value | undefined; readonly isOptional: boolean },
): ReadonlyMap<string, Value> {
  const variables = new Map<string, Value>([[SELF, self]]);
  if (isOptional) variables.set(OLD_SELF, new OptionalValue(old));
  else if (old !== undefined) variables.set(OLD_SELF, old);
  return variables;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

const wordsOf = ({ rule }: CompiledRule) => (rule.message ? rule.message.trim() : rule.rule.trim());
const defaultMessage = (compiled: CompiledRule) =>
  compiled.rule.message ? wordsOf(compiled) : `failed rule: ${wordsOf(compiled)}`;

const fieldPath = (path: string, { rule }: CompiledRule) => {
  if (!rule.fieldPath) return path;
  const own = rule.fieldPath.replace(/\['([^']*)'\]/g, '.$1');
  return path === '' ? own.replace(/^\./, '') : `${path}${own}`;
};

function refusal(
  { rule }: CompiledRule,
  path: string,
  { shown, detail }: { readonly shown: unknown; readonly detail: string },
): Cause {
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return forbiddenField(path, detail);
    case 'FieldValueRequired':
      return required(path, detail);
    case 'FieldValueDuplicate':
      return duplicate(path, shown ?? null);
    default:
      return shown === undefined ? invalidWhole(path, detail) : invalidValue(path, shown, detail);
  }
}

const keyOf = (item: unknown, keys: readonly string[]): string =>
  isMembers(item) ? JSON.stringify(keys.map((key) => item[key] ?? null)) : '';

const itemsByKey = (items: readonly unknown[], keys: readonly string[]): ReadonlyMap<string, unknown> =>
  new Map(items.map((item) => [keyOf(item, keys), item]));
