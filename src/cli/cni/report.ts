// Tells failures of CNI to a person.
// Guarantees: the plugin's own details and everything that failed along with it are shown, indented, after the sentence.
import { CniError } from '../../cni/error.js';
import type { Terminal } from '../terminal.js';

/** An action whose CniError becomes text on standard error and exit code 1. */
export function reporting<A extends unknown[]>(terminal: Terminal, action: (...args: A) => Promise<void>) {
  return async (...args: A): Promise<void> => {
    try {
      await action(...args);
    } catch (error) {
      if (!(error instanceof CniError)) throw error;
      terminal.writeError(describe(error));
      terminal.setExitCode(1);
    }
  };
}

function describe(error: CniError): string {
  const details = error.details === '' ? '' : `${indent(error.details)}\n`;
  // The message of these two already tells the others.
  const told = error.code === 'GC_FAILED' || error.code === 'NETWORK_NOT_FOUND';
  const others = told ? '' : error.errors.map((other) => `and then: ${describe(other)}`).join('');
  return `${error.message}\n${details}${others}`;
}

const indent = (text: string): string =>
  text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
