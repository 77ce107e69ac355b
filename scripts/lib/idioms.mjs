// Finds ways of writing that this tree has given up: a literal that is spread where it stands, `private`. Pure.
// Guarantees: each finding is one sentence with the file and the line; what strings and comments hold is read over.

const OPENS = '([{';
const CLOSES = ')]}';

/** Each finding as a sentence. `files` are `{ path, text }`. */
export function idioms(files) {
  return files.flatMap(({ path, text }) => {
    const code = blanked(text);
    const finding = (says) => (at) => `${path}:${lineAt(code, at)}: ${says}`;
    return [
      ...spreadLiterals(code).map(finding('spreads a literal; write what it holds without the brackets')),
      ...privateMembers(code).map(finding('a member is private; give it a name that begins with #')),
    ];
  });
}

/** Where the modifier stands. A constructor can be private in no other way. */
const privateMembers = (code) =>
  [...code.matchAll(/(?<=[({},;\n]\s*(?:static )?)private (?!constructor\b)[\w[]/g)].map(
    ({ index }) => index,
  );

/** Where `...[a, b]` or `...{ a, b }` stands. Not where more follows, as in `...[a, b].reverse()`, nor for parameters. */
function spreadLiterals(code) {
  return [...code.matchAll(/\.\.\.[[{]/g)]
    .map(({ index }) => index)
    .filter((at) => /^\s*[,)\]}]/.test(code.slice(endOfBrackets(code, at + 3))));
}

/** Behind the bracket that closes the one at `from`. */
function endOfBrackets(code, from) {
  let depth = 0;
  for (let at = from; at < code.length; at++) {
    if (OPENS.includes(code[at])) depth++;
    if (CLOSES.includes(code[at]) && --depth === 0) return at + 1;
  }
  return code.length;
}

/** The same text with blanks for what comments, strings and regular expressions hold; lines stay where they are. */
function blanked(text) {
  const literal =
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|(?<=(?:[=(,:?|&!>{}[;]|return)\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//g;
  return text.replace(literal, (found) => found.replace(/[^\n]/g, ' '));
}

const lineAt = (text, at) => text.slice(0, at).split('\n').length;
