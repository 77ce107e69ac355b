// The iptables mode: the one place of it that touches the kernel.
// Guarantees: each table of a family changes whole or not at all; only chains that changed are sent.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IptablesPort } from '../../src/kernel/iptables/port.js';
import type { NftPort } from '../../src/kernel/nftables/port.js';
import type { IpFamily, PerFamily, ProxyMode, ProxyState, TrafficOptions } from '../../src/proxy/state.js';
import { syncEach } from '../families.js';
import { Applied } from './applied.js';
import { Expectation } from './intact.js';
import { OWNED } from './plan/base.js';
import { removal } from './tables.js';
import { fullTransaction, transaction } from './transaction.js';

export interface IptablesModeOptions {
  readonly ports: PerFamily<IptablesPort>;
  readonly traffic: PerFamily<TrafficOptions>;
  /** Tells of changes by others, where the rules are nf_tables' underneath. Closed by the mode. */
  readonly nft?: NftPort;
}

/** Events of our own restore may come this long after it. */
const ECHO_MS = 300;

export function iptablesMode({ ports, traffic, nft }: IptablesModeOptions): ProxyMode {
  const families = Object.entries(ports) as [IpFamily, IptablesPort][];
  const applied = new Map<IpFamily, Applied>();
  let forgotten = 0;
  let writing = 0;
  let writes = 0;
  let lastWrite = Number.NEGATIVE_INFINITY;
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
    const start = forgotten;
    const options = traffic[family] ?? {};
    const step =
      before === undefined
        ? fullTransaction({ family, state }, await port.save(), options)
        : transaction({ family, state, changed }, before, options);
    applied.delete(family);
    const sent = isEmpty(step.lines) ? 0 : await restore(port, step.lines);
    const record = before ?? new Applied();
    record.change(step.services);
    // Somebody may have flushed it meanwhile: then it stays unknown.
    if (start === forgotten) applied.set(family, record);
    return sent;
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
      if (!expected.isMetBy(saved)) return false;
    }
    return true;
  };
  return {
    name: 'iptables',
    sync: (state, changed) => syncEach(families, (entry) => syncFamily(entry, state, changed)),
    forget: () => {
      forgotten += 1;
      applied.clear();
    },
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
