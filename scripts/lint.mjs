// `npm run lint`: Biome over the tree, clang-format over the C++, then what these have no rule for, and the packages that are
// imported against those that are declared. Guarantees: all are run; a finding of any gives exit code 1; `--write` mends forms.
import { readFileSync } from 'node:fs';
import { cppFindings, isCpp } from './lib/cppFormat.mjs';
import { differences, SECTIONS } from './lib/declared.mjs';
import { unusedExports } from './lib/exports.mjs';
import { idioms } from './lib/idioms.mjs';
import { runVisibly } from './lib/run.mjs';
import { listFiles } from './lib/stamp.mjs';
import { inTree, root } from './lib/tree.mjs';

const read = (path) => readFileSync(inTree(path), 'utf8');

const sources = listFiles(root, [...Object.values(SECTIONS).flat(), 'vitest.config.ts'])
  .filter((path) => /(\.(ts|mjs|js)|^binding\.gyp)$/.test(path) && !path.includes('/gen/'))
  .map((path) => ({ path, text: read(path) }));
const undeclaredPackages = () =>
  differences({
    manifest: JSON.parse(read('package.json')),
    files: sources,
    page: read('docs/dependencies.md'),
  });

const biome = inTree('node_modules', '@biomejs', 'biome', 'bin', 'biome');
const write = process.argv.includes('--write');
const code = await runVisibly(process.execPath, [biome, 'check', ...(write ? ['--write'] : []), '.'], {
  cwd: root,
});
const cpp = listFiles(root, ['native', 'cni-plugins', 'bench', 'scripts']).filter(isCpp);
const found = [
  ...(await cppFindings({ files: cpp, write, cwd: root })),
  ...undeclaredPackages(),
  ...idioms(sources),
  ...unusedExports(sources),
];
for (const finding of found) process.stderr.write(`${finding}\n`);
process.exitCode = code === 0 && found.length === 0 ? 0 : 1;
