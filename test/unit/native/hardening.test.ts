// Every binary that is shipped, most of them run by root, is hardened: read from its ELF headers and its objects.
// Guarantees: a flag that binding.gyp loses fails here.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { cniLibrarySources, coreSources, unitsOf } from '../../../scripts/lib/sources.mjs';
import { readHardening } from './elf.js';

const RELEASE = path.resolve(import.meta.dirname, '../../../build/Release');
const read = (...names: string[]) => readFileSync(path.join(RELEASE, ...names));
const hardened = {
  positionIndependent: true,
  withoutLoader: true,
  fullRelro: true,
  executableStack: false,
  writableCode: false,
};

test.each([
  ['trellis-cni', { ...hardened, pie: true }],
  ['pause', { ...hardened, pie: true }],
  ['trellis-node', { ...hardened, pie: true }],
  ['trellis.node', { ...hardened, pie: false }],
])('%s: relocations, stack and code cannot be overwritten', (name, expected) => {
  expect(readHardening(read(name))).toEqual(expected);
});

// The executables carry the C library's own checks, so ours are looked for in what they are linked from.
const core = unitsOf(coreSources()).map((unit) => ['core', unit.path]);
const OBJECTS: Record<string, string[][]> = {
  'trellis-cni': [
    ...core,
    ...unitsOf(cniLibrarySources()).map((unit) => ['cni', unit.path]),
    ['trellis-cni', 'cni-plugins/main.cc'],
  ],
  'trellis-node': [...core, ['trellis-node', 'native/node/node.cc']],
  'trellis.node': [...core, ['trellis', 'native/addon/addon.cc']],
  pause: [['pause', 'native/pause/pause.cc']],
};
const objectsOf = (name: string) =>
  (OBJECTS[name] ?? []).map(([target = '', source = '']) =>
    read('obj.target', target, source.replace(/\.cc$/, '.o')),
  );

describe.each(Object.keys(OBJECTS))('the objects of %s', (name) => {
  test('guard their stack frames', () => {
    expect(objectsOf(name).some((object) => object.includes('__stack_chk_fail'))).toBe(true);
  });

  // GNU_PROPERTY_X86_FEATURE_1_AND with IBT and SHSTK, as every object must have it.
  const PROPERTY = Buffer.from('020000c00400000003000000', 'hex');
  test.runIf(process.arch === 'x64')('were all compiled with control-flow protection', () => {
    for (const object of objectsOf(name)) expect(object.includes(PROPERTY)).toBe(true);
  });
});

// pause calls nothing that the C library has a checked form of.
test.each(['trellis-cni', 'trellis-node', 'trellis.node'])(
  'the objects of %s call the checked forms of the C library',
  (name) => {
    expect(objectsOf(name).some((object) => /__(?!stack)[a-z]+_chk\b/.test(object.toString('latin1')))).toBe(
      true,
    );
  },
);
