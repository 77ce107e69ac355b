// Builds with the sanitizers, into build/sanitize: native unit tests, fuzz targets, and the addon.
// Guarantees: only what changed is compiled; a failure carries the whole output; the tree itself is not written to.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { isThere, PACKAGES } from './packages.mjs';
import { run } from './run.mjs';
import { inTree } from './tree.mjs';

const { CMake } = createRequire(inTree('package.json'))('cmake-js');
const OUT = inTree('build', 'sanitize');
const JOBS = process.env.TRELLIS_BUILD_JOBS ?? '2';
const NEEDED = ['clang-14', 'libclang-rt-14-dev', 'llvm-14', 'cmake', 'make'];

/** A tool that is not there; the message says how to get it. */
export class MissingTools extends Error {}

export const nativeTests = path.join(OUT, 'native_tests');
export const fuzzer = (name) => path.join(OUT, `fuzz_${name}`);
export const sanitizedAddon = path.join(OUT, 'Sanitize', 'trellis.node');
export const leakModule = path.join(OUT, 'Sanitize', 'leaks.node');

/** The environment that makes reports readable and says where they go; `thorough` adds what makes it four times slower. */
export function sanitizerEnvironment({ logPath, thorough = true } = {}) {
  const log = logPath === undefined ? [] : [`log_path=${logPath}`];
  // Every frame with its module, by which the reader of reports tells our addon from Node.
  const format = 'stack_trace_format="    #%n %f %S (%m)"';
  return {
    ...process.env,
    ASAN_SYMBOLIZER_PATH: '/usr/bin/llvm-symbolizer-14',
    ASAN_OPTIONS: [
      'detect_leaks=1',
      `detect_stack_use_after_return=${thorough ? 1 : 0}`,
      format,
      ...log,
    ].join(':'),
    UBSAN_OPTIONS: ['print_stacktrace=1', format, ...log].join(':'),
  };
}

/** Brings the CMake target (`native_tests`, `fuzzers`, `fuzz_<name>`, `trellis`, `leaks`) up to date. */
export async function buildSanitized(steps, targets) {
  requireTools();
  // cmake-js knows where the headers of Node and of node-addon-api are and puts the command lines together. They are
  // run from here, because its own runner lets all output through and keeps none for the report of a failure.
  const options = {
    directory: inTree('native'),
    out: OUT,
    config: 'Sanitize',
    isNodeApi: true,
    generator: 'Unix Makefiles',
    cCompilerPath: 'clang-14',
    cppCompilerPath: 'clang++-14',
    cMakeOptions: { NODE: process.execPath },
    parallel: JOBS,
  };
  await steps.step('sanitizers: configure', async () => {
    const [cmake, source, ...flags] = await new CMake(options).getConfigureCommand();
    await run(cmake, ['-S', source, '-B', OUT, ...flags]);
  });
  for (const target of targets) {
    await steps.step(`sanitizers: build ${target}`, async () => {
      const [cmake, ...args] = await new CMake({ ...options, target }).getBuildCommand();
      await run(cmake, args);
    });
  }
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
