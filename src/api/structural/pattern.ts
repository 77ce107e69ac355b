// Regular expressions that others wrote: Go's syntax, run by an automaton. Pure.
// Guarantees: time in proportion to the text, whatever the expression; one that Go would not compile is refused.
import { RE2JS, RE2JSException } from 're2js';

export interface Pattern {
  /** True when some part of the text matches. */
  test(text: string): boolean;
}

/** Definitions share their patterns: names, versions, durations. Bounded, since clients write them. */
const known = new Map<string, Pattern>();
const MOST_KNOWN = 1000;
/** Repeats are multiplied out when an expression is compiled. */
const MOST_CHARACTERS = 10_000;

/** Throws an Error that says what is wrong with the expression. */
export function compilePattern(source: string): Pattern {
  const held = known.get(source);
  if (held !== undefined) return held;
  if (source.length > MOST_CHARACTERS) throw new Error(`it has more than ${MOST_CHARACTERS} characters`);
  const compiled = compile(source);
  const pattern: Pattern = { test: (text) => compiled.matcher(text).find() };
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(source, pattern);
  return pattern;
}

function compile(source: string): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (cause) {
    if (cause instanceof RE2JSException) throw new Error(cause.message, { cause });
    throw cause;
  }
}
