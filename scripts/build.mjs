// Builds what changed: `node scripts/build.mjs [native|typescript|all]`.
// Guarantees: a second run with the same sources does nothing, and a failure is shown in full with exit code 1.
import { checkDependencies } from './lib/dependencies.mjs';
import { reportFailure } from './lib/failure.mjs';
import { withLock } from './lib/lock.mjs';
import { buildNative } from './lib/native.mjs';
import { createSteps } from './lib/steps.mjs';
import { lockFile } from './lib/tree.mjs';
import { buildTypescript } from './lib/typescript.mjs';

const BUILDS = {
  native: [buildNative],
  typescript: [buildTypescript],
  all: [buildNative, buildTypescript],
};

async function main([what = 'all', ...rest]) {
  const builds = BUILDS[what];
  if (builds === undefined || rest.length > 0) {
    process.stderr.write('usage: node scripts/build.mjs [native|typescript|all]\n');
    process.exitCode = 2;
    return;
  }
  if (process.env.TRELLIS_SETUP_BUILDS_LATER !== undefined) return;
  const steps = createSteps();
  await withLock(lockFile, {}, async () => {
    for (const build of builds) await build(steps);
    // `npm ci` run by hand ends with this script; remembering it saves set-up from installing again.
    if (process.env.npm_command === 'ci' && what === 'typescript') checkDependencies().commit();
  });
}

main(process.argv.slice(2)).catch(reportFailure);
