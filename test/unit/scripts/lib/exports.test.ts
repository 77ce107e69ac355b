// What `npm run lint` says of exports that no other file imports.
// Guarantees: each way of importing counts, and only what nobody imports is named.
import { expect, test } from 'vitest';
import { unusedExports } from '../../../../scripts/lib/exports.mjs';

const OTHER = 'src/room/b.ts';
const found = (text: string, importer: string, path = OTHER) =>
  unusedExports([
    { path: 'src/a.ts', text },
    { path, text: importer },
  ]);

test.each([
  ['a constant', 'export const one = 1;', 'one'],
  ['an async function', 'export async function two() {}', 'two'],
  ['a class', 'export abstract class Three {}', 'Three'],
  ['a type', 'export type Four = 4;', 'Four'],
  ['a list', "export { five } from 'five';\nconst six = 6;\nexport { five as other, six };", 'six'],
])('what nobody imports is named: %s', (_, text, name) => {
  expect(found(text, "import { other } from '../a.js';")).toEqual([
    `src/a.ts: exports ${name}, which no other file imports`,
  ]);
});

test('a file that imports the same name from another file imports none of this one', () => {
  expect(found('export const one = 1;', "import { one } from './a.js';")).toHaveLength(1);
});

test.each([
  ['by its name', "import { type Two, one } from '../a.js';"],
  ['under another name', "import {\n  one as first,\n} from '../a.js';"],
  ['handed on', "export { one } from '../a.js';"],
  ['whole, handed on', "export * from '../a.js';"],
  ['as a member of all', "import * as all from '../a.js';\nf(all.one);"],
  ['all of them', "import * as all from '../a.js';\nf(Object.keys(all));"],
  ['late', "const { one } = await import('../a.js');"],
])('what another file imports is not: %s', (_, importer) => {
  expect(found('export const one = 1;', importer)).toEqual([]);
});

test('one member of all leaves the others', () => {
  const importer = "import * as all from '../a.js';\nf(all.one);";
  expect(found('export const one = 1;\nexport const two = 2;', importer)).toEqual([
    'src/a.ts: exports two, which no other file imports',
  ]);
});

test('what was built counts for its source', () => {
  expect(found('export const one = 1;', "import { one } from '../dist/src/a.js';", 'test/b.mjs')).toEqual([]);
});
