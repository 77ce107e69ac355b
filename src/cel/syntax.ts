// The text of an expression as a tree. The grammar is that of the package; the tree is ours, so that nothing else knows it.
// Guarantees: bounded in length, depth and number of nodes before any work on the tree; a fault in the text says where.
import { Environment, ParseError } from '@marcbachmann/cel-js';
import { CelError, located } from './error.js';
import { Uint, type Value } from './values.js';

export type Expr = { readonly at: number } & (
  | { readonly op: 'const'; readonly value: Value }
  | { readonly op: 'ident'; readonly name: string }
  | { readonly op: 'select'; readonly of: Expr; readonly field: string; readonly isOptional: boolean }
  | { readonly op: 'index'; readonly of: Expr; readonly key: Expr; readonly isOptional: boolean }
  | { readonly op: 'has'; readonly of: Expr; readonly field: string }
  | { readonly op: 'call'; readonly name: string; readonly target?: Expr; readonly args: readonly Expr[] }
  | { readonly op: 'list'; readonly items: readonly Expr[] }
  | { readonly op: 'map'; readonly entries: readonly (readonly [Expr, Expr])[] }
  | { readonly op: 'and' | 'or'; readonly left: Expr; readonly right: Expr }
  | { readonly op: 'if'; readonly test: Expr; readonly yes: Expr; readonly no: Expr }
  | Loop
  | { readonly op: 'bind'; readonly name: string; readonly value: Expr; readonly body: Expr }
  | {
      readonly op: 'optMap' | 'optFlatMap';
      readonly of: Expr;
      readonly name: string;
      readonly body: Expr;
    }
);

type LoopKind =
  | 'all'
  | 'exists'
  | 'existsOne'
  | 'map'
  | 'filter'
  | 'transformList'
  | 'transformMap'
  | 'transformMapEntry';

export interface Loop {
  readonly op: 'loop';
  readonly kind: LoopKind;
  readonly range: Expr;
  /** One: the item of a list or the key of a map. Two: index and item, or key and value. */
  readonly variables: readonly string[];
  readonly filter?: Expr;
  readonly body: Expr;
}

/** More is no rule that a person wrote. */
const MAX_SOURCE_LENGTH = 100_000;

/** The package counts brackets, but not how operators stand in each other: `1 + 1 + 1` is a level for each sign. */
const MAX_LEVELS = 500;

const environment = new Environment({
  enableOptionalTypes: true,
  unlistedVariablesAreDyn: true,
  limits: { maxAstNodes: 20_000, maxDepth: 250, maxListElements: 10_000, maxMapEntries: 10_000 },
});

interface Node {
  readonly op: string;
  readonly args: unknown;
  readonly pos: number;
  readonly start: number;
}

export function parseExpression(source: string): Expr {
  if (source.length > MAX_SOURCE_LENGTH)
    throw new CelError('SYNTAX', `expression is longer than ${MAX_SOURCE_LENGTH} characters`);
  try {
    return new Reader(source).read(environment.parse(source).ast as unknown as Node);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    const at = error.range?.start ?? 0;
    throw new CelError('SYNTAX', located(source, at, `Syntax error: ${error.summary}`), { cause: error });
  }
}

const OPERATORS = new Set(['!=', '==', 'in', '+', '-', '*', '/', '%', '<', '<=', '>', '>=']);

class Reader {
  readonly #source: string;
  #level = 0;

  constructor(source: string) {
    this.#source = source;
  }

  read(node: Node): Expr {
    this.#level += 1;
    if (this.#level > MAX_LEVELS) {
      const why = `expression recursion limit exceeded: ${MAX_LEVELS}`;
      throw new CelError('SYNTAX', located(this.#source, node.pos ?? node.start, why));
    }
    const expr = this.#one(node);
    this.#level -= 1;
    return expr;
  }

  #one(node: Node): Expr {
    const source = this.#source;
    const at = node.pos ?? node.start;
    const nodeOf = (part: unknown) => this.read(part as Node);
    const parts = node.args as readonly unknown[];
    switch (node.op) {
      case 'value':
        return { at, op: 'const', value: constant(node.args) };
      case 'id':
        return { at, op: 'ident', name: node.args as string };
      case '.':
      case '.?':
        return {
          at,
          op: 'select',
          of: nodeOf(parts[0]),
          field: parts[1] as string,
          isOptional: node.op === '.?',
        };
      case '[]':
      case '[?]':
        return {
          at,
          op: 'index',
          of: nodeOf(parts[0]),
          key: nodeOf(parts[1]),
          isOptional: node.op === '[?]',
        };
      case 'call':
        return readCall({ at, source, name: parts[0] as string, args: (parts[1] as Node[]).map(nodeOf) });
      case 'rcall':
        return readCall({
          at,
          source,
          name: parts[0] as string,
          target: nodeOf(parts[1]),
          args: (parts[2] as Node[]).map(nodeOf),
        });
      case 'list':
        return { at, op: 'list', items: parts.map(nodeOf) };
      case 'map':
        return { at, op: 'map', entries: (parts as [Node, Node][]).map(([k, v]) => [nodeOf(k), nodeOf(v)]) };
      case '&&':
      case '||':
        return balanced(node.op === '&&' ? 'and' : 'or', at, operandsOf(node).map(nodeOf));
      case '?:':
        return { at, op: 'if', test: nodeOf(parts[0]), yes: nodeOf(parts[1]), no: nodeOf(parts[2]) };
      case '!_':
      case '-_':
        return { at, op: 'call', name: node.op === '!_' ? '!_' : '-_', args: [nodeOf(node.args)] };
      default:
        if (!OPERATORS.has(node.op))
          throw new CelError('SYNTAX', located(source, at, `Syntax error: ${node.op}`));
        return { at, op: 'call', name: operatorName(node.op), args: parts.map(nodeOf) };
    }
  }
}

/** Of a chain of one of the logical operators, in their order. */
function operandsOf(chain: Node): readonly Node[] {
  const found: Node[] = [];
  const waiting = [chain];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.op !== chain.op) found.push(node);
    else {
      const [left, right] = node.args as readonly [Node, Node];
      waiting.push(right, left);
    }
  }
  return found;
}

