// The lines of an iptables-restore, table by table. Pure.
// Guarantees: undefined when that is not the form of the lines.
import { BUILT_IN } from '../model.js';
import type { TableName } from '../port.js';

export interface Section {
  readonly table: TableName;
  readonly lines: readonly string[];
}

/** The tool's limit. */
export const MAX_CHAIN_NAME = 28;

const isTable = (name: string): name is TableName => name in BUILT_IN;

export function sectionsOf(lines: readonly string[]): Section[] | undefined {
  const sections: Section[] = [];
  let open: { readonly table: TableName; readonly lines: string[] } | undefined;
  for (const line of lines) {
    if (open === undefined) {
      const table = line.startsWith('*') ? line.slice(1) : '';
      if (!isTable(table)) return undefined;
      open = { table, lines: [] };
      sections.push(open);
    } else if (line === 'COMMIT') open = undefined;
    else open.lines.push(line);
  }
  return open === undefined ? sections : undefined;
}

const DECLARED = /^:(\S+) - \[0:0\]$/;
/** The chain that a line declares, if it does. */
export const declaredChain = (line: string): string | undefined => DECLARED.exec(line)?.[1];
