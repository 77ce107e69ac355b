// What commands may do to the world outside: write, choose an exit code, look at the machine.
// Guarantees: colour only on a terminal and never against NO_COLOR (https://no-color.org).
import { type Machine, thisMachine } from '../doctor/machine.js';

export interface Terminal {
  readonly colour: boolean;
  /** Lines may be drawn over: a person looks on. */
  readonly live: boolean;
  /** How long a line may be that is drawn over; absent where nobody can say. */
  readonly columns?: number | undefined;
  readonly machine: Machine;
  write(text: string): void;
  writeError(text: string): void;
  setExitCode(code: number): void;
}

export function wantsColour(env: NodeJS.ProcessEnv, isTty: boolean): boolean {
  return isTty && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}

export function processTerminal(): Terminal {
  return {
    colour: wantsColour(process.env, process.stdout.isTTY === true),
    live: process.stdout.isTTY === true && process.env['TERM'] !== 'dumb',
    // It changes while a person looks on.
    get columns() {
      return process.stdout.columns;
    },
    machine: thisMachine,
    write: (text) => void process.stdout.write(text),
    writeError: (text) => void process.stderr.write(text),
    setExitCode: (code) => {
      process.exitCode = code;
    },
  };
}