/** However long a chain is, its tree is low: it means the same, whatever stands in brackets. */
function balanced(op: 'and' | 'or', at: number, operands: readonly Expr[]): Expr {
  const [only] = operands;
  if (operands.length === 1 && only !== undefined) return only;
  const middle = Math.ceil(operands.length / 2);
  const left = balanced(op, at, operands.slice(0, middle));
  return { at, op, left, right: balanced(op, at, operands.slice(middle)) };
}

/** As messages name it: `_+_`, `@in`. */
const operatorName = (sign: string) => (sign === 'in' ? '@in' : `_${sign}_`);

function constant(value: unknown): Value {
  if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array))
    return new Uint(BigInt((value as { valueOf(): bigint }).valueOf()));
  return value as Value;
}

interface Call {
  readonly at: number;
  readonly source: string;
  readonly name: string;
  readonly target?: Expr;
  readonly args: readonly Expr[];
}

function readCall(call: Call): Expr {
  const { at, name, target, args } = call;
  if (target === undefined && name === 'has' && args.length === 1) return readHas(call);
  if (target !== undefined) {
    if (target.op === 'ident' && target.name === 'cel' && name === 'bind' && args.length === 3) {
      const [variable, value, body] = args as [Expr, Expr, Expr];
      return { at, op: 'bind', name: identifier(variable, call), value, body };
    }
    if ((name === 'optMap' || name === 'optFlatMap') && args.length === 2) {
      const [variable, body] = args as [Expr, Expr];
      return { at, op: name, of: target, name: identifier(variable, call), body };
    }
    const loop = readLoop(call, target);
    if (loop !== undefined) return { at, ...loop };
  }
  return target === undefined ? { at, op: 'call', name, args } : { at, op: 'call', name, target, args };
}

function readHas(call: Call): Expr {
  const [of] = call.args;
  if (of?.op !== 'select' || of.isOptional)
    throw new CelError('SYNTAX', located(call.source, call.at, 'invalid argument to has() macro'));
  return { at: call.at, op: 'has', of: of.of, field: of.field };
}

/** Names of macros, with how many variables and whether a filter may come before the body. */
const LOOPS: Readonly<Record<string, readonly { args: number; variables: number; kind: LoopKind }[]>> = {
  all: [
    { args: 2, variables: 1, kind: 'all' },
    { args: 3, variables: 2, kind: 'all' },
  ],
  exists: [
    { args: 2, variables: 1, kind: 'exists' },
    { args: 3, variables: 2, kind: 'exists' },
  ],
  exists_one: [{ args: 2, variables: 1, kind: 'existsOne' }],
  existsOne: [
    { args: 2, variables: 1, kind: 'existsOne' },
    { args: 3, variables: 2, kind: 'existsOne' },
  ],
  filter: [{ args: 2, variables: 1, kind: 'filter' }],
  map: [
    { args: 2, variables: 1, kind: 'map' },
    { args: 3, variables: 1, kind: 'map' },
  ],
  transformList: [
    { args: 3, variables: 2, kind: 'transformList' },
    { args: 4, variables: 2, kind: 'transformList' },
  ],
  transformMap: [
    { args: 3, variables: 2, kind: 'transformMap' },
    { args: 4, variables: 2, kind: 'transformMap' },
  ],
  transformMapEntry: [
    { args: 3, variables: 2, kind: 'transformMapEntry' },
    { args: 4, variables: 2, kind: 'transformMapEntry' },
  ],
};

function readLoop(call: Call, range: Expr): Loop | undefined {
  const forms = Object.hasOwn(LOOPS, call.name) ? LOOPS[call.name] : undefined;
  const form = forms?.find(({ args }) => args === call.args.length);
  if (form === undefined) return undefined;
  const variables = call.args.slice(0, form.variables).map((variable) => identifier(variable, call));
  if (new Set(variables).size < variables.length)
    throw new CelError('SYNTAX', located(call.source, call.at, 'duplicate variable name'));
  const rest = call.args.slice(form.variables);
  const body = rest.at(-1) as Expr;
  const filter = rest.length > 1 ? rest[0] : undefined;
  return { op: 'loop', kind: form.kind, range, variables, body, ...(filter && { filter }) };
}

function identifier(expr: Expr, { source }: Call): string {
  if (expr.op === 'ident') return expr.name;
  throw new CelError('SYNTAX', located(source, expr.at, 'argument must be a simple name'));
}
