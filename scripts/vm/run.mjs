// Runs a command in a virtual machine whose kernel has IPVS: node scripts/vm/run.mjs [options] -- <command...>
// Guarantees: exits with the command's code; leaves no process, file or mount behind, however it ends.

import { closeSync, mkdirSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { confine } from './confine.mjs';
import { VmError } from './errors.mjs';
import { jobEnvironment, jobScript } from './job.mjs';
import * as qemu from './machines/qemu.mjs';
import * as uml from './machines/uml.mjs';
import { asksForHelp, parseOptions, usage } from './options.mjs';
import { channelFds, fileFds, supervise } from './supervise.mjs';

const machines = { uml, qemu };
const guestDirectory = join(dirname(fileURLToPath(import.meta.url)), 'guest');
const projectDirectory = resolve(guestDirectory, '../../..');

/** The machine asked for, or the first that is installed; uml is tried first because it starts faster. */
function chooseMachine(wanted) {
  const names = wanted === undefined ? Object.keys(machines) : [wanted];
  for (const name of names) {
    const parts = machines[name].find();
    if (parts !== null) return { name, machine: machines[name], parts };
  }
  const hints = names.map((name) => `apt-get install ${machines[name].packages.join(' ')}`);
  throw new VmError('MACHINE_MISSING', `${names.join(' or ')} is not installed: ${hints.join(', or ')}`);
}

function existingDirectory(path) {
  try {
    return realpathSync(path);
  } catch (cause) {
    throw new VmError('USAGE', `there is no directory ${path}`, { cause });
  }
}

function prepare(options) {
  if (process.getuid() !== 0)
    throw new VmError('NOT_ROOT', 'the machine is kept in namespaces, which needs root');
  const { name, machine, parts } = chooseMachine(options.machine);
  const cwd = existingDirectory(options.cwd);
  const share = options.out !== undefined;
  if (share) mkdirSync(options.out, { recursive: true });
  const out = share ? realpathSync(options.out) : '/run/trellis-vm/results'; // the latter is the guest's own
  const env = jobEnvironment({
    hostEnv: process.env,
    nodeDirectory: dirname(process.execPath),
    machine: name,
    out,
    extra: options.env,
  });
  const job = Buffer.from(jobScript({ cwd, env, command: options.command }));
  const files = machine.files(parts, join(guestDirectory, 'qemu-init.sh'));
  const command = machine.commandLine({
    parts,
    guest: { out, share, keep: [projectDirectory, cwd, dirname(process.execPath)], jobBytes: job.length },
    init: join(guestDirectory, 'init.sh'),
    memoryMb: options.memoryMb,
    cpus: options.cpus,
    fds: { ...channelFds, ...fileFds(files) },
  });
  const argv = confine(command);
  return { name, argv, job, files: Object.values(files) };
}

async function main() {
  if (asksForHelp(process.argv.slice(2))) {
    process.stdout.write(usage);
    return 0;
  }
  const abort = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => abort.abort(name));
  const options = parseOptions(process.argv.slice(2), process.cwd());
  const { name, argv, job, files } = prepare(options);
  const report = (text) => process.stderr.write(`vm (${name}): ${text}\n`);
  try {
    const result = await supervise({
      argv,
      job,
      files,
      signal: abort.signal,
      stdout: process.stdout,
      stderr: process.stderr,
      timeoutMs: options.timeoutSeconds * 1000,
      onReady: (bootMs) => report(`booted in ${seconds(bootMs)}`),
      onConsole: options.console ? (text) => process.stderr.write(text) : undefined,
    });
    report(`exit code ${result.code} after ${seconds(result.totalMs)}`);
    return result.code;
  } finally {
    for (const fd of files) closeSync(fd);
  }
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}

function explain(error) {
  if (typeof error === 'string') return 128 + constants.signals[error]; // the name of a signal we got
  if (!(error instanceof VmError)) throw error;
  const kernel = error.consoleLines.map((line) => `  | ${line}\n`).join('');
  process.stderr.write(`vm: ${error.message}\n${kernel}${error.code === 'USAGE' ? `\n${usage}` : ''}`);
  return error.exitCode;
}

process.exitCode = await main().catch(explain);
