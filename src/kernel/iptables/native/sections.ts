// The lines of an iptables-restore, table by table. Pure.
// Guarantees: what is not surely understood is refused, never guessed.
import { BUILT_IN } from '../model.js';
import type { TableName } from '../port.js';

/** Not surely understood: the tool must do the whole restore, which it can whatever was done before. */
export class NotUnderstood extends Error {
  override readonly name = 'NotUnderstood';
}
export const refuse = (what: string): never => {
  throw new NotUnderstood(what);
};

interface Section {
  readonly table: TableName;
  readonly lines: readonly string[];
}

/** The tool's limit. */
export const MAX_CHAIN_NAME = 28;

const isTable = (name: string): name is TableName => name in BUILT_IN;

/** Each line with the table it belongs to, those that open one too. */
export function* inTables(
  lines: Iterable<string>,
): Generator<{ readonly table: TableName; readonly line: string }> {
  let table: TableName | undefined;
  for (const line of lines) {
    if (table !== undefined && line === 'COMMIT') {
      table = undefined;
      continue;
    }
    if (table === undefined) {
      const name = line.startsWith('*') ? line.slice(1) : '';
      table = isTable(name) ? name : refuse(line);
    }
    yield { table, line };
  }
  if (table !== undefined) refuse('a table without COMMIT');
}

export function sectionsOf(lines: Iterable<string>): Section[] {
  const sections: { readonly table: TableName; readonly lines: string[] }[] = [];
  for (const { table, line } of inTables(lines)) {
    if (line.startsWith('*')) sections.push({ table, lines: [] });
    else sections.at(-1)?.lines.push(line);
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
