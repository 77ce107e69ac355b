// Switches on a command line, as Go's programs take them: alone, or with = and true or false.
// Guarantees: anything else than Go's own words for true and false is refused.
import { InvalidArgumentError, Option } from 'commander';

export function boolean(text: string): boolean {
  if (/^(1|t|true)$/i.test(text)) return true;
  if (/^(0|f|false)$/i.test(text)) return false;
  throw new InvalidArgumentError('Expected true or false.');
}

/** `--name` alone is true. Undefined unless given. */
export const switchOption = (name: string, description: string): Option =>
  new Option(`--${name} [bool]`, description).preset('true').argParser(boolean);
