// Installs missing Debian packages with apt-get, and says what to do where it cannot.
// Guarantees: never runs apt when nothing is missing, and a failure leaves a report, not a stopped set-up.
import { accessSync, constants } from 'node:fs';
import { missingPackages } from './packages.mjs';
import { CommandFailed, run } from './run.mjs';

const APT = '/usr/bin/apt-get';
const LEVELS = [
  { level: 'build', title: 'Debian packages for building' },
  { level: 'run', title: 'Debian packages for running' },
  { level: 'test', title: 'Debian packages for testing' },
];

/** Why apt cannot be used here, or null when it can. */
export function aptObstacle({ uid = process.getuid?.(), hasApt = canExecute(APT) } = {}) {
  if (!hasApt) return 'this system has no apt-get';
  if (uid !== 0) return 'installing packages needs root';
  return null;
}

/** Installs what is missing, level by level, so that one bad package does not hold back the others. */
export async function installPackages(steps) {
  const missing = missingPackages();
  if (missing.length === 0) return;
  await attempt(steps, 'Debian package lists', ['update']);
  for (const { level, title } of LEVELS) {
    const names = missing.filter((pkg) => pkg.level === level).map((pkg) => pkg.name);
    if (names.length > 0) {
      await attempt(steps, `${title}: ${names.join(' ')}`, [
        'install',
        '-y',
        '--no-install-recommends',
        ...names,
      ]);
    }
  }
  reportMissing(steps, missingPackages(), 'apt-get did not install them');
}

/** Says what is missing and why; throws when nothing can be built without it. */
export function reportMissing(steps, missing, reason) {
  if (missing.length === 0) return;
  steps.note(describeMissing(missing, reason));
  if (missing.some((pkg) => pkg.level === 'build')) throw new MissingForBuild();
}

/** What is missing was already explained; set-up has only to stop. */
export class MissingForBuild extends Error {
  constructor() {
    super('Set-up stopped: without the packages marked "needed to build" nothing can be built.');
  }
}

/** The text a person reads: each missing package, what it is for, and the command that gets them. */
export function describeMissing(missing, reason) {
  const width = Math.max(...missing.map((pkg) => pkg.name.length));
  const lines = missing.map((pkg) => {
    const need = pkg.level === 'build' ? 'needed to build' : `needed to ${pkg.level}`;
    return `  ${pkg.name.padEnd(width)}  ${need}: ${pkg.why}`;
  });
  const names = missing.map((pkg) => pkg.name).join(' ');
  return [
    `Missing, because ${reason}:`,
    ...lines,
    'To get them on Debian or Ubuntu (elsewhere, the packages of your system that hold the same tools):',
    `  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${names}`,
  ].join('\n');
}

async function attempt(steps, title, args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    await steps.step(title, () => run(APT, ['-q', '-o', 'DPkg::Lock::Timeout=300', ...args], { env }));
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    steps.note(error.report());
  }
}

function canExecute(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // absent or not executable: both mean that it cannot be run
  }
}
