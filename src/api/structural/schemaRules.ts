// The interface for x-kubernetes-validations: rules that a schema carries, written in an expression language. Pure.
// Guarantees: while nothing implements it, a definition with rules is refused, so no rule is ever ignored.
import type { Cause } from '../causes.js';
import type { JsonSchema } from './schema.js';

/** The rules of one schema, ready to run. */
export interface CompiledRules {
  /** The faults of an instance; `old` is undefined when it is made, and then rules about changes do not run. */
  evaluate(value: unknown, old: unknown, path: string): readonly Cause[];
}

interface SchemaRules {
  /** What is wrong with the rules of a schema and of all below it, in Kubernetes' words; `path` is that of the schema. */
  check(schema: JsonSchema, path: string): readonly Cause[];
  /** Of a schema that was found good. Undefined when it has no rules. */
  compile(schema: JsonSchema): CompiledRules | undefined;
}

let known: SchemaRules | undefined;

/** Called once, when the process starts, by whoever has the language. */
export function provideSchemaRules(rules: SchemaRules | undefined): void {
  known = rules;
}

/** Undefined while there is none. */
export const schemaRules = (): SchemaRules | undefined => known;
