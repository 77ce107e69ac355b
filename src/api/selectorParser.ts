// Reads the text form of label selectors: `a=b,c in (d,e),!f`. Pure.
// Guarantees: accepts what Kubernetes' parser accepts, and refuses the rest in its words as BadRequest.
import { labelValue, qualifiedName } from './names.js';
import type { Operator, Requirement } from './selectors.js';
import { statusError } from './status.js';

type Kind = 'end' | 'word' | '(' | ')' | ',' | '!' | Operator;

interface Token {
  readonly kind: Kind;
  readonly text: string;
}

const SYMBOLS: readonly string[] = ['==', '!=', '=', '!', '(', ')', ',', '>', '<'];
const END: Token = { kind: 'end', text: '' };

/** Throws BadRequest. */
export function parseRequirements(text: string): Requirement[] {
  const tokens = new Tokens(text);
  const requirements: Requirement[] = [];
  for (;;) {
    const first = tokens.peek();
    if (first.kind === 'end') return requirements;
    if (first.kind !== 'word' && first.kind !== '!')
      throw refusal(`found '${first.text}', expected: !, identifier, or 'end of string'`);
    requirements.push(parseRequirement(tokens));
    const separator = tokens.next();
    if (separator.kind === 'end') return requirements;
    if (separator.kind !== ',') throw refusal(`found '${separator.text}', expected: ',' or 'end of string'`);
    const next = tokens.peek();
    if (next.kind !== 'word' && next.kind !== '!')
      throw refusal(`found '${next.text}', expected: identifier after ','`);
  }
}

function parseRequirement(tokens: Tokens): Requirement {
  const absent = tokens.peek().kind === '!';
  if (absent) tokens.next();
  const name = tokens.next();
  if (name.kind !== 'word') throw requirementRefusal(`found '${name.text}', expected: identifier`);
  const key = checkKey(name.text);
  const after = tokens.peek().kind;
  if (absent) return { key, operator: '!', values: [] };
  if (after === 'end' || after === ',') return { key, operator: 'exists', values: [] };
  const operator = parseOperator(tokens);
  const values = operator === 'in' || operator === 'notin' ? parseSet(tokens) : [parseExact(tokens)];
  values.forEach((value, index) => {
    checkValue({ key, value, index, operator });
  });
  return { key, operator, values };
}

function parseOperator(tokens: Tokens): Operator {
  const token = tokens.next('operator');
  switch (token.kind) {
    case '=':
    case '==':
    case '!=':
    case 'in':
    case 'notin':
    case '>':
    case '<':
      return token.kind;
    default:
      throw requirementRefusal(`found '${token.text}', expected: in, notin, =, ==, !=, gt, lt`);
  }
}

function parseSet(tokens: Tokens): string[] {
  const open = tokens.next();
  if (open.kind !== '(') throw requirementRefusal(`found '${open.text}' expected: '('`);
  const first = tokens.peek();
  if (first.kind !== 'word' && first.kind !== ',' && first.kind !== ')')
    throw requirementRefusal(`found '${first.text}', expected: ',', ')' or identifier`);
  // `in (,a)` holds the empty value and a: a comma stands between values, either of which may be empty.
  const values = new Set<string>();
  for (let expectsValue = true; ; ) {
    const token = tokens.next();
    if (token.kind === 'word' && expectsValue) {
      values.add(token.text);
      expectsValue = false;
    } else if (token.kind === ',') {
      if (expectsValue) values.add('');
      expectsValue = true;
    } else if (token.kind === ')') {
      if (expectsValue) values.add('');
      return [...values].sort();
    } else throw requirementRefusal(`found '${token.text}', expected: ',', or ')'`);
  }
}

function parseExact(tokens: Tokens): string {
  const { kind, text } = tokens.peek();
  if (kind === 'end' || kind === ',') return '';
  if (kind !== 'word') throw requirementRefusal(`found '${text}', expected: identifier`);
  tokens.next();
  return text;
}

function checkKey(key: string): string {
  const faults = qualifiedName(key);
  if (faults.length > 0) throw requirementRefusal(`<nil>: Invalid value: "${key}": ${faults.join('; ')}`);
  return key;
}

interface KeyedValue {
  readonly key: string;
  readonly value: string;
  readonly index: number;
  readonly operator: Operator;
}

function checkValue({ key, value, index, operator }: KeyedValue): void {
  const faults = labelValue(value);
  if (faults.length > 0)
    throw requirementRefusal(`values[${index}][${key}]: Invalid value: "${value}": ${faults.join('; ')}`);
  if ((operator === '>' || operator === '<') && !/^[-+]?\d+$/.test(value))
    throw requirementRefusal(
      `values[${index}]: Invalid value: "${value}": for 'Gt', 'Lt' operators, the value must be an integer`,
    );
}

const refusal = (why: string) => statusError('BadRequest', why);
const requirementRefusal = (why: string) => refusal(`unable to parse requirement: ${why}`);

/** `in` and `notin` are operators only where one may stand; elsewhere they are words. */
type Place = 'word' | 'operator';

class Tokens {
  readonly #text: string;

  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  peek(place: Place = 'word'): Token {
    return this.#read(place).token;
  }

  next(place: Place = 'word'): Token {
    const { token, end } = this.#read(place);
    this.#at = end;
    return token;
  }

  #read(place: Place): { token: Token; end: number } {
    let start = this.#at;
    while (/\s/.test(this.#text.charAt(start))) start++;
    if (start >= this.#text.length) return { token: END, end: start };
    const symbol = SYMBOLS.find((some) => this.#text.startsWith(some, start));
    if (symbol !== undefined)
      return { token: { kind: symbol as Kind, text: symbol }, end: start + symbol.length };
    let end = start;
    while (end < this.#text.length && !/[\s=!(),<>]/.test(this.#text.charAt(end))) end++;
    const word = this.#text.slice(start, end);
    const isOperator = place === 'operator' && (word === 'in' || word === 'notin');
    return { token: { kind: isOperator ? (word as Kind) : 'word', text: word }, end };
  }
}
