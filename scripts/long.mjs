// Runs the long proofs, which are too long for every change: `node scripts/long.mjs [proof ...]`.
// Guarantees: every named proof is run even when an earlier one failed, the summary has a line for each, and any failure
// gives a non-zero exit code.
import { reportFailure } from './lib/failure.mjs';
import { longUsage, parseLongArguments, vitestCall } from './lib/proofs.mjs';
import { runVisibly } from './lib/run.mjs';
import { isPassed, summarize } from './lib/stages.mjs';
import { createSteps } from './lib/steps.mjs';
import { inTree, root } from './lib/tree.mjs';
import { runVitest, runVitestInVm } from './lib/vitest.mjs';

async function main(args) {
  const { help, refusal, proofs } = parseLongArguments(args);
  if (help) return void process.stdout.write(longUsage());
  if (refusal !== undefined) {
    process.stderr.write(`${refusal}\n\n${longUsage()}`);
    process.exitCode = 2;
    return;
  }
  const setup = await runVisibly(process.execPath, [inTree('scripts', 'setup.mjs'), 'test'], { cwd: root });
  if (setup !== 0) throw new Error('set-up failed');
  const results = [];
  for (const proof of proofs) {
    const call = vitestCall(proof, process.env);
    createSteps().note(`\n== ${proof.name}: ${proof.what}`);
    const started = performance.now();
    const isInVm = proof.project === 'vm' || proof.machine !== undefined;
    const { code, counts } = await (isInVm ? runVitestInVm(call) : runVitest(call));
    // A proof whose tests are gone or skipped proves nothing, whatever the others did.
    const ok = code === 0 && counts.passed > 0;
    results.push({ name: proof.name, ok, counts, ms: performance.now() - started });
  }
  process.stdout.write(`\n${summarize(results)}\n`);
  process.exitCode = isPassed(results) ? 0 : 1;
}

main(process.argv.slice(2)).catch(reportFailure);
