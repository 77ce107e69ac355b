// Reads the command line of run.mjs into a value.
// Guarantees: pure; everything is checked here, before anything is started.

import { VmError } from './errors.mjs';

export const usage = `usage: node scripts/vm/run.mjs [options] -- <command...>

Runs a command as root in a virtual machine whose kernel has IPVS.

  --machine uml|qemu    which machine (default: uml where installed, else qemu)
  --timeout-seconds N   end the machine after N seconds, exit code 124 (default 600, 0 is never)
  --memory-mb N         memory of the machine (default 2048)
  --cpus N              processors, qemu only (default 2; uml always has one)
  --cwd DIR             directory the command starts in (default: the current one)
  --env NAME=VALUE      set a variable for the command; may be repeated
  --out DIR             host directory the command may write to; its path is in TRELLIS_VM_OUT
  --console             show the kernel's console on stderr as it comes
  --help                this text
`;

const machineNames = Object.freeze(['uml', 'qemu']);

const defaults = Object.freeze({
  machine: undefined,
  timeoutSeconds: 600,
  memoryMb: 2048,
  cpus: 2,
  out: undefined,
  console: false,
});

/** True when the options, not the command, ask for the usage. */
export function asksForHelp(argv) {
  const end = argv.indexOf('--');
  const options = end === -1 ? argv : argv.slice(0, end);
  return options.includes('--help') || options.includes('-h');
}

/** Returns the options, or throws VmError USAGE. `cwd` is the default of --cwd. */
export function parseOptions(argv, cwd) {
  const options = { ...defaults, cwd, env: {}, command: [] };
  const words = [...argv];
  while (words.length > 0) {
    const word = words.shift();
    if (word === '--') {
      options.command = words.splice(0);
    } else if (word === '--console') {
      options.console = true;
    } else {
      const [flag, inline] = splitFlag(word);
      const value = inline ?? words.shift();
      if (value === undefined) throw refuse(`${flag} needs a value`);
      setOption(options, flag, value);
    }
  }
  if (options.command.length === 0) throw refuse('no command: write it after --');
  return options;
}

function splitFlag(word) {
  const equals = word.indexOf('=');
  return equals < 0 ? [word, undefined] : [word.slice(0, equals), word.slice(equals + 1)];
}

function setOption(options, flag, value) {
  switch (flag) {
    case '--machine':
      if (!machineNames.includes(value)) throw refuse(`--machine is uml or qemu, not ${value}`);
      options.machine = value;
      return;
    case '--timeout-seconds':
      options.timeoutSeconds = wholeNumber(flag, value, 0);
      return;
    case '--memory-mb':
      options.memoryMb = wholeNumber(flag, value, 256);
      return;
    case '--cpus':
      options.cpus = wholeNumber(flag, value, 1);
      return;
    case '--cwd':
      options.cwd = value;
      return;
    case '--out':
      options.out = value;
      return;
    case '--env': {
      const [name, text] = splitFlag(value);
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || text === undefined) {
        throw refuse(`--env takes NAME=VALUE, not ${value}`);
      }
      options.env[name] = text;
      return;
    }
    default:
      throw refuse(`unknown option ${flag}`);
  }
}

function wholeNumber(flag, value, least) {
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number) || number < least) {
    throw refuse(`${flag} takes a whole number of at least ${least}, not ${value}`);
  }
  return number;
}

function refuse(text) {
  return new VmError('USAGE', text);
}
