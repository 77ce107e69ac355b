// The native core's source files, found by walking native/.
// Guarantees: sorted, relative to the project's root; binding.gyp and the CMake build get the same list from here.
import { readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** Every .cc file below native/ except the N-API glue and what only tests and fuzzers build. */
export function coreSources() {
  return readdirSync(join(root, 'native'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.cc'))
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
    .filter((path) => !/^native\/(addon|test|fuzz)\//.test(path))
    .sort();
}

if (process.argv[2] === 'core') console.log(coreSources().join('\n'));
