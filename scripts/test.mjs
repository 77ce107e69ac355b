// Runs the tests: `node scripts/test.mjs [unit|kernel|runtime|e2e|native|vm ...] [vitest arguments]`.
// Guarantees: every stage is run even when an earlier one failed, and any failure gives a non-zero exit code.
import { reportFailure } from './lib/failure.mjs';
import { prepareNativeTests } from './lib/nativeTests.mjs';
import { runVisibly } from './lib/run.mjs';
import {
  besideEachOther,
  isPassed,
  parseTestArguments,
  planStages,
  summarize,
  TEST_USAGE,
} from './lib/stages.mjs';
import { createSteps } from './lib/steps.mjs';
import { inTree, root } from './lib/tree.mjs';
import { runVitest, runVitestInVm } from './lib/vitest.mjs';

const node = (...args) => runVisibly(process.execPath, args, { cwd: root });

const RUNNERS = {
  lint: () => node(inTree('scripts', 'lint.mjs')),
  types: () => node(inTree('node_modules', 'typescript', 'bin', 'tsc'), '-p', inTree('test')),
  vitest: runVitest,
  vm: runVitestInVm,
};

async function main(args) {
  if (args.length === 1 && ['--help', '-h'].includes(args[0])) return process.stdout.write(TEST_USAGE);
  const { projects, vitestArgs } = parseTestArguments(args);
  const results = [await timed('set-up', () => node(inTree('scripts', 'setup.mjs'), 'test'))];
  if (results[0].ok) results.push(...(await runStages(planStages(projects), vitestArgs)));
  process.stdout.write(`\n${summarize(results)}\n`);
  process.exitCode = isPassed(results) ? 0 : 1;
}

async function runStages(stages, vitestArgs) {
  const isAlone = stages.length === 1;
  const runners = { ...RUNNERS };
  if (stages.some(({ runner }) => runner === 'native')) {
    const run = prepareNativeTests({ isBeside: !isAlone });
    runners.native = () => run({ words: isAlone ? vitestArgs : [] });
  }
  const results = [];
  for (const group of besideEachOther(stages)) {
    createSteps().note(`\n== ${group.map(({ name }) => name).join(', and beside it ')}`);
    const run = ({ name, runner, projects }, index) =>
      timed(name, () => runners[runner]({ projects, vitestArgs, mark: index === 0 ? '' : `${name} | ` }));
    results.push(...(await Promise.all(group.map(run))));
  }
  return results;
}

// A runner gives an exit code, or an exit code with the counts of its tests.
async function timed(name, work) {
  const started = performance.now();
  const outcome = await work();
  const { code, counts } = typeof outcome === 'number' ? { code: outcome } : outcome;
  return { name, ok: code === 0, counts, ms: performance.now() - started };
}

main(process.argv.slice(2)).catch(reportFailure);
