// Fuzzes the native core: `node scripts/fuzz.mjs [--seconds 60] [target ...]`.
// Guarantees: old failures are replayed first; a find gives exit code 1, its file, and the command that repeats it.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { reportFailure } from './lib/failure.mjs';
import { fuzzUsage, parseFuzzArguments, readStatistics, secondsEach, table } from './lib/fuzzing.mjs';
import { buildSanitized, fuzzer, MissingTools, sanitizerEnvironment } from './lib/sanitized.mjs';
import { fuzzSources } from './lib/sources.mjs';
import { createSteps } from './lib/steps.mjs';
import { inTree, root } from './lib/tree.mjs';

const AT_ONCE = 2;
// An input that takes seconds or a gigabyte is a find as well.
const LIMITS = ['-timeout=10', '-rss_limit_mb=2048', '-malloc_limit_mb=256', '-max_len=8192'];

async function main(args) {
  const known = fuzzSources().map((source) => path.basename(source, '.cc'));
  const { help, refusal, total, targets } = parseFuzzArguments(args, known);
  if (help) return void process.stdout.write(fuzzUsage(known));
  if (refusal !== undefined) {
    process.stderr.write(`${refusal}\n\n${fuzzUsage(known)}`);
    process.exitCode = 2;
    return;
  }
  const steps = createSteps();
  const isAll = targets.length === known.length;
  await buildSanitized(steps, isAll ? ['fuzzers'] : targets.map((name) => `fuzz_${name}`));

  const seconds = secondsEach({ total, targets: targets.length, atOnce: AT_ONCE });
  steps.note(`Fuzzing ${targets.length} targets for ${seconds} s each, ${AT_ONCE} at a time.`);
  const results = [];
  const waiting = [...targets];
  const worker = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
      results.push(await steps.step(name, () => fuzz(name, seconds)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  results.sort((a, b) => targets.indexOf(a.name) - targets.indexOf(b.name));
  process.stdout.write(`\n${table(results)}\n`);
  const finds = results.filter((result) => result.failure !== undefined);
  for (const { name, failure, output } of finds)
    process.stdout.write(`\n${describe(name, failure, output)}\n`);
  process.stdout.write(
    finds.length === 0 ? `fuzz: ${results.length} targets, no finds\n` : `fuzz: ${finds.length} finds\n`,
  );
  process.exitCode = finds.length === 0 ? 0 : 1;
}

async function fuzz(name, seconds) {
  const work = inTree('build', 'fuzz', name);
  const corpus = path.join(work, 'corpus'); // what the fuzzer keeps for the next run
  mkdirSync(corpus, { recursive: true });
  const old = inTree('native', 'fuzz', 'regressions', name);
  if (existsSync(old)) {
    const files = readdirSync(old).map((file) => path.join(old, file));
    const replay = await runFuzzer(name, files);
    if (replay.code !== 0)
      return {
        name,
        ...readStatistics(replay.output),
        failure: lastRun(replay.output),
        output: replay.output,
      };
  }
  const seeds = inTree('native', 'fuzz', 'corpus', name);
  const flags = [
    `-max_total_time=${seconds}`,
    '-print_final_stats=1',
    `-artifact_prefix=${work}/`,
    ...LIMITS,
  ];
  const { code, output } = await runFuzzer(name, [...flags, corpus, ...(existsSync(seeds) ? [seeds] : [])]);
  const failure =
    code === 0 ? undefined : (output.match(/Test unit written to (\S+)/)?.[1] ?? 'no file was written');
  return { name, ...readStatistics(output), failure, output };
}

// The file that a replay stopped at.
const lastRun = (output) => [...output.matchAll(/^Running: (\S+)/gm)].at(-1)?.[1] ?? 'unknown file';

function runFuzzer(name, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(fuzzer(name), args, {
      cwd: root,
      env: sanitizerEnvironment({ thorough: false }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const chunks = [];
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }));
  });
}

function describe(name, file, output) {
  const from = output.search(/^==\d+==|^.*runtime error:|does not hold|terminate called|^SUMMARY/m);
  const report = output.slice(Math.max(from, 0)).split('\n').slice(0, 40).join('\n');
  return [
    `${name}: ${file}`,
    report,
    `Repeat it:  ${fuzzer(name)} ${file}`,
    `Keep it:    install -D -m 644 ${file} native/fuzz/regressions/${name}/<what-it-shows>`,
  ].join('\n');
}

main(process.argv.slice(2)).catch((error) => {
  if (!(error instanceof MissingTools)) return reportFailure(error);
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
