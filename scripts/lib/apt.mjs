// Installs missing Debian packages with apt-get, and says what to do where it cannot.
// Guarantees: never runs apt when nothing is missing; says what it installs, why and how much before it does; a failure
// leaves a report, not a stopped set-up.
import { accessSync, constants } from 'node:fs';
import { LEVELS, levelOf } from './levels.mjs';
import { missingPackages } from './packages.mjs';
import { CommandFailed, run } from './run.mjs';

const APT = '/usr/bin/apt-get';

/** Why apt cannot be used here, or null when it can. */
export function aptObstacle({ uid = process.getuid?.(), hasApt = canExecute(APT) } = {}) {
  if (!hasApt) return 'this system has no apt-get';
  if (uid !== 0) return 'installing packages needs root';
  return null;
}

/** Installs what the levels miss, level by level, so that one bad package does not hold back the others. */
export async function installPackages(steps, levels, { find = missingPackages, apt = runApt } = {}) {
  const missing = find(levels);
  if (missing.length === 0) return;
  await attempt(steps, 'Debian package lists', () => apt(['update']));
  for (const [level, { title }] of Object.entries(LEVELS)) {
    const wanted = missing.filter((pkg) => levelOf(pkg, levels) === level);
    if (wanted.length === 0) continue;
    const args = ['install', '--no-install-recommends', ...wanted.map((pkg) => pkg.name)];
    steps.note(describeInstall(title, wanted, await simulate(apt, args)));
    await attempt(steps, `Debian packages for ${title}`, () => apt([...args, '-y']));
  }
  reportMissing(steps, { missing: find(levels), levels, reason: 'apt-get did not install them' });
}

/** The text before an installation: the packages, what each is for, and what apt says of their size. */
export function describeInstall(title, packages, said) {
  const [, count] = /(\d+) newly installed/.exec(said) ?? [];
  const [, download] = /Need to get (?:[^\n/]*\/)?([\d.,]+ \w+) of archives/.exec(said) ?? [];
  const [, disk] = /After this operation, ([\d.,]+ \w+) of additional disk space/.exec(said) ?? [];
  const sizes = [
    count && `${count} with those they depend on`,
    download && `${download} of archives`,
    disk && `${disk} on disk`,
  ].filter((text) => text !== undefined);
  const told = sizes.length === 0 ? '' : ` (${sizes.join(', ')})`;
  return [`Debian packages to install for ${title}${told}:`, ...purposes(packages)].join('\n');
}

/** Says what is missing and why; throws when nothing can be built without it. */
export function reportMissing(steps, { missing, levels, reason }) {
  if (missing.length === 0) return;
  steps.note(describeMissing({ missing, levels, reason }));
  if (missing.some((pkg) => levelOf(pkg, levels) === 'build')) throw new MissingForBuild();
}

/** What is missing was already explained; set-up has only to stop. */
export class MissingForBuild extends Error {
  constructor() {
    super('Set-up stopped: without the packages marked "needed to build" nothing can be built.');
  }
}

/** The text a person reads: each missing package, what it is for, and the command that gets them. */
export function describeMissing({ missing, levels, reason }) {
  const needed = (pkg) => `needed to ${LEVELS[levelOf(pkg, levels)].purpose}: `;
  const names = missing.map((pkg) => pkg.name).join(' ');
  return [
    `Missing, because ${reason}:`,
    ...purposes(missing, needed),
    'To get them on Debian or Ubuntu (elsewhere, the packages of your system that hold the same tools):',
    `  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${names}`,
  ].join('\n');
}

function purposes(packages, prefix = () => '') {
  const width = Math.max(...packages.map((pkg) => pkg.name.length));
  return packages.map((pkg) => `  ${pkg.name.padEnd(width)}  ${prefix(pkg)}${pkg.why}`);
}

/** What apt says it would do; it ends with an error because it is answered "no". */
async function simulate(apt, args) {
  try {
    return await apt([...args, '--assume-no']);
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    return error.output;
  }
}

async function attempt(steps, title, work) {
  try {
    await steps.step(title, work);
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    steps.note(error.report());
  }
}

function runApt(args) {
  // The sizes are read from its words.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  return run(APT, ['-q', '-o', 'DPkg::Lock::Timeout=300', ...args], { env });
}

function canExecute(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // absent or not executable: both mean that it cannot be run
  }
}
