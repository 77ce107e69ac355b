// Puts the CNI executable and a link for each plugin into dist/cni, ready to be copied to /opt/cni/bin.
// Guarantees: the links are those of the plugins that the executable itself knows.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { inTree } from './tree.mjs';

const EXECUTABLE = 'trellis-cni';
/** For tests alone: it dies where it is told to. Linked in build/cni-faults. */
const FAULTY = 'trellis-cni-faults';

export function placeCniPlugins() {
  const built = inTree('build', 'Release', EXECUTABLE);
  const directory = inTree('dist', 'cni');
  mkdirSync(directory, { recursive: true });
  // Written aside first: a plugin that runs now keeps its file.
  const aside = path.join(directory, `.${EXECUTABLE}`);
  copyFileSync(built, aside);
  renameSync(aside, path.join(directory, EXECUTABLE));
  const faulty = inTree('build', 'cni-faults');
  mkdirSync(faulty, { recursive: true });
  for (const name of pluginNames(built)) {
    link(EXECUTABLE, path.join(directory, name));
    link(path.join('..', 'Release', FAULTY), path.join(faulty, name));
  }
}

function link(target, at) {
  rmSync(at, { force: true });
  symlinkSync(target, at);
}

/** `trellis-cni --list` prints the name of each plugin on a line. */
function pluginNames(executable) {
  return execFileSync(executable, ['--list'], { encoding: 'utf8' }).trim().split('\n');
}
