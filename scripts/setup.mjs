// Makes a fresh clone ready: Debian packages, npm dependencies, native and TypeScript builds.
// `node scripts/setup.mjs [build|run|compare|bench|test]` brings what that level needs; without one, what running needs.
// Guarantees: idempotent, safe to run twice at once, and a run with nothing to do prints one line.
import { aptObstacle, installPackages, reportMissing } from './lib/apt.mjs';
import { checkDependencies, installDependencies } from './lib/dependencies.mjs';
import { reportFailure } from './lib/failure.mjs';
import { levelsFor } from './lib/levels.mjs';
import { withLock } from './lib/lock.mjs';
import { buildNative, checkNative } from './lib/native.mjs';
import { missingPackages } from './lib/packages.mjs';
import { createSteps, seconds } from './lib/steps.mjs';
import { lockFile } from './lib/tree.mjs';
import { buildTypescript, checkTypescript } from './lib/typescript.mjs';

async function main(args) {
  const started = performance.now();
  const levels = levelsFor(args);
  const steps = createSteps();
  const missing = missingPackages(levels);
  const reason = aptObstacle();
  if (reason !== null) reportMissing(steps, { missing, levels, reason });
  const install = reason === null && missing.length > 0;
  if (install || !isBuilt()) {
    const onWait = (pid) => steps.note(`Waiting for the set-up that process ${pid} runs in this tree.`);
    await withLock(lockFile, { onWait }, async () => {
      if (install) await installPackages(steps, levels);
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

main(process.argv.slice(2)).catch(reportFailure);
