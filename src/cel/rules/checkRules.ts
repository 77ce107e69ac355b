// What is wrong with the rules of a schema when a definition is written: their text, their types, their cost.
// Guarantees: what passes runs within its limits on data that keeps to the schema's bounds; every rule below is looked at.
import { type Cause, forbiddenField, invalidValue } from '../../api/causes.js';
import type { V1ValidationRule } from '../../api/gen/types.js';
import { type JsonSchema, subSchema } from '../../api/structural/schema.js';
import { spendWork } from '../../api/workLimit.js';
import { MAX_REQUEST_BYTES } from '../cost.js';
import { typeOfSchema } from '../schemaType.js';
import type { CelType } from '../types.js';
import { type CompiledRule, compileRule, isCompiled } from './rule.js';

/** Of one expression, and of all of a definition's. */
const EXPRESSION_LIMIT = 10_000_000;
const DEFINITION_LIMIT = 100_000_000;

interface RulePosition {
  readonly path: string;
  readonly isRoot: boolean;
  /** How often a value of this schema can be there; undefined when only the size of a request bounds it. */
  readonly count: number | undefined;
  /** The part of the schema above whose old items cannot be told apart. */
  readonly uncorrelatable: string | undefined;
}

export function checkRules(schema: JsonSchema, path: string): readonly Cause[] {
  const check = new RuleCheck();
  check.schema(schema, { path, isRoot: true, count: 1, uncorrelatable: undefined });
  return check.finish(path);
}

class RuleCheck {
  readonly #causes: Cause[] = [];
  readonly #costs: { readonly path: string; readonly cost: number }[] = [];

  finish(path: string): readonly Cause[] {
    const total = this.#costs.reduce((sum, { cost }) => sum + cost, 0);
    if (total <= DEFINITION_LIMIT) return this.#causes;
    const dearest = [...this.#costs].sort((a, b) => b.cost - a.cost).slice(0, 4);
    return [
      ...this.#causes,
      ...dearest.map(({ path: place }) =>
        forbiddenField(
          place,
          'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
        ),
      ),
      forbiddenField(
        path,
        tooDear(
          'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema',
          total,
          DEFINITION_LIMIT,
        ),
      ),
    ];
  }

  schema(schema: JsonSchema, place: RulePosition): void {
    spendWork(10);
    this.#rulesOf(schema, place);
    for (const [name, property] of Object.entries(schema.properties ?? {}))
      this.schema(property, below(place, `properties[${name}]`, property, place.count));
    const additional = subSchema(schema.additionalProperties);
    if (additional !== undefined)
      this.schema(
        additional,
        below(place, 'additionalProperties', additional, times(place.count, schema.maxProperties)),
      );
    const items = subSchema(schema.items);
    if (items === undefined) return;
    const inner = below(place, 'items', items, times(place.count, schema.maxItems));
    const isKeyed = schema['x-kubernetes-list-type'] === 'map';
    this.schema(items, isKeyed ? inner : { ...inner, uncorrelatable: place.uncorrelatable ?? place.path });
  }

  #rulesOf(schema: JsonSchema, place: RulePosition): void {
    const rules = schema['x-kubernetes-validations'] ?? [];
    if (rules.length === 0) return;
    const known = typeOfSchema(schema, place.isRoot);
    const count = place.count ?? Math.floor(MAX_REQUEST_BYTES / ((known?.minBytes ?? 1) + 1));
    for (const [index, rule] of rules.entries()) {
      const path = `${place.path}.x-kubernetes-validations[${index}]`;
      if (known === undefined) {
        this.#causes.push(forbiddenField(path, 'rules cannot be set where the schema has no known type'));
        continue;
      }
      this.#rule(rule, known.type, { path, count, uncorrelatable: place.uncorrelatable });
    }
  }

  #rule(
    rule: V1ValidationRule,
    type: CelType,
    place: { readonly path: string; readonly count: number; readonly uncorrelatable: string | undefined },
  ): void {
    const { path, count } = place;
    const compiled = compileRule(rule, type);
    if (!isCompiled(compiled)) {
      if (compiled.rule !== undefined) this.#causes.push(invalidValue(`${path}.rule`, rule, compiled.rule));
      if (compiled.messageExpression !== undefined)
        this.#causes.push(invalidValue(`${path}.messageExpression`, rule, compiled.messageExpression));
      return;
    }
    this.#cost(`${path}.rule`, 'estimated rule cost', compiled.condition.maxCost * count);
    if (compiled.message !== undefined)
      this.#cost(
        `${path}.messageExpression`,
        'estimated messageExpression cost',
        compiled.message.maxCost * count,
      );
    this.#oldSelf(compiled, place);
  }

  #cost(path: string, what: string, cost: number): void {
    this.#costs.push({ path, cost });
    if (cost > EXPRESSION_LIMIT)
      this.#causes.push(forbiddenField(path, tooDear(what, cost, EXPRESSION_LIMIT)));
  }

  #oldSelf(
    { rule, usesOldSelf }: CompiledRule,
    { path, uncorrelatable }: { readonly path: string; readonly uncorrelatable: string | undefined },
  ): void {
    if (usesOldSelf && uncorrelatable !== undefined) {
      const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`;
      this.#causes.push(invalidValue(`${path}.rule`, rule.rule, why));
    }
    if (!usesOldSelf && rule.optionalOldSelf !== undefined)
      this.#causes.push(
        invalidValue(
          `${path}.optionalOldSelf`,
          rule.optionalOldSelf,
          'may not be set if oldSelf is not used in rule',
        ),
      );
  }
}

const below = (
  place: RulePosition,
  name: string,
  schema: JsonSchema,
  count: number | undefined,
): RulePosition => ({
  ...place,
  path: `${place.path}.${name}`,
  isRoot: schema['x-kubernetes-embedded-resource'] === true,
  count,
});

const times = (count: number | undefined, most: number | undefined) =>
  count === undefined || most === undefined ? undefined : count * most;

function tooDear(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown =
    factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}
