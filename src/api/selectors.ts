// Label and field selectors: text or object in, a function that answers yes or no out. Pure.
// Guarantees: what Kubernetes refuses is refused in its words as BadRequest; a compiled matcher never throws.
import type { V1LabelSelector } from './gen/types.js';
import type { KubeObject } from './object.js';
import { getOwn } from './ownKeys.js';
import { parseRequirements } from './selectorParser.js';
import { statusError } from './status.js';

export type Labels = Readonly<Record<string, string>>;
export type LabelMatcher = (labels: Labels | undefined) => boolean;

export type Operator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<';

export interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

export const matchesEverything: LabelMatcher = () => true;
export const matchesNothing: LabelMatcher = () => false;

/** The `labelSelector` of a request. Empty text selects everything. Throws BadRequest. */
export function parseLabelSelector(text: string): LabelMatcher {
  return text.trim() === '' ? matchesEverything : compile(parseRequirements(text));
}

/** A LabelSelector object: absent selects nothing, empty selects everything. Throws BadRequest. */
export function compileLabelSelector(selector: V1LabelSelector | undefined): LabelMatcher {
  return selector === undefined ? matchesNothing : compile(requirementsOf(selector));
}

/** A Service's or ReplicationController's plain map. Empty selects everything, as in Kubernetes' labels.Set. */
export function selectorFromMap(map: Labels | undefined): LabelMatcher {
  return compile(requirementsOf({ matchLabels: map }));
}

/** As Scale's status.selector and query strings have it; empty when everything is selected. */
export function labelSelectorString(selector: V1LabelSelector | undefined): string {
  if (selector === undefined) return '';
  return [...requirementsOf(selector)]
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(formatRequirement)
    .join(',');
}

/** As printed columns have it. */
export function formatLabelSelector(selector: V1LabelSelector | undefined): string {
  try {
    return labelSelectorString(selector) || '<none>';
  } catch {
    return '<error>';
  }
}

/** As printed columns have a plain map of labels. */
export function formatLabels(labels: Labels | undefined): string {
  const text = Object.entries(labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(',');
  return text || '<none>';
}

const EXPRESSION_OPERATORS: Readonly<Record<string, Operator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
};

function requirementsOf({ matchLabels, matchExpressions }: V1LabelSelector): Requirement[] {
  const labels = Object.entries(matchLabels ?? {}).map(
    ([key, value]): Requirement => ({ key, operator: '=', values: [value] }),
  );
  const expressions = (matchExpressions ?? []).map(({ key, operator: name, values = [] }): Requirement => {
    const operator = getOwn(EXPRESSION_OPERATORS, name);
    if (operator === undefined)
      throw statusError('BadRequest', `"${name}" is not a valid label selector operator`);
    const wantsValues = operator === 'in' || operator === 'notin';
    if (wantsValues && values.length === 0)
      throw statusError(
        'BadRequest',
        `values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty`,
      );
    if (!wantsValues && values.length > 0)
      throw statusError(
        'BadRequest',
        `values: Invalid value: ${JSON.stringify(values)}: values set must be empty for exists and does not exist`,
      );
    return { key, operator, values: [...values].sort() };
  });
  return [...labels, ...expressions];
}

