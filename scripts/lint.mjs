// `npm run lint`: Biome over the tree, then the packages that it imports against those that it declares.
// Guarantees: both are run; a finding of either gives exit code 1.
import { readFileSync } from 'node:fs';
import { differences, SECTIONS } from './lib/declared.mjs';
import { runVisibly } from './lib/run.mjs';
import { listFiles } from './lib/stamp.mjs';
import { inTree, root } from './lib/tree.mjs';

const read = (path) => readFileSync(inTree(path), 'utf8');

function undeclaredPackages() {
  const rooms = [...Object.values(SECTIONS).flat(), 'vitest.config.ts'];
  const sources = listFiles(root, rooms).filter(
    (path) => /(\.(ts|mjs|js)|^binding\.gyp)$/.test(path) && !path.includes('/gen/'),
  );
  return differences({
    manifest: JSON.parse(read('package.json')),
    files: sources.map((path) => ({ path, text: read(path) })),
    page: read('docs/dependencies.md'),
  });
}

const biome = inTree('node_modules', '@biomejs', 'biome', 'bin', 'biome');
const code = await runVisibly(process.execPath, [biome, 'check', '.'], { cwd: root });
const found = undeclaredPackages();
for (const difference of found) process.stderr.write(`${difference}\n`);
process.exitCode = code === 0 && found.length === 0 ? 0 : 1;
