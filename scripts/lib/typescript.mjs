// Generates the API's types and compiles the TypeScript sources to dist/, each when what it reads changed.
// Guarantees: a failed compilation leaves the old dist/ in place, and a deleted source leaves no output behind.
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { generateApiTypes } from './apiTypes.mjs';
import { knowsCommit, writeBuildInfo } from './buildInfo.mjs';
import { run } from './run.mjs';
import { checkStamp, listFiles } from './stamp.mjs';
import { inTree, root } from './tree.mjs';

const ROOMS = ['src', 'proxy-modes', 'bench'];
const GENERATED = inTree('src', 'api', 'gen', 'types.ts');
const MAIN = inTree('dist', 'src', 'cli', 'main.js');
const tsc = inTree('node_modules', 'typescript', 'bin', 'tsc');

/** `{ fresh, commit() }` for src/api/gen. */
function checkApiTypes() {
  const stamp = checkStamp({
    file: inTree('src', 'api', 'gen', '.trellis-generated'),
    root,
    inputs: ['scripts/lib/apiTypes.mjs', 'node_modules/@kubernetes/client-node/package.json'],
    accept: () => true,
  });
  return existsSync(GENERATED) ? stamp : { ...stamp, fresh: false };
}

/** `{ fresh, commit() }` for what was compiled to dist/. */
function checkCompiled() {
  const stamp = checkStamp({
    file: inTree('dist', '.trellis-typescript'),
    root,
    inputs: [...ROOMS, 'tsconfig.json', 'node_modules/typescript/package.json'],
    accept: (file) => /\.(ts|json|proto)$/.test(file),
  });
  return existsSync(MAIN) && checkApiTypes().fresh ? stamp : { ...stamp, fresh: false };
}

/** `{ fresh }` for dist/, which also tells the commit it was made from. */
export const checkTypescript = () => ({ fresh: checkCompiled().fresh && knowsCommit() });

export async function buildTypescript(steps) {
  const generated = checkApiTypes();
  if (!generated.fresh) {
    await steps.step('API types', () => generateApiTypes(root));
    generated.commit();
  }
  writeBuildInfo();
  const stamp = checkCompiled();
  if (stamp.fresh) return;
  await steps.step('TypeScript', () => run(process.execPath, [tsc, '-p', root], { cwd: root }));
  for (const file of listFiles(root, ROOMS).filter((name) => name.endsWith('.proto'))) {
    mkdirSync(path.dirname(inTree('dist', file)), { recursive: true });
    copyFileSync(inTree(file), inTree('dist', file));
  }
  for (const file of orphans(listFiles(inTree('dist'), ROOMS), (source) => existsSync(inTree(source)))) {
    rmSync(inTree('dist', file));
  }
  chmodSync(MAIN, 0o755);
  stamp.commit();
}

/** Of the compiled files, those whose source is gone. */
export function orphans(compiled, hasSource) {
  return compiled.filter((file) => {
    const base = file.replace(/\.(d\.ts|js)(\.map)?$/, '');
    return base !== file && !hasSource(`${base}.ts`) && !hasSource(path.normalize(`${base}.json`));
  });
}
