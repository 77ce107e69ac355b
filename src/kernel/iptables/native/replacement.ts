// Lines of an iptables-restore as changes of legacy tables, one a table. Pure.
// Guarantees: a line that is not surely understood is told, not guessed; done by the core, the changes leave what the
// tool's legacy back end would leave.
import { BUILT_IN, words } from '../model.js';
import type { TableName } from '../port.js';
import { type LegacyRule, legacyRule } from './entries.js';
import type { NatFamily } from './extensions.js';
import { readRule } from './rule.js';
import { declaredChain, MAX_CHAIN_NAME, refuse, sectionsOf } from './sections.js';

/** As the core takes them; see native/xtables/request.h. */
type Step =
  | { readonly do: 'declare' | 'remove'; readonly chain: string }
  | { readonly do: 'append' | 'insert' | 'delete'; readonly chain: string; readonly rule: LegacyRule };

interface TableChange {
  readonly do: 'change';
  readonly kind: 'table';
  readonly family: NatFamily;
  readonly name: TableName;
  readonly lock: string;
  readonly steps: readonly Step[];
}

const VERBS = { '-A': 'append', '-I': 'insert', '-D': 'delete' } as const;
const isVerb = (word: string): word is keyof typeof VERBS => word in VERBS;

/** Throws NotUnderstood. */
export function tableChanges(family: NatFamily, lines: readonly string[], lock: string): TableChange[] {
  const changes = sectionsOf(lines).map(
    ({ table, lines: own }): TableChange => ({
      do: 'change',
      kind: 'table',
      family,
      name: table,
      lock,
      steps: own.map((line) => stepOf(family, table, line)),
    }),
  );
  const isOnceEach = new Set(changes.map(({ name }) => name)).size === changes.length;
  return isOnceEach ? changes : refuse('a table twice');
}

function stepOf(family: NatFamily, table: TableName, line: string): Step {
  if (line.startsWith(':')) {
    const chain = declaredChain(line) ?? refuse(line);
    const isOurs = chain.length <= MAX_CHAIN_NAME && !BUILT_IN[table].includes(chain);
    return isOurs ? { do: 'declare', chain } : refuse(line);
  }
  const [command = '', chain = refuse(line), ...rest] = words(line);
  if (command === '-X' && rest.length === 0) return { do: 'remove', chain };
  if (!isVerb(command)) return refuse(line);
  return { do: VERBS[command], chain, rule: legacyRule(family, readRule(family, rest)) };
}
