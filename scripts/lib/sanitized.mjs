// Builds with the sanitizers: native unit tests, fuzz targets and the addon into build/sanitize, and the unit tests with
// the thread sanitizer into build/sanitize-thread.
// Guarantees: only what changed is compiled; a failure carries the whole output; the tree itself is not written to; two
// builds of one tree wait for each other.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { withLock } from './lock.mjs';
import { isThere, PACKAGES } from './packages.mjs';
import { run } from './run.mjs';
import { inTree } from './tree.mjs';

const OUT = { address: inTree('build', 'sanitize'), thread: inTree('build', 'sanitize-thread') };
const JOBS = process.env.TRELLIS_BUILD_JOBS ?? '2';
const NEEDED = ['clang-14', 'libclang-rt-14-dev', 'llvm-14', 'cmake', 'make'];
const SYMBOLIZER = '/usr/bin/llvm-symbolizer-14';

/** A tool that is not there; the message says how to get it. */
export class MissingTools extends Error {}

export const nativeTests = (sanitizer) => path.join(OUT[sanitizer], 'native_tests');
export const fuzzer = (name) => path.join(OUT.address, `fuzz_${name}`);
export const sanitizedAddon = path.join(OUT.address, 'Sanitize', 'trellis.node');
export const leakModule = path.join(OUT.address, 'Sanitize', 'leaks.node');

/** The environment that makes reports readable and says where they go; `thorough` adds what makes it four times slower. */
export function sanitizerEnvironment({ logPath, thorough = true } = {}) {
  const log = logPath === undefined ? [] : [`log_path=${logPath}`];
  // Every frame with its module, by which the reader of reports tells our addon from Node.
  const format = 'stack_trace_format="    #%n %f %S (%m)"';
  return {
    ...process.env,
    ASAN_SYMBOLIZER_PATH: SYMBOLIZER,
    ASAN_OPTIONS: [
      'detect_leaks=1',
      `detect_stack_use_after_return=${thorough ? 1 : 0}`,
      format,
      ...log,
    ].join(':'),
    UBSAN_OPTIONS: ['print_stacktrace=1', format, ...log].join(':'),
    TSAN_OPTIONS: ['halt_on_error=1', `external_symbolizer_path=${SYMBOLIZER}`].join(':'),
  };
}

/**
 * Brings the CMake targets (`native_tests`, `fuzzers`, `fuzz_<name>`, `trellis`, `leaks`) up to date. `isBeside`: other
 * work goes on meanwhile and comes first.
 */
export async function buildSanitized(steps, targets, { sanitizer = 'address', isBeside = false } = {}) {
  requireTools();
  const title = sanitizer === 'thread' ? 'thread sanitizer' : 'sanitizers';
  const perform = ([file, ...args]) =>
    isBeside ? run('nice', ['-n', '19', file, ...args]) : run(file, args);
  const onWait = (pid) => steps.note(`Waiting for the build that process ${pid} runs in this tree.`);
  await withLock(inTree('.cache', `${sanitizer}.lock`), { onWait }, async () => {
    await steps.step(`${title}: configure`, async () => {
      const [cmake, source, ...flags] = await commands(sanitizer).getConfigureCommand();
      await perform([cmake, '-S', source, '-B', OUT[sanitizer], ...flags]);
    });
    for (const target of targets)
      await steps.step(`${title}: build ${target}`, async () =>
        perform(await commands(sanitizer, { target }).getBuildCommand()),
      );
  });
}

// cmake-js knows where the headers of Node and of node-addon-api are and puts the command lines together. They are
// run from here, because its own runner lets all output through and keeps none for the report of a failure. It is not
// there before `npm ci`, when scripts that build later are loaded already.
function commands(sanitizer, more = {}) {
  const { CMake } = createRequire(inTree('package.json'))('cmake-js');
  return new CMake({
    directory: inTree('native'),
    out: OUT[sanitizer],
    config: 'Sanitize',
    isNodeApi: true,
    generator: 'Unix Makefiles',
    cCompilerPath: 'clang-14',
    cppCompilerPath: 'clang++-14',
    cMakeOptions: { NODE: process.execPath, SANITIZE: sanitizer },
    parallel: JOBS,
    ...more,
  });
}

/** The run-time library that must be in Node before anything else when it loads a sanitized addon. */
export async function preloadLibrary() {
  const arch = { x64: 'x86_64', arm64: 'aarch64' }[process.arch] ?? process.arch;
  const folder = (await run('clang-14', ['-print-runtime-dir'])).trim();
  const library = path.join(folder, `libclang_rt.asan-${arch}.so`);
  if (!existsSync(library))
    throw new MissingTools(`${library} is missing: apt-get install libclang-rt-14-dev`);
  return library;
}

function requireTools() {
  const missing = PACKAGES.filter((pkg) => NEEDED.includes(pkg.name) && !isThere(pkg.probe)).map(
    (pkg) => pkg.name,
  );
  if (missing.length > 0)
    throw new MissingTools(
      `missing for the sanitizers: apt-get install ${missing.join(' ')} (or npm run setup -- test)`,
    );
}
