// Command lines in pages, held against the programs that they name.
// Guarantees: `trellis` is judged by the very commands that it runs, values of flags included.
import { type Command, CommanderError } from 'commander';
import { createProgram, loadCommands } from '../../../src/cli/program.js';
import { thisMachine } from '../../../src/doctor/machine.js';

const SPELLING =
  /^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:npx trellis|trellis|node dist\/src\/cli\/main\.js)(?=$| )(.*)$/;
/** A terminal that nobody reads. */
export const SILENT = {
  colour: false,
  live: false,
  machine: thisMachine,
  write: () => {},
  writeError: () => {},
  setExitCode: () => {},
};

export const COMMANDS = await loadCommands('');

/** What follows `trellis` in a line of code; undefined when the line is no such command. */
export function trellisWords(line: string): string[] | undefined {
  const found = SPELLING.exec(line.trim());
  if (found === null) return undefined;
  // A comment or an explanation stands apart, another program follows; brackets are around what may be left out.
  const [typed = ''] = (found[1] ?? '').trim().split(/ {2,}| #| \| | && /);
  return typed
    .split(' ')
    .map((word) => word.replace(/^\[+|\]+$/g, ''))
    .filter((word) => word !== '' && word !== '...');
}

/** What is wrong with a command line of `trellis`, or undefined. */
export function trellisFault(words: readonly string[]): string | undefined {
  const program = createProgram(SILENT, COMMANDS);
  const [command, rest] = descend(program, words);
  // What follows belongs to another program.
  if (command.name() === 'kubectl') return undefined;
  if (command.name() !== 'install') return faultOf(command, rest);
  const at = rest.findIndex((word) => !word.startsWith('-'));
  if (at === -1) return faultOf(command, rest);
  const [role, told] = descend(program, rest.slice(at));
  return role === program
    ? `"${rest[at]}" is no command to install`
    : (faultOf(command, rest.slice(0, at)) ?? faultOf(role, told));
}

/** The command that the first words name, and the words after them. */
function descend(command: Command, words: readonly string[]): [Command, readonly string[]] {
  const [first, ...rest] = words;
  const below = command.commands.find((child) => child.name() === first);
  return below === undefined ? [command, words] : descend(below, rest);
}

function faultOf(command: Command, words: readonly string[]): string | undefined {
  try {
    // Not among a command's options, but taken by all.
    const { operands, unknown } = command.parseOptions(words.filter((word) => word !== '--help'));
    if (unknown[0] !== undefined) return `"${unknown[0]}" is no option of "${command.name()}"`;
    const takes = command.registeredArguments;
    if (operands.length <= takes.length || takes.at(-1)?.variadic) return undefined;
    return `"${operands[takes.length]}" is no command or argument of "${command.name()}"`;
  } catch (error) {
    if (error instanceof CommanderError) return error.message;
    throw error;
  }
}
