// Runs tests with the programs of a newer Debian: `node scripts/newer.mjs [--suite=sid] [runtime|e2e ... vitest arguments]`.
// Guarantees: the machine's own programs stay as they are; what ran is named with its version, before and after.
import { bringPrograms, broughtPackages } from './lib/debian.mjs';
import { reportFailure } from './lib/failure.mjs';
import { runVisibly } from './lib/run.mjs';
import { isPassed, parseTestArguments, summarize } from './lib/stages.mjs';
import { createSteps } from './lib/steps.mjs';
import { inTree, root } from './lib/tree.mjs';
import { runVitest } from './lib/vitest.mjs';

const SUITE = '--suite=';
/** What speaks with these programs: containerd and runc, etcd, kubectl. */
const STAGES = [
  {
    projects: ['runtime'],
    vitestArgs: ['cri/', 'cni/containerd', 'cluster/', 'kubelet/', 'store/', 'apiserver/'],
  },
  { projects: ['e2e'], vitestArgs: ['thread'] },
];

async function main(args) {
  const suite = args.find((arg) => arg.startsWith(SUITE))?.slice(SUITE.length) ?? 'sid';
  const asked = parseTestArguments(args.filter((arg) => !arg.startsWith(SUITE)));
  const setup = await runVisibly(process.execPath, [inTree('scripts', 'setup.mjs'), 'test'], { cwd: root });
  if (setup !== 0) throw new Error('set-up failed');
  const steps = createSteps();
  const folder = inTree('.cache', 'debian', suite);
  process.env.PATH = `${await bringPrograms(steps, { suite, folder })}:${process.env.PATH}`;
  const programs = broughtPackages(folder).filter((name) => !name.startsWith('lib'));
  steps.note(`With ${programs.join(', ')}`);
  const results = [];
  for (const stage of asked.projects.length > 0 ? [asked] : STAGES)
    results.push(await runStage(steps, stage));
  process.stdout.write(`\n${summarize(results)}\nwith ${programs.join(', ')}\n`);
  process.exitCode = isPassed(results) ? 0 : 1;
}

async function runStage(steps, { projects, vitestArgs }) {
  const name = projects.join(' ');
  steps.note(`\n== ${name}`);
  const started = performance.now();
  const { code, counts } = await runVitest({ projects, vitestArgs });
  return { name, ok: code === 0, counts, ms: performance.now() - started };
}

main(process.argv.slice(2)).catch(reportFailure);
