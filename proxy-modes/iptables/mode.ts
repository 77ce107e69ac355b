// The iptables mode: the one place of it that touches the kernel.
// Guarantees: each table of a family changes whole or not at all; only chains that changed are sent; a service of which the
// kernel or the tool refuses a rule is left out and told, and the others are served.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { KernelError } from '../../src/kernel/error.js';
import type { IptablesPort } from '../../src/kernel/iptables/port.js';
import type { NftPort } from '../../src/kernel/nftables/port.js';
import { syncEach, withServiceCidrs } from '../families.js';
import type { IpFamily, PerFamily, ProxyMode, ProxyState, ServicePort, TrafficOptions } from '../mode.js';
import { Applied } from './applied.js';
import { Expectation } from './intact.js';
import { OWNED } from './plan/base.js';
import { linesOf } from './plan/service.js';
import { Spelling, withoutComment } from './spelling.js';
import { removal } from './tables.js';
import { fullTransaction, transaction } from './transaction.js';

interface IptablesModeOptions {
  readonly ports: PerFamily<IptablesPort>;
  readonly traffic: PerFamily<TrafficOptions>;
  /** Tells of changes by others, where the rules are nf_tables' underneath. Closed by the mode. */
  readonly nft?: NftPort;
}

/** Events of our own restore may come this long after it. */
const ECHO_MS = 300;

export function iptablesMode({ ports, traffic: given, nft }: IptablesModeOptions): ProxyMode {
  let traffic = given;
  const families = Object.entries(ports) as [IpFamily, IptablesPort][];
  const applied = new Map<IpFamily, Applied>();
  let forgotten = 0;
  let writing = 0;
  let writes = 0;
  let lastWrite = Number.NEGATIVE_INFINITY;
  const spelling = new Spelling();
  /** Answers how many lines there were; none are not sent. */
  const restore = async (port: IptablesPort, lines: Iterable<string>) => {
    const counted = countLines(lines);
    writing += 1;
    writes += 1;
    try {
      await port.restore(counted);
    } finally {
      writing -= 1;
      lastWrite = performance.now();
    }
    return counted.count();
  };
  const syncFamily = async (
    [family, port]: [IpFamily, IptablesPort],
    state: ProxyState,
    changed?: ReadonlySet<string>,
  ) => {
    const before = applied.get(family);
    if (before === undefined) return syncAll([family, port], state);
    const start = forgotten;
    const step = transaction({ family, state, changed }, before, traffic[family] ?? {});
    applied.delete(family);
    const sent = isEmpty(step.lines) ? 0 : await restore(port, step.lines);
    before.change(step.services);
    // Somebody may have flushed it meanwhile: then it stays unknown.
    if (start === forgotten) applied.set(family, before);
    return { sent };
  };
  /** Everything anew; without the services whose rules are refused, one after another, as the tool names them. */
  const syncAll = async ([family, port]: [IpFamily, IptablesPort], state: ProxyState) => {
    const failed = new Map<string, unknown>();
    for (;;) {
      const start = forgotten;
      const wanted = failed.size === 0 ? state : new Map([...state].filter(([key]) => !failed.has(key)));
      const step = fullTransaction({ family, state: wanted }, await port.save(), traffic[family] ?? {});
      try {
        const sent = await restore(port, step.lines);
        const record = new Applied();
        record.change(step.services);
        if (start === forgotten) applied.set(family, record);
        return { sent, failed };
      } catch (error) {
        const culprit =
          failed.size < MOST_REFUSED ? culpritOf(error, step.services.values(), traffic[family]) : undefined;
        if (culprit === undefined) throw error;
        failed.set(culprit, error);
      }
    }
  };
  const stamps = async () => (await Promise.all(families.map(([, port]) => port.stamp(TABLES)))).join();
  /** The nft back end's generation at which everything was found in place: until it moves, nothing has changed. */
  let intactAt: string | undefined;
  const check = async () => {
    const isExact = families.every(([, port]) => port.backend === 'nft');
    const stamp = isExact ? await stamps() : undefined;
    if (stamp !== undefined && stamp === intactAt) return true;
    const isThere = await look();
    intactAt = isThere ? stamp : undefined;
    return isThere;
  };
  const look = async () => {
    for (const [family, port] of families) {
      const record = applied.get(family);
      if (record === undefined) continue;
      const at = writes;
      const saved = await port.save();
      const expected = new Expectation({ ...traffic[family], family });
      let added = 0;
      for (const one of record.services.values()) {
        expected.add(one);
        added += 1;
        if (added % SLICE_SERVICES === 0) await nextTurn();
      }
      // Written meanwhile: neither what was saved nor what is expected is of one moment. The next look tells.
      if (writing > 0 || writes !== at) continue;
      if (!spelling.accepts(expected.likeness(saved))) return false;
    }
    return true;
  };
  const forget = () => {
    forgotten += 1;
    applied.clear();
  };
  return {
    name: 'iptables',
    sync: (state, changed) => syncEach(families, (entry) => syncFamily(entry, state, changed)),
    setServiceCidrs: (cidrs) => {
      traffic = withServiceCidrs(given, cidrs);
      forget();
    },
    forget,
    check,
    // The nft back end tells of changes; the legacy one does not.
    ...(families.some(([, port]) => port.backend === 'legacy') ? { stamp: stamps } : {}),
    watch: (onDrift) => {
      if (nft === undefined) return () => {};
      const watch = nft.watch((events) => {
        const isForeign = writing === 0 && performance.now() - lastWrite > ECHO_MS;
        const isOurs = events.some(
          (event) => event.event === 'lost' || (event.event === 'delete' && isTable(event.object)),
        );
        // Others write these tables too: only a look tells whether it was our rules.
        if (isForeign && isOurs)
          void check().then(
            (isThere) => (isThere ? undefined : onDrift()),
            () => onDrift(),
          );
      });
      return () => watch.close();
    },
    cleanUp: async () => {
      for (const [, port] of families) {
        const lines = removal(OWNED, await port.save());
        if (lines.length > 0) await restore(port, lines);
      }
      applied.clear();
    },
    close: () => {
      nft?.close();
      for (const [, port] of families) port.close();
    },
  };
}

/** Services planned between two turns of the event loop. */
const SLICE_SERVICES = 100;

/** A sync ends with a failure rather than with more attempts than these. */
const MOST_REFUSED = 20;

/** The service one of whose rules was refused. */
function culpritOf(
  error: unknown,
  services: Iterable<ServicePort | undefined>,
  options: TrafficOptions = {},
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

const TABLES = ['nat', 'filter', 'mangle'] as const;
const isTable = (object: { readonly table?: string; readonly name?: string }) =>
  TABLES.some((name) => name === (object.table ?? object.name));
