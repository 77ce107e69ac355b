// Which of the rights in some RBAC rules are not covered by other rules. Pure.
// Guarantees: values that the held rules do not tell apart are compared once, so the work follows how the held rules differ
// and the number of values, not their product; it ends with the first MAX_MISSING rights, and at MAX_WORK it refuses.
import type { V1PolicyRule } from '../../api/gen/types.js';
import { statusError } from '../../api/status.js';
import { urlMatches } from './rbac.js';

/** Nobody reads on beyond these. */
const MAX_MISSING = 1000;
/** Comparisons: a few milliseconds. */
const MAX_WORK = 200_000;

const tooMuch = () =>
  statusError(
    'Forbidden',
    'the rules are too many to be compared with those that you hold: split them into several roles',
  );

/** The parts of `wanted` that `held` does not give, each reduced to one verb on one thing. Empty when held covers wanted. */
export function uncoveredRules(
  held: readonly V1PolicyRule[],
  wanted: readonly V1PolicyRule[],
): readonly V1PolicyRule[] {
  const comparison = new Comparison(held);
  for (const rule of wanted) if (!comparison.compare(rule)) break;
  return comparison.missing;
}

/** The held rules that have a value, as bits: rule 3 is bit 3. */
type Rules = bigint;

/** Values of one field. */
interface Classes {
  /** Those that the same held rules have. */
  readonly byRules: ReadonlyMap<Rules, readonly string[]>;
  /** The rules that have all of them. */
  readonly common: Rules;
}

class Comparison {
  readonly missing: V1PolicyRule[] = [];
  readonly #verbs = new Map<string, Rules>();
  readonly #groups = new Map<string, Rules>();
  readonly #resources = new Map<string, Rules>();
  readonly #names = new Map<string, Rules>();
  readonly #urls: [url: string, rules: Rules][] = [];
  /** Those that are not limited to names. */
  #nameless: Rules = 0n;
  #work = 0;

  constructor(held: readonly V1PolicyRule[]) {
    for (const [index, rule] of held.entries()) {
      const bit = 1n << BigInt(index);
      const note = (map: Map<string, Rules>, values: readonly string[] = []) => {
        for (const value of values) map.set(value, (map.get(value) ?? 0n) | bit);
      };
      note(this.#verbs, rule.verbs);
      note(this.#groups, rule.apiGroups);
      note(this.#resources, rule.resources);
      note(this.#names, rule.resourceNames);
      if ((rule.resourceNames ?? []).length === 0) this.#nameless |= bit;
      for (const url of rule.nonResourceURLs ?? []) this.#urls.push([url, bit]);
    }
  }

  /** False when enough is missing. */
  compare({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: V1PolicyRule) {
    const byVerb = classes(verbs, (verb) => either(this.#verbs, '*', verb));
    const byUrl = classes(nonResourceURLs, (url) => this.#withUrl(url));
    const byGroup = classes(apiGroups, (group) => either(this.#groups, '*', group));
    const byResource = classes(resources, (resource) => this.#withResource(resource));
    const byName: Classes =
      resourceNames.length === 0
        ? classes([''], () => this.#nameless)
        : classes(resourceNames, (name) => this.#nameless | (this.#names.get(name) ?? 0n));
    return (
      this.#product([byVerb, byUrl], URL_RIGHT) && this.#product([byVerb, byGroup, byResource, byName], RIGHT)
    );
  }

  /** Everything that takes a value of each field; what no held rule has as a whole is missing. False when enough is. */
  #product(fields: readonly Classes[], right: MakeRight, given: Rules = -1n, values: Values = []): boolean {
    const [field, ...rest] = fields;
    if (field === undefined || given === 0n) {
      return given !== 0n || this.#miss([...values, ...fields.map(allOf)], right);
    }
    // One rule that has all of it: no need to look at each.
    if (fields.reduce((whole, { common }) => whole & common, given) !== 0n) return true;
    for (const [rules, own] of field.byRules) {
      this.#work += 1;
      if (this.#work > MAX_WORK) throw tooMuch();
      if (!this.#product(rest, right, given & rules, [...values, own])) return false;
    }
    return true;
  }

  /** Names what is missing one by one, while somebody reads on. */
  #miss([first = [], ...rest]: Values, right: MakeRight, chosen: readonly string[] = []): boolean {
    for (const value of first) {
      if (this.missing.length >= MAX_MISSING) return false;
      if (rest.length === 0) this.missing.push(right([...chosen, value]));
      else if (!this.#miss(rest, right, [...chosen, value])) return false;
    }
    return true;
  }

  #withUrl(url: string): Rules {
    this.#work += this.#urls.length;
    if (this.#work > MAX_WORK) throw tooMuch();
    return this.#urls.reduce((rules, [named, bit]) => (urlMatches(named, url) ? rules | bit : rules), 0n);
  }

  /** A `*` is given only by a `*`. */
  #withResource(named: string): Rules {
    const [resource = '', subresource = ''] = named.split('/', 2);
    const rules = either(this.#resources, '*', named);
    if (subresource === '' || resource === '*') return rules;
    return rules | (this.#resources.get(`*/${named.slice(resource.length + 1)}`) ?? 0n);
  }
}

type Values = readonly (readonly string[])[];
type MakeRight = (values: readonly string[]) => V1PolicyRule;

const URL_RIGHT: MakeRight = ([verb = '', url = '']) => ({ verbs: [verb], nonResourceURLs: [url] });
const RIGHT: MakeRight = ([verb = '', group = '', resource = '', name = '']) => ({
  verbs: [verb],
  apiGroups: [group],
  resources: [resource],
  ...(name === '' ? {} : { resourceNames: [name] }),
});

const either = (map: ReadonlyMap<string, Rules>, one: string, other: string): Rules =>
  (map.get(one) ?? 0n) | (map.get(other) ?? 0n);

const allOf = ({ byRules }: Classes): readonly string[] => [...byRules.values()].flat();

function classes(values: readonly string[], rulesOf: (value: string) => Rules): Classes {
  const byRules = new Map<Rules, string[]>();
  let common: Rules = -1n;
  for (const value of values) {
    const rules = rulesOf(value);
    common &= rules;
    const own = byRules.get(rules);
    if (own === undefined) byRules.set(rules, [value]);
    else own.push(value);
  }
  return { byRules, common };
}
