// Makes a fresh clone ready to run: Debian packages, npm dependencies, native and TypeScript builds.
// Guarantees: idempotent, safe to run twice at once, and a run with nothing to do prints one line.
import { aptObstacle, installPackages, reportMissing } from './lib/apt.mjs';
import { checkDependencies, installDependencies } from './lib/dependencies.mjs';
import { reportFailure } from './lib/failure.mjs';
import { withLock } from './lib/lock.mjs';
import { buildNative, checkNative } from './lib/native.mjs';
import { missingPackages } from './lib/packages.mjs';
import { createSteps, seconds } from './lib/steps.mjs';
import { lockFile } from './lib/tree.mjs';
import { buildTypescript, checkTypescript } from './lib/typescript.mjs';

async function main() {
  const started = performance.now();
  const steps = createSteps();
  const missing = missingPackages();
  const obstacle = aptObstacle();
  if (obstacle !== null) reportMissing(steps, missing, obstacle);
  const install = obstacle === null && missing.length > 0;
  if (install || !isBuilt()) {
    const onWait = (pid) => steps.note(`Waiting for the set-up that process ${pid} runs in this tree.`);
    await withLock(lockFile, { onWait }, async () => {
      if (install) await installPackages(steps);
      await installDependencies(steps);
      await buildNative(steps);
      await buildTypescript(steps);
    });
  }
  const what = steps.done.length === 0 ? 'nothing to do' : `${steps.done.length} done`;
  steps.note(`Set-up is ready: ${what} (${seconds(performance.now() - started)}).`);
}

// Looking needs neither the lock nor a tree that can be written to.
function isBuilt() {
  return checkDependencies().fresh && checkNative().fresh && checkTypescript().fresh;
}

main().catch(reportFailure);
