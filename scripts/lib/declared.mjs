// Compares the packages that the tree imports with those that package.json and docs/dependencies.md name. Pure.
// Guarantees: each difference is one sentence that names the package, and the file or the section it is missing from.
import { isBuiltin } from 'node:module';

/** Which folders and files make use of a section's packages. */
export const SECTIONS = {
  'At run time': ['src', 'proxy-modes'],
  'For building': ['scripts', 'binding.gyp'],
  'For tests and benchmarks': ['test', 'bench'],
};
const [RUN_TIME] = Object.keys(SECTIONS);

/** Names of packages that a source imports. An import begins its line, so that texts about imports are none. */
export function importsOf(text) {
  const patterns = [
    /^(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
    /^import\s*['"]([^'"]+)['"]/gm,
    /\b(?:await import|require|typeof import)\(\s*['"]([^'"]+)['"]/g,
  ];
  return packages(patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1])));
}

/** With those that it reaches another way: by their path, or through createRequire. */
export function usesOf(text) {
  const joined = text.replace(/'node_modules'((?:, '[^']+')+)/g, (_, parts) => `node_modules${parts}`);
  const paths = [...joined.matchAll(/node_modules((?:\/[\w@.-]+|, '[\w@.-]+')+)/g)].map((match) =>
    match[1].replace(/, '([^']+)'/g, '/$1').slice(1),
  );
  const required = [...text.matchAll(/(?:\)|\.resolve)\('([\w@./-]+)'\)/g)].map((match) => match[1]);
  return [...new Set([...importsOf(text), ...packages([...paths, ...required])])];
}

const packages = (specifiers) => [
  ...new Set(specifiers.filter((one) => !/^[./]/.test(one) && !isBuiltin(one)).map(packageOf)),
];

const packageOf = (specifier) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** The packages that each section of docs/dependencies.md has in the first column of its table. */
function documentedIn(page) {
  const sections = page.split(/^## /m).map((part) => [part.slice(0, part.indexOf('\n')).trim(), part]);
  return Object.fromEntries(
    Object.keys(SECTIONS).map((title) => {
      const text = sections.find(([name]) => name === title)?.[1] ?? '';
      const cells = [...text.matchAll(/^\|([^|]*)\|/gm)].map((match) => match[1]);
      return [title, cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]))];
    }),
  );
}

/** Each difference as a sentence. `files` are `{ path, text }`; `page` is docs/dependencies.md. */
export function differences({ manifest, files, page }) {
  const { dependencies = {}, devDependencies = {} } = manifest;
  const declared = { ...devDependencies, ...dependencies };
  const documented = documentedIn(page);
  return [
    ...files.flatMap((file) => undeclared(file, { dependencies, declared })),
    ...Object.entries(documented).flatMap(([section, names]) =>
      names.flatMap((name) => misplaced(name, section, { dependencies, declared, files })),
    ),
    ...Object.keys(declared)
      .filter((name) => !Object.values(documented).flat().includes(name))
      .map((name) => `docs/dependencies.md: says nothing of ${name}`),
  ];
}

function undeclared({ path, text }, { dependencies, declared }) {
  const isRunTime = isIn(path, SECTIONS[RUN_TIME]);
  const known = isRunTime ? dependencies : declared;
  const where = isRunTime ? 'dependencies' : 'dependencies and devDependencies';
  return importsOf(text)
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => `${path}: imports ${name}, which is not in the ${where} of package.json`);
}

function misplaced(name, section, { dependencies, declared, files }) {
  const at = `docs/dependencies.md: ${section}: ${name}`;
  if (!Object.hasOwn(declared, name)) return [`${at} is not in package.json`];
  const isRunTime = section === RUN_TIME;
  if (Object.hasOwn(dependencies, name) !== isRunTime)
    return [`${at} is in the ${isRunTime ? 'devDependencies' : 'dependencies'} of package.json`];
  const rooms = SECTIONS[section];
  // Types are read by the compiler wherever their package is imported, and those of Node everywhere.
  if (name === '@types/node') return [];
  const wanted = name.replace(/^@types\//, '');
  const readers = name === wanted ? files.filter(({ path }) => isIn(path, rooms)) : files;
  return readers.some(({ text }) => usesOf(text).includes(wanted))
    ? []
    : [`${at} is used by nothing in ${rooms.join(', ')}`];
}

const isIn = (path, rooms) => rooms.some((room) => path === room || path.startsWith(`${room}/`));
