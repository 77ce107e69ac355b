// Follows the README on a fresh Debian: `npm run test:fresh`. Needs root, debootstrap and a way to the package mirrors.
// Guarantees: types the lines of the quick start as they stand, in a machine of their own (files, processes, network);
// what it made is gone at the end, whatever happened. It ends with the times and the packages that starting took.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { reportFailure } from './lib/failure.mjs';
import { run, runVisibly } from './lib/run.mjs';
import { createSteps, seconds } from './lib/steps.mjs';
import { inTree, root } from './lib/tree.mjs';

const SUITE = 'bookworm';
/** Of this place, where it has some of its own: mirrors may be behind them. */
const AUTHORITIES = '/root/authorities.crt';
const READY_MS = 300_000;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

async function main() {
  if (process.getuid() !== 0) throw new Error('a machine of its own needs root: run it with sudo');
  const files = mkdtempSync(path.join(tmpdir(), 'trellis-fresh-'));
  const netns = path.basename(files);
  const steps = createSteps();
  let machine;
  try {
    // What it mounts is gone with it, also when it fails: the files can be removed without a look.
    await steps.step(`Debian ${SUITE}`, () =>
      run('unshare', ['--mount', 'debootstrap', '--variant=minbase', SUITE, files]),
    );
    await steps.step('Node and npm', () => bringNode(files));
    await steps.step('the sources', () =>
      run('git', ['clone', '-q', root, path.join(files, 'root/trellis')]),
    );
    await steps.step('a network', () => makeNetwork(netns));
    machine = await boot(files, netns);
    const before = installedPackages(files);
    // The mirrors are behind the host's network; everything after it stays in the machine's own. It is what npm start
    // does first, so its time counts.
    const setupMs = await timed(() => machine.type('npm run setup', { isOutside: true }));
    const added = [...installedPackages(files)].filter((name) => !before.has(name));
    const startMs = await quickStart(machine);
    process.stdout.write(
      `\nThe quick start works on a fresh machine.\n${summary({ setupMs, startMs, added })}\n`,
    );
  } finally {
    machine?.end();
    spawnSync('ip', ['netns', 'delete', netns]);
    rmSync(files, { recursive: true, force: true });
  }
}

