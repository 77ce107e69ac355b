// Set-up, unit tests and the end-to-end walk with each supported Node: `npm run test:node [-- 22 24] [unit|e2e ...]`.
// Guarantees: each Node works in a copy of the tree that is gone at the end; what failed with any of them gives exit code 1.
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { reportFailure } from './lib/failure.mjs';
import { run, runVisibly } from './lib/run.mjs';
import { createSteps, seconds } from './lib/steps.mjs';
import { inTree, root } from './lib/tree.mjs';

const MAJORS = ['20', '22', '24', '26'];
/** The npm package with the program and its headers. */
const PACKAGE = `node-linux-${process.arch}`;
const STAGES = {
  unit: ['unit'],
  e2e: ['e2e', 'walkThrough'],
};

async function main(args) {
  const chosen = (known) => {
    const named = known.filter((name) => args.includes(name));
    return named.length > 0 ? named : known;
  };
  const unknown = args.filter((arg) => !MAJORS.includes(arg) && !Object.hasOwn(STAGES, arg));
  if (unknown.length > 0)
    throw new Error(
      `usage: npm run test:node [-- ${MAJORS.join('|')} ...] [${Object.keys(STAGES).join('|')} ...]`,
    );
  const results = [];
  for (const major of chosen(MAJORS)) results.push(...(await testWith(major, chosen(Object.keys(STAGES)))));
  for (const { name, ok, ms } of results)
    process.stdout.write(`  ${ok ? 'passed' : 'FAILED'}  ${name.padEnd(16)}  ${seconds(ms)}\n`);
  process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
}

async function testWith(major, stages) {
  const steps = createSteps();
  const prefix = await bringNode(steps, major);
  const version = (await run(path.join(prefix, 'bin', 'node'), ['--version'])).trim();
  const tree = mkdtempSync(path.join(tmpdir(), `trellis-node-${major}-`));
  const node = (...words) =>
    runVisibly(path.join(prefix, 'bin', 'node'), words, { cwd: tree, env: environmentOf(prefix) });
  try {
    await steps.step(`a copy of the tree for Node ${version}`, () => copyTree(tree));
    const results = [
      await timed(`${version} set-up`, () => node(path.join(tree, 'scripts', 'setup.mjs'), 'test')),
    ];
    for (const stage of results[0].ok ? stages : [])
      results.push(
        await timed(`${version} ${stage}`, () =>
          node(path.join(tree, 'scripts', 'test.mjs'), ...STAGES[stage]),
        ),
      );
    return results;
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

/** The folder of a Node with `bin` and `include`, brought once; deleting .cache/node brings the newest again. */
async function bringNode(steps, major) {
  const folder = inTree('.cache', 'node', major);
  const prefix = path.join(folder, 'node_modules', PACKAGE);
  if (existsSync(path.join(prefix, 'bin', 'node'))) return prefix;
  mkdirSync(folder, { recursive: true });
  await steps.step(`Node ${major}`, () =>
    run('npm', ['install', '--prefix', folder, '--no-save', `${PACKAGE}@${major}`], { cwd: folder }),
  );
  return prefix;
}

/** What git knows or would add: uncommitted changes too, nothing that was built. */
async function copyTree(tree) {
  const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  });
  for (const file of listed.split('\0').filter((name) => name !== '' && existsSync(inTree(name))))
    cpSync(inTree(file), path.join(tree, file));
}

function environmentOf(prefix) {
  return {
    ...process.env,
    PATH: `${path.join(prefix, 'bin')}:${process.env.PATH}`,
    npm_config_nodedir: prefix, // its own headers, whatever the person's npm is told
  };
}

async function timed(name, work) {
  const started = performance.now();
  const code = await work();
  return { name, ok: code === 0, ms: performance.now() - started };
}

main(process.argv.slice(2)).catch(reportFailure);
