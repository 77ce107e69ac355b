// Random expressions and random data: whatever comes, the answer is a value or a CelError, within the budget.
import { expect, test } from 'vitest';
import type { JsonSchema } from '../../../src/api/structural/schema.js';
import { CelError } from '../../../src/cel/error.js';
import { compileExpression } from '../../../src/cel/expression.js';
import { fromJson } from '../../../src/cel/json.js';
import { Budget } from '../../../src/cel/program.js';
import { checkRules } from '../../../src/cel/rules/checkRules.js';
import { makeValidator } from '../../../src/cel/rules/validator.js';
import { type CelType, DYN, INT, listOf, mapOf, STRING } from '../../../src/cel/types.js';

const ROUNDS = Number(process.env['TRELLIS_CEL_ROUNDS'] ?? 3_000);
const SEED = Number(process.env['TRELLIS_CEL_SEED'] ?? 1);

/** Numbers in [0, 1) that a seed repeats. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const ATOMS = [
  '1',
  '0',
  '-1',
  '2.5',
  '3u',
  "'a'",
  "''",
  "'héllo'",
  "b'x'",
  'true',
  'false',
  'null',
  '[]',
  '{}',
  '[1, 2]',
  "{'a': 1}",
  'ints',
  'labels',
  'any',
  'any.list',
  'any.n',
  'any.text',
  'int',
  "duration('1h')",
  "ip('::1')",
  "timestamp('2024-01-01T00:00:00Z')",
  "quantity('1Gi')",
  "semver('1.2.3')",
  "url('/a')",
  'optional.none()',
];
const NAMES = [
  'size',
  'contains',
  'startsWith',
  'matches',
  'find',
  'findAll',
  'split',
  'join',
  'replace',
  'substring',
  'indexOf',
  'lastIndexOf',
  'charAt',
  'format',
  'lowerAscii',
  'trim',
  'sum',
  'min',
  'max',
  'isSorted',
  'sort',
  'distinct',
  'flatten',
  'slice',
  'reverse',
  'getHours',
  'getFullYear',
  'add',
  'sub',
  'compareTo',
  'masked',
  'hasValue',
  'value',
  'or',
  'orValue',
  'validate',
  'getQuery',
  'isLessThan',
  'family',
  'containsIP',
];
const FUNCTIONS = [
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'bool',
  'type',
  'dyn',
  'size',
  'duration',
  'quantity',
];
const OPERATORS = ['+', '-', '*', '/', '%', '==', '!=', '<', '<=', '>', '>=', '&&', '||', 'in'];
const LOOPS = ['all', 'exists', 'exists_one', 'map', 'filter'];

function randomSource(random: () => number, depth: number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const part = () => randomSource(random, depth - 1);
  if (depth <= 0) return pick(ATOMS);
  switch (Math.floor(random() * 9)) {
    case 0:
      return `(${part()} ${pick(OPERATORS)} ${part()})`;
    case 1:
      return `${part()}.${pick(NAMES)}(${pick(['', part(), `${part()}, ${part()}`])})`;
    case 2:
      return `${pick(FUNCTIONS)}(${part()})`;
    case 3:
      return `${part()}.${pick(LOOPS)}(x, ${part().replaceAll('ints', 'x')})`;
    case 4:
      return `(${part()} ? ${part()} : ${part()})`;
    case 5:
      return `${part()}[${pick(['', '?'])}${part()}]`;
    case 6:
      return `[${part()}, ${part()}]`;
    case 7:
      return `{${part()}: ${part()}}`;
    default:
      return `${part()}${pick(['.a', '.?a', '.list', '.n'])}`;
  }
}

function spoiled(source: string, random: () => number): string {
  const at = Math.floor(random() * source.length);
  const letter = String.fromCharCode(32 + Math.floor(random() * 96));
  return random() < 0.5
    ? source.slice(0, at) + source.slice(at + 1)
    : source.slice(0, at) + letter + source.slice(at);
}

const variables = new Map<string, CelType>([
  ['ints', listOf(INT)],
  ['labels', mapOf(STRING, STRING)],
  ['any', DYN],
]);
const data: Readonly<Record<string, unknown>> = {
  ints: [1, 2, 3],
  labels: { a: 'b' },
  any: { n: 3, a: [], list: [1, 'two', 3.5, null, { a: [1] }], text: 'abc' },
};

test(`random expressions give a value or say what is wrong (seed ${SEED})`, () => {
  const random = randomFrom(SEED);
  const values = new Map(
    Array.from(variables, ([name, type]) => [name, fromJson(data[name], type)] as const),
  );
  const count = { run: 0, refused: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    const whole = randomSource(random, 1 + Math.floor(random() * 4));
    const source = random() < 0.2 ? spoiled(whole, random) : whole;
    const budget = new Budget(50_000);
    try {
      compileExpression(source, variables).run(values, budget);
      count.run += 1;
    } catch (error) {
      expect(error, source).toBeInstanceOf(CelError);
      count.refused += 1;
    }
  }
  // The generator is worth something only while both happen often.
  expect(Math.min(count.run, count.refused)).toBeGreaterThan(ROUNDS / 50);
});

function randomSchema(random: () => number, depth: number): JsonSchema {
  const rule = {
    'x-kubernetes-validations': [
      { rule: randomSource(random, 2).replaceAll(/\b(ints|labels|any)\b/g, 'self') },
    ],
  };
  const more = random() < 0.5 ? rule : {};
  switch (Math.floor(random() * (depth > 0 ? 7 : 4))) {
    case 0:
      return { type: 'string', maxLength: 10, ...more };
    case 1:
      return { type: 'integer', ...more };
    case 2:
      return { type: 'boolean', ...more };
    case 3:
      return { 'x-kubernetes-int-or-string': true, ...more };
    case 4:
      return { type: 'array', maxItems: 5, items: randomSchema(random, depth - 1), ...more };
    case 5:
      return {
        type: 'object',
        maxProperties: 5,
        additionalProperties: randomSchema(random, depth - 1),
        ...more,
      };
    default:
      return {
        type: 'object',
        properties: { a: randomSchema(random, depth - 1), n: randomSchema(random, depth - 1) },
        ...more,
      };
  }
}

function randomJson(random: () => number, depth: number): unknown {
  switch (Math.floor(random() * (depth > 0 ? 7 : 5))) {
    case 0:
      return 'abc';
    case 1:
      return Math.floor(random() * 10);
    case 2:
      return random() < 0.5;
    case 3:
      return null;
    case 4:
      return 1.5;
    case 5:
      return Array.from({ length: 3 }, () => randomJson(random, depth - 1));
    default:
      return { a: randomJson(random, depth - 1), n: randomJson(random, depth - 1) };
  }
}

test(`random schemas and objects, fitting or not, are judged (seed ${SEED})`, () => {
  const random = randomFrom(SEED + 1);
  for (let round = 0; round < ROUNDS / 3; round += 1) {
    const schema = randomSchema(random, 3);
    expect(Array.isArray(checkRules(schema, 'spec'))).toBe(true);
    const validator = makeValidator(schema);
    for (const json of [randomJson(random, 3), randomJson(random, 3)])
      expect(Array.isArray(validator?.evaluate(json, randomJson(random, 3), '') ?? [])).toBe(true);
  }
});
