// What a command may need of the machine, as levels; each Debian package names those that it belongs to.
// Guarantees: a level that is asked for brings those it builds upon and no other; starting never brings testing.

/** In the order in which they are installed; `purpose` follows "needed to". */
export const LEVELS = {
  build: { purpose: 'build', title: 'building', needs: ['build'] },
  run: { purpose: 'run', title: 'running', needs: ['build', 'run'] },
  compare: { purpose: 'compare proxy modes', title: 'comparing proxy modes', needs: ['build', 'compare'] },
  bench: {
    purpose: 'run the benchmarks',
    title: 'the benchmarks',
    needs: ['build', 'run', 'compare', 'bench'],
  },
  test: { purpose: 'test', title: 'testing', needs: ['build', 'run', 'test'] },
};

/** What a script that was given these arguments asks for; without one, what running needs. */
export function levelsFor(args) {
  const [level = 'run', ...rest] = args;
  if (!Object.hasOwn(LEVELS, level) || rest.length > 0)
    throw new UnknownLevel(`usage: node scripts/setup.mjs [${Object.keys(LEVELS).join('|')}]`);
  return LEVELS[level].needs;
}

export class UnknownLevel extends Error {}

/** Of the levels a package belongs to, the first that was asked for: what it is installed for. */
export function levelOf(pkg, levels) {
  return Object.keys(LEVELS).find((level) => levels.includes(level) && pkg.levels.includes(level));
}