async function timed(work) {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

function summary({ setupMs, startMs, added }) {
  return [
    `npm start, from a clone to a Ready node: ${seconds(setupMs + startMs)}`,
    `  set-up          ${seconds(setupMs)} (its steps are above)`,
    `  trellis up      ${seconds(startMs)}`,
    `It installed ${added.length} Debian packages:`,
    `  ${added.join(' ')}`,
  ].join('\n');
}

/** The names of the Debian packages that are installed below the folder, as dpkg has them on record. */
function installedPackages(files) {
  const records = readFileSync(path.join(files, 'var/lib/dpkg/status'), 'utf8').split('\n\n');
  const installed = records.filter((record) => /^Status: install ok installed$/m.test(record));
  return new Set(installed.map((record) => /^Package: (.*)$/m.exec(record)?.[1] ?? '').sort());
}

/** Mounts of its own, held by a process that does nothing. Its files are the root of them, as on any machine: a runtime
 * leads those who join a container to the root of its mounts, which a mere chroot leaves the host's. */
async function boot(files, netns) {
  const mounts = [
    // A runtime wants its root to be a mount.
    `mount --bind ${files} ${files}`,
    `mount --rbind /sys ${files}/sys`,
    `mount --rbind /dev ${files}/dev`,
    `mount -t proc proc ${files}/proc`,
    `mount -t tmpfs tmpfs ${files}/run`,
  ];
  const enter = [`cd ${files}`, 'mkdir old', 'pivot_root . old', 'cd /', 'umount -l /old', 'rmdir /old'];
  const script = [...mounts, ...enter, 'echo up', 'exec sleep infinity'].join(' && ');
  const holder = spawn('unshare', ['--mount', '--uts', 'sh', '-c', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve, reject) => {
    holder.stdout.once('data', resolve);
    holder.once('exit', () => reject(new Error('the machine could not be made')));
  });
  const trust =
    process.env.NODE_EXTRA_CA_CERTS === undefined
      ? []
      : [`NODE_EXTRA_CA_CERTS=${AUTHORITIES}`, `npm_config_cafile=${AUTHORITIES}`];
  const words = (line, { isOutside = false } = {}) => [
    `--mount=/proc/${holder.pid}/ns/mnt`,
    `--uts=/proc/${holder.pid}/ns/uts`,
    ...(isOutside ? [] : [`--net=/run/netns/${netns}`]),
    '/usr/bin/env',
    '-i',
    'HOME=/root',
    'TERM=dumb',
    `PATH=${PATH}`,
    ...trust,
    'sh',
    '-c',
    `cd /root/trellis && ${line}`,
  ];
  return {
    type: async (line, options) => {
      process.stdout.write(`$ ${line}\n`);
      const code = await runVisibly('nsenter', words(line, options));
      if (code !== 0) throw new Error(`"${line}" ended with ${code}`);
    },
    start: (line) => spawn('nsenter', words(line), { stdio: ['ignore', 'pipe', 'inherit'] }),
    end: () => {
      spawnSync('nsenter', words('npx trellis down --purge'), { stdio: 'ignore' });
      holder.kill('SIGKILL');
    },
  };
}

/** The program that runs this, and what it needs to reach the mirrors from here. */
async function bringNode(machine) {
  const npm = path.resolve(path.dirname(process.execPath), '../lib/node_modules/npm');
  cpSync(process.execPath, path.join(machine, 'usr/bin/node'));
  cpSync(npm, path.join(machine, 'usr/lib/node_modules/npm'), { recursive: true });
  for (const name of ['npm', 'npx'])
    await run('ln', [
      '-sf',
      `../lib/node_modules/npm/bin/${name}-cli.js`,
      path.join(machine, 'usr/bin', name),
    ]);
  const headers = path.resolve(path.dirname(process.execPath), '../include/node');
  if (existsSync(headers)) cpSync(headers, path.join(machine, 'usr/include/node'), { recursive: true });
  for (const file of ['/etc/resolv.conf', path.join(homedir(), '.npmrc')])
    if (existsSync(file)) cpSync(file, path.join(machine, file), { dereference: true });
  const authorities = process.env.NODE_EXTRA_CA_CERTS;
  if (authorities !== undefined) cpSync(authorities, path.join(machine, AUTHORITIES), { dereference: true });
}

async function makeNetwork(netns) {
  await run('ip', ['netns', 'add', netns]);
  for (const words of [
    'link set lo up',
    'link add eth0 type veth peer name far',
    'address add 192.168.99.1/24 dev eth0',
    'link set eth0 up',
    'link set far up',
    'route add default via 192.168.99.254',
  ])
    await run('ip', ['-n', netns, ...words.split(' ')]);
}

/** Types the quick start; resolves to the time from its first line to a Ready node. */
async function quickStart(machine) {
  const [start = '', ...lines] = linesOfQuickStart(readFileSync(inTree('README.md'), 'utf8'));
  process.stdout.write(`$ ${start}\n`);
  const started = performance.now();
  const child = machine.start(start);
  await ready(child);
  const readyMs = performance.now() - started;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  for (const line of lines) await machine.type(line);
  await ended;
  return readyMs;
}

/** Every line of the first block of commands, without its comment. */
function linesOfQuickStart(readme) {
  const [, block = ''] = /## Quick start\n+```sh\n([\s\S]*?)```/.exec(readme) ?? [];
  const lines = block.split('\n').map((line) => line.replace(/\s+#.*$/, '').trim());
  if (lines[0] !== 'npm start') throw new Error('the README has no quick start that begins with "npm start"');
  return lines.filter((line) => line !== '');
}

function ready(child) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the node was not Ready in time')), READY_MS);
    let said = '';
    child.stdout.on('data', (chunk) => {
      process.stdout.write(chunk);
      said += chunk;
      if (!said.includes('Ready after')) return;
      clearTimeout(timer);
      resolve();
    });
    child.once('exit', (code) => reject(new Error(`npm start ended with ${code}`)));
  });
}

main().catch(reportFailure);
