// Builds what changed: `node scripts/build.mjs [native|typescript|cni|all]`; `cni` alone works in a bare clone too.
// Guarantees: a second run with the same sources does nothing, and a failure is shown in full with exit code 1.
import { reportMissing } from './lib/apt.mjs';
import { checkDependencies, installDependencies } from './lib/dependencies.mjs';
import { reportFailure } from './lib/failure.mjs';
import { withLock } from './lib/lock.mjs';
import { buildCni, buildNative, checkCni } from './lib/native.mjs';
import { missingPackages } from './lib/packages.mjs';
import { createSteps } from './lib/steps.mjs';
import { lockFile } from './lib/tree.mjs';
import { buildTypescript } from './lib/typescript.mjs';

const BUILDS = {
  native: [buildNative],
  typescript: [buildTypescript],
  cni: [buildCniFromClone],
  all: [buildNative, buildTypescript],
};

async function main([what = 'all', ...rest]) {
  const builds = BUILDS[what];
  if (builds === undefined || rest.length > 0) {
    process.stderr.write('usage: node scripts/build.mjs [native|typescript|cni|all]\n');
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

// A compiler and what npm brings, no right of root: what is missing is named and never installed.
async function buildCniFromClone(steps) {
  const missing = missingPackages(['build']);
  reportMissing(steps, {
    missing,
    levels: ['build'],
    reason: 'building the CNI executables installs nothing',
  });
  if (checkCni().fresh) return;
  await installDependencies(steps);
  await buildCni(steps);
}

main(process.argv.slice(2)).catch(reportFailure);
