// Runs the tests: `node scripts/test.mjs [unit|kernel|runtime|e2e|vm ...] [vitest arguments]`.
// Guarantees: every stage is run even when an earlier one failed, and any failure gives a non-zero exit code.
import { reportFailure } from './lib/failure.mjs';
import { runVisibly } from './lib/run.mjs';
import { parseTestArguments, planStages, summarize } from './lib/stages.mjs';
import { createSteps } from './lib/steps.mjs';
import { inTree, root } from './lib/tree.mjs';
import { runVitest, runVitestInVm } from './lib/vitest.mjs';

const node = (...args) => runVisibly(process.execPath, args, { cwd: root });

const RUNNERS = {
  lint: () => node(inTree('node_modules', '@biomejs', 'biome', 'bin', 'biome'), 'check', '.'),
  types: () => node(inTree('node_modules', 'typescript', 'bin', 'tsc'), '-p', inTree('test')),
  vitest: runVitest,
  vm: runVitestInVm,
};

async function main(args) {
  const { projects, vitestArgs } = parseTestArguments(args);
  const results = [await timed('set-up', () => node(inTree('scripts', 'setup.mjs'), 'test'))];
  if (results[0].ok) {
    for (const stage of planStages(projects)) {
      createSteps().note(`\n== ${stage.name}`);
      results.push(
        await timed(stage.name, () => RUNNERS[stage.runner]({ projects: stage.projects, vitestArgs })),
      );
    }
  }
  process.stdout.write(`\n${summarize(results)}\n`);
  process.exitCode = results.every((result) => result.ok) ? 0 : 1;
}

// A runner gives an exit code, or an exit code with the counts of its tests.
async function timed(name, work) {
  const started = performance.now();
  const outcome = await work();
  const { code, counts } = typeof outcome === 'number' ? { code: outcome } : outcome;
  return { name, ok: code === 0, counts, ms: performance.now() - started };
}

main(process.argv.slice(2)).catch(reportFailure);
