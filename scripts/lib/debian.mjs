// Files of another Debian suite's packages, and its programs, runnable here beside the machine's own.
// Guarantees: apt verifies every package by Debian's signatures; nothing outside of the given folder is changed.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { CommandFailed, run } from './run.mjs';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
/** A suite need not have every package: kubectl has been in the first, then in the second of its two. */
const PACKAGES = ['containerd', 'runc', 'etcd-server', 'kubernetes-client', 'kubectl', 'criu', 'patchelf'];
const PROGRAMS = ['containerd', 'containerd-shim-runc-v2', 'ctr', 'runc', 'etcd', 'kubectl'];
/** What only some suites have: without it the tests see what a machine without it does. */
const OPTIONAL = ['criu'];
const PATCHER = 'patchelf';

/** Brings the programs into `<folder>/bin`, once; resolves to that directory. Deleting the folder brings them anew. */
export async function bringPrograms(steps, { suite, folder }) {
  const bin = path.join(folder, 'bin');
  const stamp = path.join(folder, 'complete');
  if (existsSync(stamp)) return bin;
  rmSync(folder, { recursive: true, force: true });
  for (const name of ['lists/partial', 'cache', 'packages', 'root', 'bin'])
    mkdirSync(path.join(folder, name), { recursive: true });
  const names = await steps.step(`packages of Debian ${suite}`, () => download(suite, folder, withLibraries));
  await steps.step('programs and their libraries', () => unpack(folder));
  for (const name of ['lists', 'cache', 'packages'])
    rmSync(path.join(folder, name), { recursive: true, force: true });
  writeFileSync(stamp, `${names.join('\n')}\n`);
  return bin;
}

/** The packages that `bringPrograms` has put into the folder, with their versions. */
export const broughtPackages = (folder) =>
  readFileSync(path.join(folder, 'complete'), 'utf8').trim().split('\n');

/** Brings the packages' files into `<folder>/root`, without what they depend on; resolves to the packages with their versions. */
export async function bringFiles(steps, { suite, folder, packages }) {
  const prepared = ['lists/partial', 'cache', 'packages', 'root'];
  rmSync(folder, { recursive: true, force: true });
  for (const name of prepared) mkdirSync(path.join(folder, name), { recursive: true });
  const names = await steps.step(`packages of Debian ${suite}`, () =>
    download(suite, folder, async () => packages),
  );
  await extract(folder);
  return names;
}

async function download(suite, folder, choose) {
  const sources = path.join(folder, 'debian.sources');
  const entry = [`Types: deb`, `URIs: ${await mirror()}`, `Suites: ${suite}`, 'Components: main'];
  writeFileSync(sources, `${[...entry, `Signed-By: ${KEYRING}`].join('\n')}\n`);
  const settings = Object.entries({
    'Dir::Etc::SourceList': sources,
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::State::Lists': path.join(folder, 'lists'),
    'Dir::State::Status': '/dev/null', // what is installed here says nothing of that suite
    'Dir::Cache': path.join(folder, 'cache'),
    'Acquire::AllowInsecureRepositories': 'false',
    'APT::Get::AllowUnauthenticated': 'false',
    'APT::Sandbox::User': 'root', // the folder is the caller's
  }).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  await run('apt-get', [...settings, '-q', 'update']);
  const names = await choose(settings);
  const cwd = path.join(folder, 'packages');
  await run('apt-get', [...settings, '-q', 'download', ...names], { cwd });
  return readdirSync(cwd).map((name) => name.replace(/\.deb$/, ''));
}

/** Of the machine's own Debian; a URL that apt has already been told. */
async function mirror() {
  const wanted = ['Origin: Debian', 'Label: Debian', 'Created-By: Packages'];
  const sites = await run('apt-get', ['indextargets', '--format', '$(SITE)', ...wanted]);
  const [site = ''] = sites.trim().split('\n');
  if (site === '') throw new Error('apt has no list of a Debian mirror here: run "apt-get update" first');
  return site;
}

/** The packages that the suite has, and the libraries below them. */
async function withLibraries(settings) {
  const known = new Set((await run('apt-cache', [...settings, 'pkgnames'])).trim().split('\n'));
  const packages = PACKAGES.filter((name) => known.has(name));
  const below = await run('apt-cache', [...settings, 'depends', '--recurse', '--important', ...packages]);
  const libraries = below.split('\n').filter((line) => /^lib[a-z0-9.+-]+$/.test(line) && known.has(line));
  return [...new Set([...packages, ...libraries])];
}

async function extract(folder) {
  const [root, packages] = [path.join(folder, 'root'), path.join(folder, 'packages')];
  for (const name of readdirSync(packages))
    await run('dpkg-deb', ['--extract', path.join(packages, name), root]);
  return root;
}

async function unpack(folder) {
  const root = await extract(folder);
  const found = (name) =>
    ['usr/bin', 'usr/sbin'].map((dir) => path.join(root, dir, name)).find((file) => existsSync(file));
  for (const name of [...PROGRAMS, ...OPTIONAL]) {
    const file = found(name);
    if (file !== undefined) copyFileSync(file, path.join(folder, 'bin', name));
    else if (!OPTIONAL.includes(name)) throw new Error(`no package of the suite has ${name}`);
  }
  await tellLibraries(path.join(folder, 'bin'), root, found(PATCHER));
}

/** What this machine's libraries are too old for finds the loader and the libraries of its own suite by itself, whoever starts
 * it: containerd starts its shim and runc by name, and runc starts itself from a copy in memory. The rest is left as it is:
 * not every program stands being rewritten. */
async function tellLibraries(bin, root, patcher) {
  const { loader, libraries } = findLoader(root);
  const patch = (...words) => run(loader, ['--library-path', libraries, patcher, ...words]);
  for (const name of readdirSync(bin)) {
    const file = path.join(bin, name);
    if (!(await lacksLibraries(file))) continue;
    await patch('--set-interpreter', loader, '--force-rpath', '--set-rpath', libraries, file);
  }
}

async function lacksLibraries(file) {
  try {
    return (await run('ldd', [file])).includes('not found');
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    return error.output.includes('not found'); // otherwise it is static, and needs none
  }
}

function findLoader(root) {
  const lib = path.join(root, 'usr/lib');
  for (const directory of readdirSync(lib).filter((name) => name.endsWith('-linux-gnu'))) {
    const libraries = path.join(lib, directory);
    const name = readdirSync(libraries).find((file) => /^ld-linux.*\.so\.\d+$/.test(file));
    if (name !== undefined) return { loader: path.join(libraries, name), libraries };
  }
  throw new Error('the suite’s libc6 has no loader where it is looked for');
}
