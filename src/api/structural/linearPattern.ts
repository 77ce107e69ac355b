// Finds the regular expressions that JavaScript's own engine runs in linear time, with the same answers as Go's. Pure.
// Guarantees: tied to the start, with one loop at most and nothing that repeats a loop: no text makes it go back more than a few
// times per character. Whatever else there is, also if it would do no harm, is left to the automaton.

/** Characters that mean themselves in both languages, and those that a backslash makes so. */
const PLAIN = `[A-Za-z0-9 _:;,'"=@#%&~<>!/-]`;
const ESCAPED = String.raw`\\[.^$*+?()[\]{}|/\\dw]`;
const MEMBER = String.raw`(?:[A-Za-z0-9 _:;,'"=@#%<>!/.*+?(){}|$-]|\\[.^$*+?()[\]{}|/\\-])`;
const ATOM = String.raw`(?:${PLAIN}|${ESCAPED}|\[\^?${MEMBER}+\])`;
const TOKEN = new RegExp(
  String.raw`(?<open>\((?:\?:)?)|(?<close>\))(?<maybe>\?)?|${ATOM}(?:(?<loop>[*+]|\{\d{1,3}(?:,\d{0,3})?\})|(?<option>\?))?`,
  'y',
);
/** Each doubles the ways in which a text is tried. */
const MOST_OPTIONS = 2;

/** The expression for JavaScript's engine; undefined for one that is not known to be linear there. */
export function linearPattern(source: string): RegExp | undefined {
  if (!source.startsWith('^')) return undefined;
  const end = source.endsWith('$') ? source.length - 1 : source.length;
  return isLinear(source, end) ? new RegExp(source, 'u') : undefined;
}

function isLinear(source: string, end: number): boolean {
  let [depth, loops, options] = [0, 0, 0];
  for (let at = 1; at < end; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(source)?.groups;
    if (token === undefined || TOKEN.lastIndex > end) return false;
    if (token['open'] !== undefined) depth += 1;
    if (token['close'] !== undefined) depth -= 1;
    if (token['loop'] !== undefined) loops += 1;
    if (token['option'] !== undefined || token['maybe'] !== undefined) options += 1;
    if (depth < 0 || loops > 1 || options > MOST_OPTIONS) return false;
  }
  return depth === 0;
}
