// Builds the C++ core, the addon and the executables with node-gyp when their sources changed.
// Guarantees: nothing is downloaded when Node came with its headers, and a failed build leaves no stamp behind.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { placeCniPlugins } from './cni.mjs';
import { run } from './run.mjs';
import { checkStamp } from './stamp.mjs';
import { inTree, root } from './tree.mjs';

// binding.gyp asks scripts/lib/sources.mjs for its list of sources.
const INPUTS = [
  'binding.gyp',
  'native',
  'cni-plugins',
  'scripts/lib/sources.mjs',
  'scripts/lib/cni.mjs',
  'node_modules/node-addon-api/package.json',
];
const SALT = `${process.version} ${process.arch}`;
const CNI = 'trellis-cni';

/** `{ fresh, commit() }` for build/ and dist/cni. */
export const checkNative = () => check('native');

/** The same for the CNI executables alone, which are a part of it. */
export function checkCni() {
  const native = checkNative();
  return native.fresh ? native : check('cni');
}

function check(what) {
  if (!existsSync(inTree('binding.gyp'))) return { fresh: true, commit: () => undefined };
  const stamp = checkStamp({ file: inTree('build', `.trellis-${what}`), root, inputs: INPUTS, salt: SALT });
  const made = ['build/Release', 'dist/cni'].every((folder) => existsSync(inTree(folder)));
  return made ? stamp : { ...stamp, fresh: false };
}

export const buildNative = (steps) => build(steps, { title: 'native core', stamp: checkNative() });

/** The CNI executables and what they are linked from, nothing for Node. */
export const buildCni = (steps) =>
  build(steps, { title: 'CNI executables', stamp: checkCni(), targets: [CNI] });

async function build(steps, { title, stamp, targets = [] }) {
  if (stamp.fresh) return;
  await steps.step(title, async () => {
    // Objects made for another Node are not rebuilt by make alone, since no source changed.
    const sameNode = ['native', 'cni'].some((what) => check(what).previous?.salt === SALT);
    if (!sameNode) await gyp(['clean']);
    await gyp(['configure']);
    await gyp(['build', ...targets, '--jobs', String(availableParallelism())]);
  });
  placeCniPlugins();
  stamp.commit();
}

const gyp = (words) => run(process.execPath, [nodeGyp(), ...words, ...headers()], { cwd: root });

function nodeGyp() {
  return createRequire(inTree('package.json')).resolve('node-gyp/bin/node-gyp.js');
}

function headers() {
  const prefix = path.dirname(path.dirname(process.execPath));
  return existsSync(path.join(prefix, 'include', 'node', 'node_api.h')) ? [`--nodedir=${prefix}`] : [];
}
