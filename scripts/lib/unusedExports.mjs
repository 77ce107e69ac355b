// Finds what a TypeScript source exports and nobody imports. Pure.
// Guarantees: a name counts as used when another source that imports the file mentions it, so what is reported is unused.
import path from 'node:path';

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|interface|type|enum) (\w+)/gm;
const LIST = /^export (?:type )?\{([^}]*)\};/gm;
const IMPORT = /(?:from|import\(|import)\s*['"](\.[^'"]+)['"]/g;

/** Names that a source exports of its own; what it passes on from another file is not its own. */
export function exportsOf(text) {
  const listed = [...text.matchAll(LIST)].flatMap(([, names]) =>
    names.split(',').map((name) =>
      name
        .trim()
        .replace(/^type /, '')
        .replace(/^\w+ as /, ''),
    ),
  );
  return [...[...text.matchAll(DECLARATION)].map(([, name]) => name), ...listed].filter(
    (name) => name !== '',
  );
}

/** The files of the tree that a source imports, as paths from the root. */
export function importedFiles({ path: file, text }) {
  return [...text.matchAll(IMPORT)].map(([, specifier]) =>
    path.posix.join(path.posix.dirname(file), specifier).replace(/\.js$/, '.ts'),
  );
}

/** Each as a sentence. `files` are `{ path, text }`; those that `isLibrary` accepts are asked what they export. */
export function unusedExports(files, isLibrary) {
  const importers = new Map();
  for (const file of files)
    for (const target of importedFiles(file)) importers.set(target, [...(importers.get(target) ?? []), file]);
  return files
    .filter(({ path: file }) => isLibrary(file))
    .flatMap((file) => {
      const texts = (importers.get(file.path) ?? []).filter((one) => one !== file).map(({ text }) => text);
      return exportsOf(file.text)
        .filter((name) => !texts.some((text) => new RegExp(`\\b${name}\\b`).test(text)))
        .map((name) => `${file.path}: exports ${name}, which nobody imports`);
    });
}
