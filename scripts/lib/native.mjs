// Builds the C++ core, the addon and the executables with node-gyp when their sources changed.
// Guarantees: nothing is downloaded when Node came with its headers, and a failed build leaves no stamp behind.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { placeCniPlugins } from './cni.mjs';
import { run } from './run.mjs';
import { checkStamp } from './stamp.mjs';
import { inTree, root } from './tree.mjs';

const JOBS = '2';
// binding.gyp asks scripts/lib/sources.mjs for its list of sources.
const INPUTS = [
  ...['binding.gyp', 'native', 'cni-plugins', 'scripts/lib/sources.mjs', 'scripts/lib/cni.mjs'],
  'node_modules/node-addon-api/package.json',
];

/** `{ fresh, commit() }` for build/. */
export function checkNative() {
  if (!existsSync(inTree('binding.gyp'))) return { fresh: true, commit: () => undefined };
  const stamp = checkStamp({
    file: inTree('build', '.trellis-native'),
    root,
    inputs: INPUTS,
    salt: `${process.version} ${process.arch}`,
  });
  const made = ['build/Release', 'dist/cni'].every((folder) => existsSync(inTree(folder)));
  return made ? stamp : { ...stamp, fresh: false };
}

export async function buildNative(steps) {
  const stamp = checkNative();
  if (stamp.fresh) return;
  // Objects made for another Node are not rebuilt by make alone, since no source changed.
  const sameNode = stamp.previous?.salt === `${process.version} ${process.arch}`;
  const commands = sameNode ? ['configure', 'build'] : ['rebuild'];
  await steps.step('native core', () =>
    run(process.execPath, [nodeGyp(), ...commands, ...flags()], { cwd: root }),
  );
  placeCniPlugins();
  stamp.commit();
}

function nodeGyp() {
  return createRequire(inTree('package.json')).resolve('node-gyp/bin/node-gyp.js');
}

function flags() {
  const prefix = path.dirname(path.dirname(process.execPath));
  const headers = existsSync(path.join(prefix, 'include', 'node', 'node_api.h'))
    ? [`--nodedir=${prefix}`]
    : [];
  return ['--jobs', JOBS, ...headers];
}
