// The rooms whose tests are tried by mutation, one row each, the command line that chooses, and Stryker's configuration. Pure.
// Guarantees: every room names sources and tests that exist (test/unit/scripts/lib/mutationRooms.test.ts); a score below the
// goal fails.

/** Of 100 small mistakes put into a room, its unit tests must notice this many. */
export const GOAL = 85;
/** Stryker 10 asks for Node 22. */
export const STRYKER = '9.6.1';

/**
 * `sources` are globs of what is mutated, `tests` folders of test/unit that must notice, `without` tests in them that start
 * processes, which mutants do not reach.
 */
export const ROOMS = [
  { name: 'base', sources: ['src/base/**/*.ts'], tests: ['base'] },
  { name: 'api', sources: ['src/api/**/*.ts', '!src/api/gen/**'], tests: ['api'] },
  {
    name: 'scheduler',
    sources: ['src/scheduler/plugins/**/*.ts', 'src/scheduler/preemption/**/*.ts'],
    tests: ['scheduler'],
  },
  {
    name: 'controllers',
    sources: ['src/controllers/*/plan.ts', 'src/controllers/*/status.ts', 'src/controllers/job/*.ts'],
    tests: ['controllers'],
  },
  {
    name: 'proxy-modes',
    sources: ['proxy-modes/*/plan/**/*.ts', 'proxy-modes/*/transaction.ts'],
    tests: ['proxy-modes', 'proxy'],
  },
  {
    name: 'store',
    sources: ['src/store/*.ts', 'src/store/snapshot/format.ts'],
    tests: ['store'],
    without: ['store/lmdb/storeFile'],
  },
  {
    name: 'kubelet',
    sources: ['src/kubelet/podActions.ts', 'src/kubelet/status/*.ts', 'src/kubelet/eviction/*.ts'],
    tests: ['kubelet'],
  },
  { name: 'rbac', sources: ['src/apiserver/auth/*.ts'], tests: ['apiserver/auth'] },
  { name: 'admission', sources: ['src/apiserver/admission/**/*.ts'], tests: ['apiserver/admission'] },
];

/** `{ help }`, `{ refusal }`, or `{ rooms, only, isWhole }`: `only` are files in place of the rooms' sources. */
export function parseMutationArguments(args) {
  if (args.includes('--help') || args.includes('-h')) return { help: true };
  const isWhole = args.includes('--static');
  const only = args.filter((arg) => arg.endsWith('.ts'));
  const named = args.filter((arg) => !arg.endsWith('.ts') && arg !== '--static');
  const unknown = named.find((name) => !ROOMS.some((room) => room.name === name));
  if (unknown !== undefined) return { refusal: `there is no room ${unknown} to mutate` };
  const rooms = named.length === 0 ? ROOMS : ROOMS.filter(({ name }) => named.includes(name));
  if (only.length > 0 && rooms.length !== 1) return { refusal: 'files go with the name of one room' };
  return { rooms, only, isWhole };
}

export const mutationUsage = () => `usage: npm run test:mutation [-- room ... [file.ts ...] [--static]]

Makes small mistakes in the sources, one at a time, and runs the unit tests that reach each mistake. Lists the mistakes
that no test notices. The tests must notice at least ${GOAL} %. One mistake takes about a second, all rooms take hours.

  --static   also tries mistakes in code that runs once at load, such as tables: each needs every test of its room

Rooms: ${ROOMS.map(({ name }) => name).join(', ')}
Example: npm run test:mutation -- scheduler src/scheduler/plugins/taintToleration.ts
`;

/** What Stryker is told for a room; `vitestConfig` is the file that names the room's tests. */
export const strykerConfiguration = ({ sources }, { only, isWhole, vitestConfig, concurrency }) => ({
  mutate: only.length > 0 ? only : sources,
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: vitestConfig },
  coverageAnalysis: 'perTest',
  ignoreStatic: !isWhole,
  reporters: ['clear-text', 'json'],
  // The reader of tsconfig.json wants a JavaScript API that TypeScript 7 does not have; nothing here needs it.
  tsconfigFile: 'none.json',
  tempDirName: '.cache/mutation/work',
  jsonReporter: { fileName: '.cache/mutation/report.json' },
  ignorePatterns: ['/.git', '/build', '/dist', '/native', '/bench', '/.cache/**', `!/${vitestConfig}`],
  thresholds: { high: 95, low: GOAL, break: GOAL },
  concurrency,
});

/** A vitest configuration of the room's own unit tests. */
export const vitestConfiguration = ({ tests, without = [] }) => `import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ${JSON.stringify(tests.map((folder) => `test/unit/${folder}/**/*.test.ts`))},
    exclude: ${JSON.stringify(without.map((name) => `test/unit/${name}.test.ts`))},
    pool: 'threads',
    testTimeout: 60_000,
  },
});
`;
