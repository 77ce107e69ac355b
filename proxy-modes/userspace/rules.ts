// The rules of the userspace mode as they were written, family by family.
// Guarantees: what did not change is not written again; nothing counts as written after a failure.
import type { IptablesPort } from '../../src/kernel/iptables/port.js';
import type { FamilyRecords } from '../familyRecords.js';
import { compare, Spelling } from '../iptables/spelling.js';
import { missingJumps, removal, serviceChains, wholeTable } from '../iptables/tables.js';
import type { IpFamily } from '../mode.js';
import { OWNED } from './plan/base.js';

/** The tables that have rules of ours. */
const TABLES = ['filter', 'nat'] as const;
export type RuleTexts = Readonly<Record<(typeof TABLES)[number], readonly string[]>>;
type Family = readonly [IpFamily, IptablesPort];

export class Rules {
  readonly #families: readonly Family[];
  readonly #records: FamilyRecords<RuleTexts>;
  readonly #spelling = new Spelling();

  constructor(families: readonly Family[], records: FamilyRecords<RuleTexts>) {
    this.#families = families;
    this.#records = records;
  }

  /** Whether it is known of each family what the kernel has. */
  get areWritten(): boolean {
    return this.#families.every(([family]) => this.#records.get(family) !== undefined);
  }

  /** Answers how many lines were sent. */
  async write([family, iptables]: Family, rules: RuleTexts): Promise<number> {
    if (isSame(this.#records.get(family), rules)) return 0;
    const remember = this.#records.write(family);
    const found = await iptables.save();
    const [missing, leftOver] = [missingJumps(OWNED, found), serviceChains(OWNED, found)];
    const lines = [
      ...wholeTable(OWNED, 'filter', { missing, rules: rules.filter }),
      ...wholeTable(OWNED, 'nat', { missing, rules: rules.nat, leftOver }),
    ];
    await iptables.restore(lines);
    remember(rules);
    return lines.length;
  }

  async areThere(): Promise<boolean> {
    for (const [family, iptables] of this.#families) {
      const rules = this.#records.get(family);
      if (rules === undefined) continue;
      const ruleset = await iptables.save();
      const missing = missingJumps(OWNED, ruleset);
      if (TABLES.some((table) => missing[table].length > 0)) return false;
      const found = TABLES.flatMap((table) =>
        OWNED.chains[table].flatMap((name) => ruleset.get(table)?.chains.get(name)?.rules ?? []),
      );
      if (!this.#spelling.accepts(compare(found, [...rules.filter, ...rules.nat]))) return false;
    }
    return true;
  }

  /** All that is this mode's, also of another process before. */
  async remove(): Promise<void> {
    for (const [, iptables] of this.#families) {
      const lines = removal(OWNED, await iptables.save());
      if (lines.length > 0) await iptables.restore(lines);
    }
    this.#records.forget();
  }
}

const isSame = (a: RuleTexts | undefined, b: RuleTexts) => JSON.stringify(a) === JSON.stringify(b);
