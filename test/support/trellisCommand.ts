// Runs a trellis command line in this process and answers what it wrote.
import { runProgram } from '../../src/cli/program.js';
import { type Machine, thisMachine } from '../../src/doctor/machine.js';

export async function trellis(
  args: readonly string[],
  machine: Machine = thisMachine,
): Promise<{ out: string; err: string; code: number }> {
  const seen = { out: '', err: '', code: 0 };
  await runProgram(args, {
    colour: false,
    live: false,
    machine,
    write: (text) => {
      seen.out += text;
    },
    writeError: (text) => {
      seen.err += text;
    },
    setExitCode: (code) => {
      seen.code = code;
    },
  });
  return seen;
}
