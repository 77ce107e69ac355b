// Puts the CNI executable and a link for each plugin into dist/cni, ready to be copied to /opt/cni/bin.
// Guarantees: the links are those of the plugins that the executable itself knows.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { inTree } from './tree.mjs';

const EXECUTABLE = 'trellis-cni';

export function placeCniPlugins() {
  const built = inTree('build', 'Release', EXECUTABLE);
  const directory = inTree('dist', 'cni');
  mkdirSync(directory, { recursive: true });
  // Written aside first: a plugin that runs now keeps its file.
  const aside = path.join(directory, `.${EXECUTABLE}`);
  copyFileSync(built, aside);
  renameSync(aside, path.join(directory, EXECUTABLE));
  for (const name of pluginNames(built)) {
    rmSync(path.join(directory, name), { force: true });
    symlinkSync(EXECUTABLE, path.join(directory, name));
  }
}

/** `trellis-cni --list` prints the name of each plugin on a line. */
function pluginNames(executable) {
  return execFileSync(executable, ['--list'], { encoding: 'utf8' }).trim().split('\n');
}
