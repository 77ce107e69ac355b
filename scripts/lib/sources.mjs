// The native sources, found by walking native/ and cni-plugins/: core, CNI plugins, native unit tests, fuzz targets.
// Guarantees: sorted, relative to the project's root; binding.gyp and the CMake build get the same lists from here.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** Every .cc file below native/ except the N-API glue, the programs and what only tests and fuzzers build. */
export const coreSources = () =>
  sourcesBelow('native').filter((path) => !/^native\/(addon|node|pause|test|fuzz)\//.test(path));

/** The CNI plugins, which are linked into one executable. */
export const cniSources = () => sourcesBelow('cni-plugins');

/** The same without the program's entry, for what links them otherwise: tests and fuzzers. */
export const cniLibrarySources = () => cniSources().filter((path) => path !== 'cni-plugins/main.cc');

/** The native unit tests, which are linked into one executable; what stands in a folder below them is a program of its own. */
const testSources = () => sourcesBelow('native/test').filter((path) => dirname(path) === 'native/test');

/** The fuzz targets: each file is an executable of its own, named like the file. */
export const fuzzSources = () => sourcesBelow('native/fuzz');

/**
 * The same sources as one unit for each folder: headers are read and templates compiled once a folder, which takes less than
 * half the time. The sanitizers' build compiles every file alone, so each still includes what it uses.
 */
export function unitsOf(sources) {
  const units = new Map();
  for (const source of sources) {
    const name = dirname(source).replaceAll('/', '-');
    units.set(name, [...(units.get(name) ?? []), source]);
  }
  return [...units].map(([name, files]) => ({
    path: `build/units/${name}.cc`,
    text: files.map((file) => `#include "../../${file}"\n`).join(''),
  }));
}

/** Leaves a unit that is right as it is: a newer one would be compiled again. */
function writeUnits(sources) {
  return unitsOf(sources).map(({ path, text }) => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
    return path;
  });
}

function sourcesBelow(directory) {
  return readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.cc'))
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
}

const LISTS = {
  core: coreSources,
  coreUnits: () => writeUnits(coreSources()),
  cniLibraryUnits: () => writeUnits(cniLibrarySources()),
  cniLibrary: cniLibrarySources,
  test: testSources,
  fuzz: fuzzSources,
};
const list = process.argv[1] === fileURLToPath(import.meta.url) ? LISTS[process.argv[2]] : undefined;
if (list !== undefined) console.log(list().join('\n'));
