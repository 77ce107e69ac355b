// Regular expressions: RE2's syntax, as Go has it.
// Guarantees: linear in the text; an expression that cannot be read is an error; what stays compiled is bounded.
import { PatternError, type Search, searchFor } from '../../api/structural/pattern.js';
import { evaluationError } from '../error.js';
import { lengthOf, type Meter, type Overload, overload, traversal } from '../signature.js';
import { ListValue } from '../values.js';

function search(text: string, pattern: string): Search {
  try {
    return searchFor(pattern, text);
  } catch (error) {
    if (error instanceof PatternError) throw evaluationError(error.message);
    throw error;
  }
}

/** What a search costs: the text's part for every fourth character of the expression. */
const searches: Pick<Overload, 'estimate' | 'cost'> = {
  estimate: ([text, pattern]) => {
    const size = text?.size ?? 0;
    return {
      cost: traversal(size + 1) * Math.max(1, Math.ceil((pattern?.size ?? 0) * 0.25)),
      result: { size, element: { size } },
    };
  },
  cost: ([text, pattern]) => traversal(lengthOf(text) + 1) * Math.max(1, Math.ceil(lengthOf(pattern) * 0.25)),
};

const isFound = (text: string, pattern: string): boolean => search(text, pattern).find();

function find(text: string, pattern: string): string {
  const matcher = search(text, pattern);
  return matcher.find() ? matcher.group() : '';
}

function findAll(text: string, pattern: string, limit: bigint, meter: Meter): ListValue {
  const matcher = search(text, pattern);
  const found: string[] = [];
  while ((limit < 0n || BigInt(found.length) < limit) && matcher.find()) {
    meter.spend(1);
    found.push(matcher.group());
  }
  return ListValue.of(found);
}

export const REGEX: readonly Overload[] = [
  overload(
    'string.matches(string): bool',
    ([text, pattern]) => isFound(text as string, pattern as string),
    searches,
  ),
  overload(
    'matches(string, string): bool',
    ([text, pattern]) => isFound(text as string, pattern as string),
    searches,
  ),
  overload(
    'string.find(string): string',
    ([text, pattern]) => find(text as string, pattern as string),
    searches,
  ),
  overload(
    'string.findAll(string): list<string>',
    ([text, pattern], meter) => findAll(text as string, pattern as string, -1n, meter),
    searches,
  ),
  overload(
    'string.findAll(string, int): list<string>',
    ([text, pattern, limit], meter) => findAll(text as string, pattern as string, limit as bigint, meter),
    searches,
  ),
];
