// What each command of package.json asks of the machine, and what apt is then told to install.
// Guarantees: starting never installs what only tests or benchmarks need, and a size is told before anything is installed.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { describeInstall, installPackages } from '../../../../scripts/lib/apt.mjs';
import { levelsFor } from '../../../../scripts/lib/levels.mjs';
import { PACKAGES } from '../../../../scripts/lib/packages.mjs';
import { CommandFailed } from '../../../../scripts/lib/run.mjs';
import { createSteps } from '../../../../scripts/lib/steps.mjs';

const root = path.resolve(import.meta.dirname, '../../../..');
const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** The levels of every set-up that the command starts: before it, as itself, or from the script that it runs. */
function asked(command: string): string[][] {
  const lines = [scripts[`pre${command}`], scripts[command]].filter((line) => line !== undefined);
  return lines.flatMap((line) => {
    const [, file = '', args = ''] = /^node (scripts\/\S+\.mjs) ?(.*)$/.exec(line) ?? [];
    if (file === 'scripts/setup.mjs') return [levelsFor(args.split(' ').filter((word) => word !== ''))];
    const source = file === '' ? '' : readFileSync(path.join(root, file), 'utf8');
    return [...source.matchAll(/'scripts', 'setup\.mjs'\)(?:, '(\w+)')?/g)].map(([, level]) =>
      levelsFor(level === undefined ? [] : [level]),
    );
  });
}

const TEST = ['build', 'run', 'test'];
const COMMANDS: Record<string, string[][]> = {
  setup: [['build', 'run']],
  start: [['build', 'run']],
  test: [TEST],
  'test:vm': [TEST],
  'test:newer': [TEST],
  'test:stock': [TEST],
  'test:fresh': [TEST],
  'test:asan': [TEST],
  'test:long': [TEST],
  'test:node': [TEST],
  fuzz: [TEST],
  bench: [['build', 'run', 'compare', 'bench']],
  compare: [['build', 'compare']],
  build: [],
};

test.each(Object.entries(COMMANDS))('npm run %s asks for %j', (command, levels) => {
  expect(scripts).toHaveProperty([command]);
  expect(asked(command)).toEqual(levels);
});

test('every command that sets up is in the table', () => {
  const found = Object.keys(scripts).filter((name) => !name.startsWith('pre') && asked(name).length > 0);
  expect(found.filter((name) => COMMANDS[name] === undefined)).toEqual([]);
});

test('a level that does not exist is refused with the ones that do', () => {
  expect(() => levelsFor(['tests'])).toThrow('build|run|compare|bench|test');
});

describe('on a machine that has none of the packages', () => {
  const SIMULATION =
    '0 upgraded, 31 newly installed, 0 to remove.\nNeed to get 2,048 B/89.3 MB of archives.\nAfter this operation, 380 MB of additional disk space will be used.\nAbort.';

  /** What set-up prints and tells apt, in order. */
  async function install(levels: string[]) {
    const happened: string[] = [];
    const steps = createSteps({ write: (text: string) => void happened.push(text), tty: false });
    let installed = false;
    await installPackages(steps, levels, {
      find: () =>
        installed ? [] : PACKAGES.filter((pkg) => pkg.levels.some((level) => levels.includes(level))),
      apt: async (args: string[]) => {
        happened.push(`apt-get ${args.join(' ')}\n`);
        if (args.includes('--assume-no'))
          throw new CommandFailed({ command: 'apt-get', outcome: 'exit code 1', output: SIMULATION });
        installed = true;
        return '';
      },
    });
    return happened;
  }
  const installedBy = (happened: string[]) =>
    happened
      .filter((line) => line.startsWith('apt-get install') && line.includes(' -y'))
      .flatMap((line) => line.trim().split(' ').slice(2))
      .filter((word) => !word.startsWith('-'));

  test('start installs packages for building and running alone', async () => {
    const names = installedBy(await install(levelsFor([])));
    expect(names).toEqual(expect.arrayContaining(['g++', 'containerd', 'kubernetes-client']));
    const wanted = PACKAGES.filter(({ levels }) => levels.includes('build') || levels.includes('run'));
    expect(names.toSorted()).toEqual(wanted.map(({ name }) => name).toSorted());
    for (const name of ['qemu-system-x86', 'clang-14', 'golang-go', 'podman', 'systemd', 'linux-image-amd64'])
      expect(names).not.toContain(name);
  });

  test('the comparison installs no container runtime', async () => {
    const names = installedBy(await install(levelsFor(['compare'])));
    expect(names).toContain('qemu-system-x86');
    for (const name of ['containerd', 'kubernetes-client', 'etcd-server', 'clang-14'])
      expect(names).not.toContain(name);
  });

  test('what, why and how much is said before it is installed', async () => {
    const happened = await install(levelsFor(['test']));
    const told = happened.findIndex((line) => line.startsWith('Debian packages to install for testing'));
    const done = happened.findIndex((line) => line.includes(' -y') && line.includes('clang-14'));
    expect(told).toBeGreaterThan(-1);
    expect(told).toBeLessThan(done);
    expect(happened[told]).toContain('(31 with those they depend on, 89.3 MB of archives, 380 MB on disk)');
    expect(happened[told]).toMatch(/ {2}clang-14 +sanitizer and fuzzer builds\n/);
  });
});

test('without a size from apt the packages are told all the same', () => {
  expect(describeInstall('running', [{ name: 'runc', why: 'starts containers' }], '')).toBe(
    'Debian packages to install for running:\n  runc  starts containers',
  );
});
