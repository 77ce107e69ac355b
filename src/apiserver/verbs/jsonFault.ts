// What is wrong with a text that is no JSON, in Go's words. Pure.
// Guarantees: says what V8 said where it says something that is not known here.

/** V8's sentences, and what Go calls the same. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^Expected ':' after property name/, 'after object key'],
  [/^Expected ',' or '}' after property value/, 'after object key:value pair'],
  [/^Expected ',' or ']' after array element/, 'after array element'],
  [/^Expected (property name|double-quoted property name)/, 'looking for beginning of object key string'],
  [/^Unexpected non-whitespace character after JSON/, 'after top-level value'],
  [/^Unexpected token/, 'looking for beginning of value'],
];

/** `said` is the message of the error that JSON.parse threw for `text`. */
export function jsonFault(text: string, said: string): string {
  const [, placed] = /at position (\d+)/.exec(said) ?? [];
  const at = placed === undefined ? undefined : Number(placed);
  const isCut = at !== undefined && text.slice(at, at + 64).trim() === '' && at >= text.trimEnd().length;
  if (isCut || /^(Unexpected end|Unterminated string)/.test(said)) return 'unexpected end of JSON input';
  const found = WORDS.find(([sentence]) => sentence.test(said));
  const character = at === undefined ? /^Unexpected token '?(.)/u.exec(said)?.[1] : text[at];
  return found === undefined || character === undefined
    ? said
    : `invalid character '${character}' ${found[1]}`;
}
