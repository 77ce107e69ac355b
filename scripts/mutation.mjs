// Mutation tests of the pure rooms: `npm run test:mutation [-- room ...]`.
// Guarantees: Stryker is brought into .cache when it is asked for and is no dependency of anything else; the summary has a
// line for each room, and a room below the goal gives exit code 1.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { reportFailure } from './lib/failure.mjs';
import {
  GOAL,
  mutationUsage,
  parseMutationArguments,
  STRYKER,
  strykerConfiguration,
  vitestConfiguration,
} from './lib/mutationRooms.mjs';
import { run, runVisibly } from './lib/run.mjs';
import { createSteps } from './lib/steps.mjs';
import { inTree, root } from './lib/tree.mjs';

const FOLDER = '.cache/mutation';
const addonFile = inTree('build', 'Release', 'trellis.node');
const PROGRAM = inTree(FOLDER, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');

async function main(args) {
  const { help, refusal, rooms, only, isWhole } = parseMutationArguments(args);
  if (help) return void process.stdout.write(mutationUsage());
  if (refusal !== undefined) {
    process.stderr.write(`${refusal}\n\n${mutationUsage()}`);
    process.exitCode = 2;
    return;
  }
  await bringStryker();
  const scores = [];
  for (const room of rooms) scores.push({ room: room.name, score: await scoreOf(room, { only, isWhole }) });
  for (const { room, score } of scores)
    process.stdout.write(`${room.padEnd(12)}  ${score === undefined ? 'failed' : `${score.toFixed(1)} %`}\n`);
  process.exitCode = scores.every(({ score }) => score !== undefined && score >= GOAL) ? 0 : 1;
}

async function bringStryker() {
  if (existsSync(PROGRAM)) return;
  mkdirSync(inTree(FOLDER), { recursive: true });
  const packages = ['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${STRYKER}`);
  await createSteps().step('Stryker', () =>
    run('npm', ['install', '--prefix', inTree(FOLDER), '--no-save', '--ignore-scripts', ...packages], {
      cwd: inTree(FOLDER),
    }),
  );
}

/** Noticed mistakes of all that a test reached or should have, in percent; undefined when the run itself failed. */
async function scoreOf(room, { only, isWhole }) {
  createSteps().note(`\n== ${room.name}`);
  const vitestConfig = `${FOLDER}/${room.name}.config.mjs`;
  const configuration = inTree(FOLDER, `${room.name}.json`);
  const report = inTree(FOLDER, 'report.json');
  const concurrency = Math.max(1, availableParallelism() - 1);
  rmSync(report, { force: true });
  writeFileSync(inTree(vitestConfig), vitestConfiguration(room));
  writeFileSync(
    configuration,
    JSON.stringify(strykerConfiguration(room, { only, isWhole, vitestConfig, concurrency })),
  );
  // The tree that Stryker tests is a copy without what is built.
  const env = { TRELLIS_ADDON: addonFile, ...process.env };
  await runVisibly(process.execPath, [PROGRAM, 'run', configuration], { cwd: root, env });
  if (!existsSync(report)) return undefined;
  const mutants = Object.values(JSON.parse(readFileSync(report, 'utf8')).files).flatMap(
    (file) => file.mutants,
  );
  const noticed = mutants.filter(({ status }) => status === 'Killed' || status === 'Timeout').length;
  const missed = mutants.filter(({ status }) => status === 'Survived' || status === 'NoCoverage').length;
  return noticed + missed === 0 ? undefined : (100 * noticed) / (noticed + missed);
}

main(process.argv.slice(2)).catch(reportFailure);