function formatRequirement({ key, operator, values }: Requirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.join(',')})`;
    default:
      return `${key}${operator}${values[0] ?? ''}`;
  }
}

function compile(requirements: readonly Requirement[]): LabelMatcher {
  const tests = requirements.map(compileRequirement);
  const [only] = tests;
  if (only === undefined) return matchesEverything;
  return tests.length === 1 ? only : (labels) => tests.every((test) => test(labels));
}

function compileRequirement({ key, operator, values }: Requirement): LabelMatcher {
  const value = values[0] ?? '';
  const bound = Number(value);
  const set = new Set(values);
  switch (operator) {
    case '=':
    case '==':
      return (labels) => getOwn(labels, key) === value;
    // An absent label differs from every value.
    case '!=':
      return (labels) => getOwn(labels, key) !== value;
    case 'in':
      return (labels) => set.has(getOwn(labels, key) ?? MISSING);
    case 'notin':
      return (labels) => !set.has(getOwn(labels, key) ?? MISSING);
    case 'exists':
      return (labels) => getOwn(labels, key) !== undefined;
    case '!':
      return (labels) => getOwn(labels, key) === undefined;
    case '>':
      return (labels) => Number(integerOf(getOwn(labels, key))) > bound;
    case '<':
      return (labels) => Number(integerOf(getOwn(labels, key))) < bound;
  }
}

/** No label can have this value: it is longer than 63 bytes. */
const MISSING = '\0'.repeat(64);

const integerOf = (text: string | undefined) => (/^[-+]?\d+$/.test(text ?? '') ? text : Number.NaN);

export interface FieldTerm {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

interface FieldSelector<T> {
  /** Lets a list by name become a get. */
  readonly terms: readonly FieldTerm[];
  matches(object: T): boolean;
}

/** What a kind offers to field selectors; `fields` must also answer for an empty object. */
interface Selectable<T> {
  fields?(object: T): Readonly<Record<string, string>>;
  /** What custom kinds have besides; every other kind has name and namespace, though it may be in none. */
  readonly identity?: readonly string[];
}

const IDENTITY = ['metadata.name', 'metadata.namespace'];

/** The `fieldSelector` of a request. Throws BadRequest for text that is none and for fields the kind does not offer. */
export function compileFieldSelector<T extends KubeObject>(
  text: string,
  kind: Selectable<T>,
): FieldSelector<T> {
  const terms = fieldTerms(text);
  const offered = kind.fields?.({} as T) ?? {};
  const { identity = IDENTITY } = kind;
  for (const { field } of terms) {
    if (identity.includes(field) || Object.hasOwn(offered, field)) continue;
    throw statusError(
      'BadRequest',
      kind.fields === undefined && kind.identity === undefined
        ? `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`
        : `field label not supported: ${field}`,
    );
  }
  return { terms, matches: (object) => matchesTerms(object, terms, kind) };
}

function matchesTerms<T extends KubeObject>(
  object: T,
  terms: readonly FieldTerm[],
  kind: Selectable<T>,
): boolean {
  let fields: Readonly<Record<string, string>> | undefined;
  return terms.every(({ field, operator, value }) => {
    let actual: string | undefined;
    if (field === 'metadata.name') actual = object.metadata?.name;
    else if (field === 'metadata.namespace') actual = object.metadata?.namespace;
    else {
      fields ??= kind.fields?.(object);
      actual = getOwn(fields, field);
    }
    return ((actual ?? '') === value) === (operator === '=');
  });
}

/** What a field selector demands, whoever offers the fields; text that is no selector demands nothing. */
export function demandedFields(text: string): readonly FieldTerm[] {
  try {
    return fieldTerms(text);
  } catch {
    return []; // refused where the selector is read to be used
  }
}

/** The name that is demanded, if one is. */
export function demandedName(terms: readonly FieldTerm[]): string | undefined {
  return terms.find(({ field, operator }) => field === 'metadata.name' && operator === '=')?.value;
}

function fieldTerms(text: string): FieldTerm[] {
  return splitTerms(text)
    .filter((part) => part !== '')
    .map((part) => parseTerm(part, text));
}

/** Splits at commas that no backslash escapes. */
function splitTerms(text: string): string[] {
  return text.match(/(?:\\.|[^,\\]|\\$)+/gs) ?? [];
}

function parseTerm(part: string, whole: string): FieldTerm {
  const match = /^(.*?)(!=|==|=)(.*)$/s.exec(part);
  const [, field = '', operator = '', escaped = ''] = match ?? [];
  if (match === null)
    throw statusError('BadRequest', `invalid selector: '${whole}'; can't understand '${part}'`);
  if (/(^|[^\\])(\\\\)*\\([^\\,=]|$)/.test(escaped) || /(^|[^\\])(\\\\)*=/.test(escaped))
    throw statusError('BadRequest', `invalid field selector: invalid value in '${part}'`);
  return { field, operator: operator === '!=' ? '!=' : '=', value: escaped.replace(/\\(.)/gs, '$1') };
}
