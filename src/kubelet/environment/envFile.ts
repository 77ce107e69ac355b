// A file of variables as init containers leave it for others: NAME='value' lines, a subset of POSIX shell. Pure.
// Guarantees: any file that is taken means the same to a shell; what is not of this form is refused by its line.
import { KubeletError } from '../error.js';

/** The first value under this name; undefined when there is none. Lines after it are not looked at. */
export function envFileValue(text: string, key: string): string | undefined {
  const lines = text.split('\n');
  for (let index = 0; index < lines.length; index++) {
    const line = (lines[index] ?? '').trimStart();
    if (line === '' || line.startsWith('#')) continue;
    const begun = index + 1;
    const [, name = '', given = ''] = /^([^=]*)=(.*)$/.exec(line) ?? refuse(begun, "missing '='");
    if (name === '') refuse(begun, 'empty variable name');
    if (name.trimEnd() !== name) refuse(begun, "whitespace before '=' is not allowed");
    // To a shell this sets nothing and runs what follows.
    if (/^[ \t]/.test(given)) {
      if (name === key) return '';
      continue;
    }
    if (!given.startsWith("'")) refuse(begun, 'value must be enclosed in single quotes');
    let value = given.slice(1);
    while (!value.includes("'")) {
      index++;
      const next = lines[index];
      if (next === undefined) throw refused(`format starting at line ${begun}: unclosed single quote`);
      value += `\n${next}`;
    }
    const end = value.indexOf("'");
    const after = value.slice(end + 1).trim();
    if (after !== '' && !after.startsWith('#')) refuse(index + 1, 'unexpected content after closing quote');
    if (name === key) return value.slice(0, end);
  }
  return undefined;
}

function refuse(line: number, why: string): never {
  throw refused(`format at line ${line}: ${why}`);
}

const refused = (why: string) =>
  new KubeletError('CreateContainerConfigError', `invalid environment variable ${why}`);
