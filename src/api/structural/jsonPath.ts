// The paths by which definitions name fields: columns, replicas, selectable fields. Pure.
// Guarantees: linear in what a path reaches; a path that cannot be read is refused when the definition is written.
import { getOwn, isMembers } from '../ownKeys.js';

type Step =
  | { readonly do: 'name'; readonly name: string }
  | { readonly do: 'all' }
  | { readonly do: 'below'; readonly name: string }
  | { readonly do: 'slice'; readonly from: number | undefined; readonly to: number | undefined }
  | { readonly do: 'index'; readonly at: number }
  | { readonly do: 'filter'; readonly path: JsonPath; readonly operator: string; readonly literal: unknown };

export interface JsonPath {
  /** Everything that it names, in order. */
  find(value: unknown): readonly unknown[];
}

const NAME = /\.((?:\\.|[^.[\]\\{}\s*])+)/y;
const BRACKET_NAME = /\[\s*'((?:\\.|[^'\\])*)'\s*\]|\[\s*"((?:\\.|[^"\\])*)"\s*\]/y;
const INDEX = /\[\s*(-?\d{1,9})\s*\]/y;
const SLICE = /\[\s*(-?\d{1,9})?\s*:\s*(-?\d{1,9})?\s*\]/y;
const ALL = /\.\*|\[\s*\*\s*\]/y;
const BELOW = /\.\.([^.[\]\\{}\s*]+)/y;
const FILTER = /\[\s*\?\s*\(\s*@([^=!<>)]*?)\s*(?:(==|!=|<=|>=|<|>)\s*([^)]*?)\s*)?\)\s*\]/y;
const LONGEST = 4096;
/** Beyond these nothing is looked for any more. */
const MOST_FOUND = 10_000;

/** Throws an Error that says where it cannot be read. */
export function parseJsonPath(text: string): JsonPath {
  if (text.length > LONGEST) throw new Error('the path is too long');
  const steps: Step[] = [];
  const body = text.startsWith('$') ? text.slice(1) : text;
  for (let at = body === '.' ? 1 : 0; at < body.length; ) {
    const found = nextStep(body, at);
    if (found === undefined) throw new Error(`unrecognized path at ${JSON.stringify(body.slice(at))}`);
    steps.push(found.step);
    at = found.end;
  }
  return { find: (value) => steps.reduce<readonly unknown[]>((values, step) => take(step, values), [value]) };
}

function nextStep(text: string, at: number): { readonly step: Step; readonly end: number } | undefined {
  for (const [pattern, make] of READERS) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) return { step: make(match), end: at + match[0].length };
  }
  return undefined;
}

const unescaped = (text: string) => text.replace(/\\(.)/g, '$1');
const numeral = (text: string | undefined) => (text === undefined ? undefined : Number(text));

const READERS: readonly (readonly [RegExp, (match: RegExpExecArray) => Step])[] = [
  [ALL, () => ({ do: 'all' })],
  [BELOW, ([, name = '']) => ({ do: 'below', name })],
  [NAME, ([, name = '']) => ({ do: 'name', name: unescaped(name) })],
  [BRACKET_NAME, ([, single, double]) => ({ do: 'name', name: unescaped(single ?? double ?? '') })],
  [INDEX, ([, at]) => ({ do: 'index', at: Number(at) })],
  [SLICE, ([, from, to]) => ({ do: 'slice', from: numeral(from), to: numeral(to) })],
  [
    FILTER,
    ([, path = '', operator = '', literal = '']) => ({
      do: 'filter',
      path: parseJsonPath(path),
      operator,
      literal: literalOf(literal),
    }),
  ],
];

function literalOf(text: string): unknown {
  const quoted = /^'(.*)'$|^"(.*)"$/s.exec(text);
  if (quoted !== null) return unescaped(quoted[1] ?? quoted[2] ?? '');
  if (text === 'true' || text === 'false') return text === 'true';
  return text !== '' && !Number.isNaN(Number(text)) ? Number(text) : text;
}

function take(step: Step, values: readonly unknown[]): readonly unknown[] {
  const found: unknown[] = [];
  for (const value of values) {
    if (found.length >= MOST_FOUND) return found;
    for (const part of parts(step, value)) if (found.length < MOST_FOUND) found.push(part);
  }
  return found;
}

function parts(step: Step, value: unknown): readonly unknown[] {
  switch (step.do) {
    case 'name': {
      const member = isMembers(value) ? getOwn(value, step.name) : undefined;
      return member === undefined ? [] : [member];
    }
    case 'all':
      return Array.isArray(value) ? value : isMembers(value) ? Object.values(value) : [];
    case 'below':
      return below(value, step.name);
    case 'index':
      return Array.isArray(value) ? value.slice(step.at).slice(0, 1) : [];
    case 'slice':
      return Array.isArray(value) ? value.slice(step.from, step.to) : [];
    case 'filter':
      return Array.isArray(value) ? value.filter((item) => isWanted(step, item)) : [];
  }
}

function below(value: unknown, name: string): unknown[] {
  const found: unknown[] = [];
  const waiting: unknown[] = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.length >= MOST_FOUND) return found;
    if (isMembers(next) && Object.hasOwn(next, name)) found.push(next[name]);
    if (typeof next === 'object' && next !== null) waiting.push(...Object.values(next).slice(0, MOST_FOUND));
  }
  return found;
}

function isWanted({ path, operator, literal }: Step & { readonly do: 'filter' }, item: unknown): boolean {
  const [value] = path.find(item);
  if (operator === '') return value !== undefined;
  if (value === undefined || value === null) return false;
  switch (operator) {
    case '==':
      return value === literal;
    case '!=':
      return value !== literal;
    case '<':
      return typeof value === typeof literal && value < (literal as typeof value);
    case '<=':
      return typeof value === typeof literal && value <= (literal as typeof value);
    case '>':
      return typeof value === typeof literal && value > (literal as typeof value);
    default:
      return typeof value === typeof literal && value >= (literal as typeof value);
  }
}

/** A value as Go prints it: text as it is, the rest as JSON. */
export function printed(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
