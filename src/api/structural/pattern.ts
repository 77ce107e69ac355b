// Regular expressions that others wrote: Go's syntax, run by an automaton. Pure.
// Guarantees: time in proportion to the text, whatever the expression; one that Go would not compile is refused; what stays
// compiled is bounded by its size; compiling and matching count as work before they begin.
import { RE2JS, RE2JSException } from 're2js';
import { spendWork } from '../workLimit.js';
import { programSize } from './patternSize.js';

interface Pattern {
  /** True when some part of the text matches. */
  test(text: string): boolean;
}

interface Known {
  readonly compiled: RE2JS;
  readonly size: number;
}

/** Definitions share their patterns: names, versions, durations. The least recently used go first. */
const known = new Map<string, Known>();
let knownSize = 0;
/** Steps of automata, each some 200 bytes. */
const MOST_KNOWN = 150_000;
/** Repeats are multiplied out when an expression is compiled. */
const MOST_CHARACTERS = 10_000;
/** Units of work: to compile a step, and to follow one for a character at worst. */
const COMPILE = 150;
const FOLLOW = 0.8;
/** Usually a character costs the same whatever the expression. */
const USUAL = 0.2;

/** Says what is wrong with the expression. */
export class PatternError extends Error {}

/** Throws PatternError. */
export function compilePattern(source: string): Pattern {
  knownPattern(source);
  return { test: (text) => searchFor(source, text).find() };
}

export interface Search {
  /** Goes to the next place that matches. */
  find(): boolean;
  /** What matched there. */
  group(): string;
}

/** For those who want to know where it matches. Throws PatternError. */
export function searchFor(source: string, text: string): Search {
  const { compiled, size } = knownPattern(source);
  const matcher = compiled.matcher(text);
  let at = 0;
  return {
    find() {
      const left = text.length - at;
      spendWork(left * USUAL + 1, left * size * FOLLOW);
      const found = matcher.find();
      if (found) at = matcher.end();
      return found;
    },
    group: () => matcher.group() ?? '',
  };
}

function knownPattern(source: string): Known {
  const held = known.get(source);
  if (held !== undefined) {
    known.delete(source);
    known.set(source, held);
    return held;
  }
  if (source.length > MOST_CHARACTERS)
    throw new PatternError(`it has more than ${MOST_CHARACTERS} characters`);
  const size = programSize(source);
  spendWork(size * COMPILE);
  const made = { compiled: compile(source), size };
  known.set(source, made);
  knownSize += size;
  for (const [oldest, { size: freed }] of known) {
    if (knownSize <= MOST_KNOWN || oldest === source) break;
    known.delete(oldest);
    knownSize -= freed;
  }
  return made;
}

function compile(source: string): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (cause) {
    if (cause instanceof RE2JSException) throw new PatternError(cause.message, { cause });
    throw cause;
  }
}
