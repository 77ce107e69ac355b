// The rule that unit tests mirror the sources, as a function that finds what breaks it. Pure.
// Guarantees: a test whose one subject bears another name is found, and so is a folder of tests that no source has.
import { resolve } from './layers.js';

/** Where sources lie: `test/unit/a/b.test.ts` mirrors `a/b` in one of these. */
const ROOTS = ['src/', '', 'test/'];
/** Folders of tests about the tree as a whole. */
const OF_THE_TREE = ['architecture', 'docs'];
const SOURCE = /\.(ts|mjs)$/;

interface TestFile {
  /** Path below test/unit, such as `api/pod.test.ts`. */
  readonly path: string;
  readonly text: string;
}

/** Each broken rule as a sentence; `sources` are all paths of the tree, without tests. */
export function misplacedTests(tests: readonly TestFile[], sources: readonly string[]): string[] {
  const folders = new Set(sources.flatMap(foldersOf));
  const files = new Set(sources.map((file) => file.replace(SOURCE, '')));
  const places = (path: string) => ROOTS.map((root) => root + path);
  return tests.flatMap(({ path, text }) => {
    const subject = path.replace(/\.test\.ts$/, '');
    const folder = subject.split('/').slice(0, -1).join('/');
    if (OF_THE_TREE.includes(folder)) return [];
    if (!places(folder).some((place) => folders.has(place)))
      return [`${path}: no sources lie in a folder ${folder}`];
    if (places(subject).some((place) => files.has(place) || folders.has(place))) return [];
    const own = importsBelow(folder, path, text);
    const [only = ''] = own;
    return own.length === 1 && !subject.startsWith(only)
      ? [`${path}: tests ${only} alone, and does not bear its name`]
      : [];
  });
}

/** What a test imports of the sources in its own folder and below it, without types, as paths below test/unit. */
function importsBelow(folder: string, path: string, text: string): string[] {
  const imported = [...text.matchAll(/^import (?!type )[^;]*? from '(\.[^']+)';/gm)].flatMap(
    ([, name = '']) => {
      const file = resolve(`test/unit/${path}`, name).replace(/\.m?js$/, '');
      return ROOTS.filter((root) => file.startsWith(`${root}${folder}/`)).map((root) =>
        file.slice(root.length),
      );
    },
  );
  // An index is its whole folder.
  return [...new Set(imported)].filter((file) => !file.endsWith('/index'));
}

function foldersOf(file: string): string[] {
  const parts = file.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
