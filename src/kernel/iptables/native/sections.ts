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

/** Each line with the table it belongs to, those that open one too; undefined in place of one that belongs to none. */
export function* inTables(
  lines: Iterable<string>,
): Generator<{ readonly table: TableName; readonly line: string } | undefined> {
  let table: TableName | undefined;
  for (const line of lines) {
    if (table !== undefined && line === 'COMMIT') {
      table = undefined;
      continue;
    }
    if (table === undefined) {
      const name = line.startsWith('*') ? line.slice(1) : '';
      if (!isTable(name)) return yield undefined;
      table = name;
    }
    yield { table, line };
  }
  if (table !== undefined) yield undefined;
}

export function sectionsOf(lines: Iterable<string>): Section[] | undefined {
  const sections: { readonly table: TableName; readonly lines: string[] }[] = [];
  for (const entry of inTables(lines)) {
    if (entry === undefined) return undefined;
    if (entry.line.startsWith('*')) sections.push({ table: entry.table, lines: [] });
    else sections.at(-1)?.lines.push(entry.line);
  }
  return sections;
}

/** The lines, unless there are more of them. */
export function atMost(lines: Iterable<string>, most: number): readonly string[] | undefined {
  const taken: string[] = [];
  for (const line of lines) {
    if (taken.length === most) return undefined;
    taken.push(line);
  }
  return taken;
}

const DECLARED = /^:(\S+) - \[0:0\]$/;
/** The chain that a line declares, if it does. */
export const declaredChain = (line: string): string | undefined => DECLARED.exec(line)?.[1];
