// Lines of an iptables-restore as changes of legacy tables, one a table. Pure.
// Guarantees: a line that is not surely understood is told, not guessed; done by the core, the changes leave what the
// tool's legacy back end would leave.
import { BUILT_IN, words } from '../model.js';
import type { TableName } from '../port.js';
import { type LegacyRule, legacyRule } from './entries.js';
import type { NatFamily } from './extensions.js';
import { readRule } from './rule.js';
import { declaredChain, MAX_CHAIN_NAME, sectionsOf } from './sections.js';

/** As the core takes them; see native/xtables/request.h. */
type Step =
  | { readonly do: 'declare' | 'remove'; readonly chain: string }
  | { readonly do: 'append' | 'insert' | 'delete'; readonly chain: string; readonly rule: LegacyRule };

export interface TableChange {
  readonly do: 'change';
  readonly kind: 'table';
  readonly family: NatFamily;
  readonly name: TableName;
  readonly lock: string;
  readonly steps: readonly Step[];
}

const VERBS = { '-A': 'append', '-I': 'insert', '-D': 'delete' } as const;
const isVerb = (word: string): word is keyof typeof VERBS => word in VERBS;

/** Undefined when a line was not understood: the tool must do the whole restore then. */
export function tableChanges(
  family: NatFamily,
  lines: readonly string[],
  lock: string,
): TableChange[] | undefined {
  const sections = sectionsOf(lines);
  if (sections === undefined) return undefined;
  const changes: TableChange[] = [];
  for (const { table, lines: own } of sections) {
    const steps: Step[] = [];
    for (const line of own) {
      const step = stepOf(family, table, line);
      if (step === undefined) return undefined;
      steps.push(step);
    }
    changes.push({ do: 'change', kind: 'table', family, name: table, lock, steps });
  }
  const isOnceEach = new Set(changes.map(({ name }) => name)).size === changes.length;
  return isOnceEach ? changes : undefined;
}

function stepOf(family: NatFamily, table: TableName, line: string): Step | undefined {
  if (line.startsWith(':')) {
    const chain = declaredChain(line);
    const isOurs = chain !== undefined && chain.length <= MAX_CHAIN_NAME && !BUILT_IN[table].includes(chain);
    return isOurs ? { do: 'declare', chain } : undefined;
  }
  const [command = '', chain, ...rest] = words(line);
  if (chain === undefined) return undefined;
  if (command === '-X') return rest.length === 0 ? { do: 'remove', chain } : undefined;
  const rule = isVerb(command) ? readRule(family, rest) : undefined;
  return rule !== undefined && isVerb(command)
    ? { do: VERBS[command], chain, rule: legacyRule(family, rule) }
    : undefined;
}
