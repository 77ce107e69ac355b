// Signatures of functions as they are written in the tables: `string.contains(string): bool`, `quantity(string): Quantity`.
// Guarantees: read once, when the tables are loaded; a signature that cannot be read stops the load.
import { CelError } from './error.js';
import { type CelType, listOf, mapOf, optionalOf, type ScalarKind } from './types.js';
import type { Value } from './values.js';

/** What the running expression has used, and may use. Throws when it is too much. */
export interface Meter {
  spend(cost: number): void;
}

/** What an argument may hold at most, as far as it is known when the expression is written. */
export interface Shape {
  readonly size: number;
  readonly element?: Shape;
}

export interface CallEstimate {
  readonly cost: number;
  readonly result?: Shape;
}

export interface Overload {
  readonly name: string;
  readonly isMember: boolean;
  /** The receiver is the first. */
  readonly params: readonly CelType[];
  readonly result: CelType;
  readonly run: (args: readonly Value[], meter: Meter) => Value;
  /** Both in the units of the limits; 1 where it is not said. */
  readonly estimate?: (args: readonly Shape[]) => CallEstimate;
  readonly cost?: (args: readonly Value[]) => number;
}

type Run = Overload['run'];
type Costs = Pick<Overload, 'estimate' | 'cost'>;

export function overload(signature: string, run: Run, costs: Costs = {}): Overload {
  const match = /^(?:([^(]+)\.)?([\w@!\-+*/%<>=]+)\((.*)\): (.+)$/.exec(signature);
  if (match === null) throw new CelError('TYPE', `the signature ${signature} cannot be read`);
  const [, before = '', name = '', args = '', result = ''] = match;
  const isSpace = /^[a-z]+$/.test(before) && SPACES.has(before);
  const receiver = before === '' || isSpace ? [] : [before];
  return {
    name: isSpace ? `${before}.${name}` : name,
    isMember: receiver.length > 0,
    params: [...receiver, ...split(args)].map(typeFrom),
    result: typeFrom(result),
    run,
    ...costs,
  };
}

/** Words before a point that are no receivers. */
export const SPACES: ReadonlySet<string> = new Set([
  'math',
  'sets',
  'ip',
  'format',
  'optional',
  'strings',
  'lists',
]);

const split = (list: string): string[] => {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const letter of list) {
    if (letter === ',' && depth === 0) {
      parts.push(part);
      part = '';
      continue;
    }
    depth += letter === '<' ? 1 : letter === '>' ? -1 : 0;
    part += letter;
  }
  return part.trim() === '' ? parts : [...parts, part];
};

function typeFrom(text: string): CelType {
  const word = text.trim();
  if (/^[A-Z]$/.test(word)) return { kind: 'param', name: word };
  const match = /^(list|map|optional)<(.+)>$/.exec(word);
  if (match === null) return { kind: word as ScalarKind };
  const [first, second] = split(match[2] ?? '').map(typeFrom) as [CelType, CelType];
  if (match[1] === 'list') return listOf(first);
  return match[1] === 'optional' ? optionalOf(first) : mapOf(first, second);
}

/** A tenth of a unit per character that is read. */
export const traversal = (size: number): number => Math.ceil(size * 0.1);

/** Reads its receiver, or its first argument, once or that many times. */
export const readsFirst = (times = 1): Costs => ({
  estimate: ([first]) => ({
    cost: traversal((first?.size ?? 0) * times),
    result: { size: first?.size ?? 0 },
  }),
  cost: ([first]) => traversal(lengthOf(first) * times),
});

export const lengthOf = (value: Value | undefined): number =>
  typeof value === 'string' || value instanceof Uint8Array
    ? value.length
    : typeof value === 'object' && value !== null && 'size' in value
      ? value.size
      : 1;
