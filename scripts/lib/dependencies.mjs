// Installs the npm dependencies when they changed since the last time.
// Guarantees: `npm ci` runs only for a changed lock file, dependency field or Node ABI, or a missing node_modules.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { run } from './run.mjs';
import { checkStamp } from './stamp.mjs';
import { inTree, root } from './tree.mjs';

const FIELDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'overrides', 'allowScripts'];

/** `{ fresh, commit() }` for the installed dependencies. */
export function checkDependencies() {
  const stamp = checkStamp({
    file: inTree('node_modules', '.trellis-setup'),
    root,
    inputs: ['package-lock.json', '.npmrc'],
    salt: `${process.versions.modules} ${process.arch} ${dependencyFields()}`,
  });
  // npm writes this file last, so its absence means that an install was cut short.
  return existsSync(inTree('node_modules', '.package-lock.json')) ? stamp : { ...stamp, fresh: false };
}

/** Runs `npm ci`; the tree's own install scripts stand back, because set-up builds right after. */
export async function installDependencies(steps) {
  const stamp = checkDependencies();
  if (stamp.fresh) return;
  const env = { ...process.env, TRELLIS_SETUP_BUILDS_LATER: '1' };
  await steps.step('npm dependencies', () => run(...npm(['ci', '--include=dev']), { cwd: root, env }));
  stamp.commit();
}

// Under `npm run` the npm that runs us is known; otherwise the one on PATH is taken.
function npm(args) {
  const cli = process.env.npm_execpath;
  return cli?.endsWith('npm-cli.js') ? [process.execPath, [cli, ...args]] : ['npm', args];
}

// Other fields of package.json, such as scripts, change without a new install.
function dependencyFields() {
  const manifest = JSON.parse(readFileSync(inTree('package.json'), 'utf8'));
  const relevant = JSON.stringify(FIELDS.map((field) => manifest[field] ?? null));
  return createHash('sha256').update(relevant).digest('hex');
}
