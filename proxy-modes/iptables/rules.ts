// What the iptables mode has written, family by family, and how it is brought to a state and looked at again.
// Guarantees: each table of a family changes whole or not at all; only chains that changed are sent; a service of which the
// kernel or the tool refuses a rule is left out and told, and the others are served.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { KernelError } from '../../src/kernel/error.js';
import type { IptablesPort } from '../../src/kernel/iptables/port.js';
import { FamilyRecords } from '../familyRecords.js';
import type { IpFamily, PerFamily, ProxyState, ServicePort, SyncReport, TrafficOptions } from '../mode.js';
import { Applied } from './applied.js';
import { Expectation } from './intact.js';
import { OWNED } from './plan/base.js';
import { linesOf } from './plan/service.js';
import { Spelling, withoutComment } from './spelling.js';
import { removal } from './tables.js';
import { fullTransaction, transaction } from './transaction.js';

type Family = readonly [IpFamily, IptablesPort];

export class Rules {
  readonly #families: readonly Family[];
  readonly #records: FamilyRecords<Applied>;
  readonly #spelling = new Spelling();
  #writing = 0;
  #writes = 0;
  #lastWrite = Number.NEGATIVE_INFINITY;

  constructor(families: readonly Family[], traffic: PerFamily<TrafficOptions>) {
    this.#families = families;
    this.#records = new FamilyRecords(traffic);
  }

  /** Whether a write of ours is under way or ended that recently. */
  wroteWithin(ms: number): boolean {
    return this.#writing > 0 || performance.now() - this.#lastWrite <= ms;
  }

  setServiceCidrs(cidrs: readonly string[]): void {
    this.#records.setServiceCidrs(cidrs);
  }

  forget(): void {
    this.#records.forget();
  }

  async sync(
    [family, port]: Family,
    state: ProxyState,
    changed: ReadonlySet<string> | undefined,
  ): Promise<SyncReport> {
    const before = this.#records.get(family);
    if (before === undefined) return this.#syncAll([family, port], state);
    const step = transaction({ family, state, changed }, before, this.#records.traffic(family));
    const remember = this.#records.write(family);
    const sent = isEmpty(step.lines) ? 0 : await this.#restore(port, step.lines);
    before.change(step.services);
    remember(before);
    return { sent };
  }

  /** Everything anew; without the services whose rules are refused, one after another, as the tool names them. */
  async #syncAll([family, port]: Family, state: ProxyState): Promise<SyncReport> {
    const failed = new Map<string, unknown>();
    for (;;) {
      const remember = this.#records.write(family);
      const wanted = failed.size === 0 ? state : new Map([...state].filter(([key]) => !failed.has(key)));
      const traffic = this.#records.traffic(family);
      const step = fullTransaction({ family, state: wanted }, await port.save(), traffic);
      try {
        const sent = await this.#restore(port, step.lines);
        const record = new Applied();
        record.change(step.services);
        remember(record);
        return { sent, failed };
      } catch (error) {
        const culprit =
          failed.size < MOST_REFUSED ? culpritOf(error, step.services.values(), traffic) : undefined;
        if (culprit === undefined) throw error;
        failed.set(culprit, error);
      }
    }
  }

  /** Answers how many lines there were; none are not sent. */
  async #restore(port: IptablesPort, lines: Iterable<string>): Promise<number> {
    const counted = countLines(lines);
    this.#writing += 1;
    this.#writes += 1;
    try {
      await port.restore(counted);
    } finally {
      this.#writing -= 1;
      this.#lastWrite = performance.now();
    }
    return counted.count();
  }

  /** Whether the kernel has what was written, and nothing else in our chains. */
  async areThere(): Promise<boolean> {
    for (const [family, port] of this.#families) {
      const record = this.#records.get(family);
      if (record === undefined) continue;
      const at = this.#writes;
      const saved = await port.save();
      const expected = new Expectation({ ...this.#records.traffic(family), family });
      let added = 0;
      for (const one of record.services.values()) {
        expected.add(one);
        added += 1;
        if (added % SLICE_SERVICES === 0) await nextTurn();
      }
      // Written meanwhile: neither what was saved nor what is expected is of one moment. The next look tells.
      if (this.#writing > 0 || this.#writes !== at) continue;
      if (!this.#spelling.accepts(expected.likeness(saved))) return false;
    }
    return true;
  }

  /** All that is this mode's, also of another process before. */
  async remove(): Promise<void> {
    for (const [, port] of this.#families) {
      const lines = removal(OWNED, await port.save());
      if (lines.length > 0) await this.#restore(port, lines);
    }
    this.#records.forget();
  }
}

/** Services planned between two turns of the event loop. */
const SLICE_SERVICES = 100;

/** A sync ends with a failure rather than with more attempts than these. */
const MOST_REFUSED = 20;

/** The service one of whose rules was refused. */
function culpritOf(
  error: unknown,
  services: Iterable<ServicePort | undefined>,
  options: TrafficOptions,
): string | undefined {
  if (!(error instanceof KernelError) || !error.operation.startsWith('-')) return undefined;
  for (const port of services)
    if (port !== undefined && linesOf(port, options).has(withoutComment(error.operation))) return port.key;
  return undefined;
}

const isEmpty = (lines: Iterable<string>) => lines[Symbol.iterator]().next().done === true;

function countLines(lines: Iterable<string>): Iterable<string> & { count(): number } {
  let counted = 0;
  return {
    *[Symbol.iterator]() {
      counted = 0;
      for (const line of lines) {
        counted += 1;
        yield line;
      }
    },
    count: () => counted,
  };
}
