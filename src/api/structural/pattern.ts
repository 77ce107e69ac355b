// Regular expressions that others wrote: Go's syntax, run by an automaton or, if they are simple, by JavaScript. Pure.
// Guarantees: time in proportion to the text, whatever the expression; one that Go would not compile is refused; what stays
// compiled is bounded by its size; compiling and matching count as work before they begin.
import { RE2JS, RE2JSException } from 're2js';
import { spendWork } from '../workLimit.js';
import { linearPattern } from './linearPattern.js';
import { programSize } from './patternSize.js';

interface Known {
  readonly compiled: RE2JS;
  readonly size: number;
  /** The same for JavaScript's own engine, which is several times faster. */
  readonly linear: RegExp | undefined;
}

/** Definitions share their patterns: names, versions, durations. Those that nobody asks for while `recent` fills go. */
let recent = new Map<string, Known>();
let older = new Map<string, Known>();
let recentSize = 0;
/** Steps of automata in each of the two, each step some 200 bytes. */
const MOST_RECENT = 75_000;
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
export function requirePattern(source: string): void {
  knownPattern(source);
}

/** Whether some part of the text matches. Throws PatternError. */
export function matchesPattern(source: string, text: string): boolean {
  const { compiled, size, linear } = knownPattern(source);
  spendSearch(text.length, size);
  return linear === undefined ? compiled.matcher(text).find() : linear.test(text);
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
      spendSearch(text.length - at, size);
      const found = matcher.find();
      if (found) at = matcher.end();
      return found;
    },
    group: () => matcher.group() ?? '',
  };
}

const spendSearch = (length: number, size: number) => spendWork(length * USUAL + 1, length * size * FOLLOW);

function knownPattern(source: string): Known {
  const held = recent.get(source);
  if (held !== undefined) return held;
  const known = older.get(source) ?? make(source);
  recent.set(source, known);
  recentSize += known.size;
  if (recentSize > MOST_RECENT) {
    older = recent;
    recent = new Map();
    recentSize = 0;
  }
  return known;
}

function make(source: string): Known {
  if (source.length > MOST_CHARACTERS)
    throw new PatternError(`it has more than ${MOST_CHARACTERS} characters`);
  const size = programSize(source);
  spendWork(size * COMPILE);
  return { compiled: compile(source), size, linear: linearPattern(source) };
}

function compile(source: string): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (cause) {
    if (cause instanceof RE2JSException) throw new PatternError(cause.message, { cause });
    throw cause;
  }
}
