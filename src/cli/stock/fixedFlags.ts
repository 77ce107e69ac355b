// Flags of a Kubernetes component of which only one behaviour is supported here, with the values that describe it.
// Guarantees: any other value is refused with the flag, the value, the reason and what to do, so no flag is ignored. The
// help shows these flags in a section of their own.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { goDurationMs } from '../../base/goDuration.js';
import { boolean } from './booleans.js';

export interface FixedFlags {
  /** Why only that is supported, and what to use instead. A sentence without its full stop. */
  readonly because: string;
  /** By name, with the values that agree. Only true or false: a switch. */
  readonly flags: Readonly<Record<string, readonly string[]>>;
}

const HEADING = 'Flags with only one supported behaviour (other values are refused):';

export function withFixedFlags(command: Command, groups: readonly FixedFlags[]): Command {
  for (const { because, flags } of groups)
    for (const [name, agreeing] of Object.entries(flags)) command.addOption(fixed(name, agreeing, because));
  return command;
}

function fixed(name: string, agreeing: readonly string[], because: string): Option {
  const isSwitch = agreeing.every((value): boolean => value === 'true' || value === 'false');
  const said = agreeing.filter((value) => value !== '');
  const only = said.length === 0 ? 'leave it out' : `leave it out, or give ${said.join(' or ')}`;
  const option = new Option(`--${name} ${isSwitch ? '[bool]' : '<value>'}`, `${because}: ${only}`);
  if (isSwitch) option.preset('true');
  return option.helpGroup(HEADING).argParser((text: string) => {
    const agrees = isSwitch
      ? agreeing.includes(String(boolean(text)))
      : agreeing.some((value) => isSame(value, text));
    if (!agrees) throw new InvalidArgumentError(`${because}; ${only}.`);
    return text;
  });
}

/** Flags that kubeadm sets for what another component does here: accepted with any value, with a warning in the log. */
export interface ToldFlags {
  readonly because: string;
  readonly flags: readonly string[];
}

export function withToldFlags(command: Command, groups: readonly ToldFlags[]): Command {
  for (const { because, flags } of groups)
    for (const name of flags)
      command.addOption(
        new Option(`--${name} <value>`, `no effect, with a warning in the log: ${because}`).helpGroup(
          HEADING,
        ),
      );
  return command;
}

/** One warning for each that was given. */
export function tellFlags(
  given: object,
  groups: readonly ToldFlags[],
  warn: (message: string, fields: Readonly<Record<string, string>>) => void,
): void {
  const values = given as Readonly<Record<string, string | undefined>>;
  for (const { because, flags } of groups)
    for (const flag of flags) {
      const value = values[flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())];
      if (value !== undefined) warn('a flag has no effect', { flag: `--${flag}`, value, because });
    }
}

/** Lists are empty as `` and `[]`, durations are what they come to. */
function isSame(value: string, text: string): boolean {
  if (value === text || (value === '' && text === '[]')) return true;
  const duration = goDurationMs(value);
  return duration !== undefined && duration === goDurationMs(text);
}
