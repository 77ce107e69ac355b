// Looks at a YAML text before it is made into data: the parser's own work grows faster than the text in places. Pure.
// Guarantees: no recursion; time in proportion to the text; what passes is composed in such time too, and on a small stack.
import { CST, Lexer, Parser } from 'yaml';

/** The deepest of Kubernetes' own kinds nests some thirty deep. */
const MAX_DEPTH = 200;
/** A manifest of a megabyte has half as many. */
const MAX_TOKENS = 200_000;
/** Each one is looked for in the whole document. */
const MAX_ALIASES = 100;
/** As large as an object can be stored, and half more: reading YAML costs ten times what JSON does. */
const MAX_LENGTH = 1_500_000;

type Pair = CST.CollectionItem;
type Collection = CST.BlockMap | CST.BlockSequence | CST.FlowCollection;

const TOO_MANY_ALIASES = `it has more than ${MAX_ALIASES} aliases`;
const TOO_DEEP = `exceeded max depth of ${MAX_DEPTH}`;

/** Why the text is refused; undefined when it is not, although it may still be wrong. */
export function yamlObstacle(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return `it has more than ${MAX_LENGTH} characters`;
  return tokenObstacle(text) ?? treeObstacle(text);
}

/** Many tokens, and what nests with a character or two a level. */
function tokenObstacle(text: string): string | undefined {
  let tokens = 0;
  let flow = 0;
  let onLine = 0;
  let aliases = 0;
  for (const token of new Lexer().lex(text)) {
    tokens += 1;
    if (token.startsWith('*')) aliases += 1;
    if (aliases > MAX_ALIASES) return TOO_MANY_ALIASES;
    if (tokens > MAX_TOKENS) return `it has more than ${MAX_TOKENS} tokens`;
    if (token === '[' || token === '{') flow += 1;
    else if (token === ']' || token === '}') flow = Math.max(0, flow - 1);
    else if (token === '-' || token === '?' || token === ':') onLine += 1;
    else if (token === '\n' || token === '\r\n') onLine = 0;
    if (flow > MAX_DEPTH || (onLine > MAX_DEPTH && flow === 0)) return TOO_DEEP;
  }
  return undefined;
}

/** What only the structure shows. */
function treeObstacle(text: string): string | undefined {
  let aliases = 0;
  let level: Collection[] = [];
  for (const token of new Parser().parse(text)) {
    if (token.type === 'document' && CST.isCollection(token.value)) level.push(token.value);
  }
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === MAX_DEPTH) return TOO_DEEP;
    const below: Collection[] = [];
    for (const collection of level) {
      const obstacle = keyObstacle(collection.items);
      if (obstacle !== undefined) return obstacle;
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

function keyObstacle(items: readonly Pair[]): string | undefined {
  const seen = new Set<string>();
  for (const { key } of items) {
    if (key === undefined || key === null) continue;
    if (CST.isCollection(key)) return 'a key must be a string';
    const name = CST.isScalar(key) ? CST.resolveAsScalar(key)?.value : undefined;
    if (name === undefined) continue;
    if (seen.has(name)) return `key ${JSON.stringify(name)} already set in map`;
    seen.add(name);
  }
  return undefined;
}
