// Writes down which commit was built, so that a copy without its repository still knows.
// Guarantees: where there is no repository, what an earlier build wrote stays.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inTree, root } from './tree.mjs';

const FILE = inTree('dist', 'build.json');
const BUILT = ['src', 'proxy-modes', 'native', 'cni-plugins', 'package.json', 'package-lock.json'];

/** Undefined without git or a repository. The tree may belong to another user than root, who builds it. */
function git(...args) {
  if (!existsSync(inTree('.git'))) return undefined;
  const env = { ...process.env, TZ: 'UTC' };
  try {
    const options = { cwd: root, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('git', ['-c', 'safe.directory=*', ...args], options).trim();
  } catch {
    return undefined;
  }
}

/** Whether the commit that was written is the one that is checked out. */
export function knowsCommit() {
  const commit = git('rev-parse', 'HEAD');
  return commit === undefined || readBuild()?.commit === commit;
}

export function writeBuildInfo() {
  const commit = git('rev-parse', 'HEAD');
  if (commit === undefined) return;
  const treeState = git('status', '--porcelain', '--', ...BUILT) === '' ? 'clean' : 'dirty';
  const date = git('log', '-1', '--format=%cd', '--date=format-local:%Y-%m-%dT%H:%M:%SZ');
  mkdirSync(path.dirname(FILE), { recursive: true });
  writeFileSync(FILE, `${JSON.stringify({ commit, treeState, date })}\n`);
}

function readBuild() {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8'));
  } catch {
    return undefined;
  }
}
