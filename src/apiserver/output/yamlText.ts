// Parses a YAML text and looks at it before it is made into data: the library's work grows faster than the text in places. Pure.
// Guarantees: no recursion; time in proportion to the text, in short steps; what passes is composed in such time too, and on a
// small stack.
import { CST, Lexer, Parser } from 'yaml';
import type { Steps } from '../../api/steps.js';

/** The deepest of Kubernetes' own kinds nests some thirty deep. */
const MAX_DEPTH = 200;
/** A manifest of a megabyte has half as many. */
const MAX_TOKENS = 150_000;
/** Each one is looked for in the whole document. */
const MAX_ALIASES = 100;
/** As large as an object can be stored, and some more for its blanks. */
const MAX_LENGTH = 1_200_000;
/** Some ten milliseconds. */
const TOKENS_A_STEP = 5000;

type Pair = CST.CollectionItem;
type Collection = CST.BlockMap | CST.BlockSequence | CST.FlowCollection;

const TOO_MANY_ALIASES = `it has more than ${MAX_ALIASES} aliases`;
const TOO_DEEP = `exceeded max depth of ${MAX_DEPTH}`;

interface YamlTokens {
  readonly tokens: CST.Token[];
  /** Keys that are there already, the first few. */
  readonly duplicates: readonly DuplicateKey[];
}

interface DuplicateKey {
  readonly name: string;
  readonly offset: number;
}

/** Beyond these nobody reads on. */
const MAX_DUPLICATES = 100;

/** What the text is made of, to be composed. Throws an Error that says why it is refused; what passes may still be wrong. */
export function* yamlTokens(text: string, onNewLine: (offset: number) => void): Steps<YamlTokens> {
  if (text.length > MAX_LENGTH) throw new Error(`it has more than ${MAX_LENGTH} characters`);
  const lexemes = yield* boundedLexemes(text);
  const parser = new Parser(onNewLine);
  const tokens: CST.Token[] = [];
  onNewLine(0);
  for (const [index, lexeme] of lexemes.entries()) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (index % TOKENS_A_STEP === 0) yield;
  }
  for (const token of parser.end()) tokens.push(token);
  yield;
  const duplicates: DuplicateKey[] = [];
  const obstacle = treeObstacle(tokens, duplicates);
  if (obstacle !== undefined) throw new Error(obstacle);
  return { tokens, duplicates };
}

/** All of them first: a text that is refused costs no parsing. */
function* boundedLexemes(text: string): Steps<string[]> {
  const bounds = new TokenBounds();
  const lexemes: string[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    bounds.take(lexeme);
    lexemes.push(lexeme);
    if (lexemes.length % TOKENS_A_STEP === 0) yield;
  }
  return lexemes;
}

/** Many tokens, and what nests with a character or two a level. */
class TokenBounds {
  #tokens = 0;
  #flow = 0;
  #onLine = 0;
  #aliases = 0;

  take(token: string): void {
    this.#tokens += 1;
    if (token.startsWith('*')) this.#aliases += 1;
    if (this.#aliases > MAX_ALIASES) throw new Error(TOO_MANY_ALIASES);
    if (this.#tokens > MAX_TOKENS) throw new Error(`it has more than ${MAX_TOKENS} tokens`);
    if (token === '[' || token === '{') this.#flow += 1;
    else if (token === ']' || token === '}') this.#flow = Math.max(0, this.#flow - 1);
    else if (token === '-' || token === '?' || token === ':') this.#onLine += 1;
    else if (token === '\n' || token === '\r\n') this.#onLine = 0;
    if (this.#flow > MAX_DEPTH || (this.#onLine > MAX_DEPTH && this.#flow === 0)) throw new Error(TOO_DEEP);
  }
}

/** What only the structure shows. */
function treeObstacle(tokens: readonly CST.Token[], duplicates: DuplicateKey[]): string | undefined {
  let aliases = 0;
  let level: Collection[] = [];
  for (const token of tokens) {
    if (token.type === 'document' && CST.isCollection(token.value)) level.push(token.value);
  }
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === MAX_DEPTH) return TOO_DEEP;
    const below: Collection[] = [];
    for (const collection of level) {
      if (!hasPlainKeys(collection.items, duplicates)) return 'a key must be a string';
      for (const { value } of collection.items) {
        if (CST.isCollection(value)) below.push(value);
        if (value?.type === 'alias') aliases += 1;
      }
    }
    if (aliases > MAX_ALIASES) return TOO_MANY_ALIASES;
    level = below;
  }
  return undefined;
}

function hasPlainKeys(items: readonly Pair[], duplicates: DuplicateKey[]): boolean {
  const seen = new Set<string>();
  for (const { key } of items) {
    if (key === undefined || key === null) continue;
    if (CST.isCollection(key)) return false;
    const name = CST.isScalar(key) ? CST.resolveAsScalar(key)?.value : undefined;
    if (name === undefined) continue;
    if (seen.has(name) && duplicates.length < MAX_DUPLICATES) duplicates.push({ name, offset: key.offset });
    seen.add(name);
  }
  return true;
}
