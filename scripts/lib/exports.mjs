// Finds what a file exports and no other file imports. Pure, by text.
// Guarantees: each finding is one sentence with the file and the name; what a file imports whole counts as imported.
import path from 'node:path';

const DECLARED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;
const LISTED = /^export (?:type )?\{([^}]*)\}(?! from)/gm;
const IMPORTED = /^(?:import|export)\s+(?:type\s+)?([^'"`;]*?)\s*\bfrom\s*['"]([^'"]+)['"]/gm;
const WHOLE = /\bimport\(\s*['"`]([^'"`]+)['"`]\s*\)|^import\s*['"]([^'"]+)['"]/gm;

/** Each finding as a sentence. `files` are `{ path, text }` of the whole tree: importers count, also those of tests. */
export function unusedExports(files) {
  const used = new Set();
  const whole = new Set();
  for (const file of files) {
    const target = (specifier) => resolved(file.path, specifier);
    for (const [, names, specifier] of file.text.matchAll(IMPORTED)) {
      const wanted = namesOf(names, file.text);
      if (wanted === undefined) whole.add(target(specifier));
      else for (const name of wanted) used.add(`${target(specifier)} ${name}`);
    }
    for (const [, late, bare] of file.text.matchAll(WHOLE)) whole.add(target(late ?? bare));
  }
  return files
    .filter((file) => !whole.has(bareName(file.path)))
    .flatMap((file) =>
      exportsOf(file.text)
        .filter((name) => !used.has(`${bareName(file.path)} ${name}`))
        .map((name) => `${file.path}: exports ${name}, which no other file imports`),
    );
}

function exportsOf(text) {
  const listed = [...text.matchAll(LISTED)].flatMap(([, names]) => names.split(',').map(lastWord));
  return [...[...text.matchAll(DECLARED)].map(([, name]) => name), ...listed.filter(Boolean)];
}

/** What an import names in its braces, or uses of its namespace; undefined where that is everything. */
function namesOf(clause, text) {
  const namespace = /^\*(?: as (\w+))?/.exec(clause);
  if (namespace === null) {
    const inner = /\{([^}]*)\}/.exec(clause)?.[1] ?? '';
    return inner.split(',').map(
      (name) =>
        name
          .trim()
          .replace(/^type /, '')
          .split(/\s/)[0],
    );
  }
  const [, name] = namespace;
  if (name === undefined) return undefined;
  const uses = [...text.matchAll(new RegExp(`(?<![\\w.])${name}\\b(\\.\\w+)?`, 'g'))].slice(1);
  return uses.some(([, member]) => member === undefined)
    ? undefined
    : uses.map(([, member]) => member.slice(1));
}

const lastWord = (words) => words.trim().split(/\s/).at(-1);

/** A file without its ending, as an import of it from another file, or of what was built of it, comes out too. */
const bareName = (file) => file.replace(/\.(ts|mjs|js)$/, '');
const resolved = (from, specifier) =>
  specifier.startsWith('.')
    ? bareName(path.posix.join(path.posix.dirname(from), specifier)).replace(/^dist\//, '')
    : bareName(specifier.replace(/^.*?dist\//, ''));
