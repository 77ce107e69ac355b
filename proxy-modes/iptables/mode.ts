// The iptables mode: its rules are kept by Rules; here is what tells of changes by others, and the end.
// Guarantees: what others write to these tables counts only where a look finds rules of ours gone or changed.
import type { IptablesPort } from '../../src/kernel/iptables/port.js';
import type { NftPort } from '../../src/kernel/nftables/port.js';
import { syncEach } from '../families.js';
import type { IpFamily, PerFamily, ProxyMode, TrafficOptions } from '../mode.js';
import { Rules } from './rules.js';

interface IptablesModeOptions {
  readonly ports: PerFamily<IptablesPort>;
  readonly traffic: PerFamily<TrafficOptions>;
  /** Tells of changes by others, where the rules are nf_tables' underneath. Closed by the mode. */
  readonly nft?: NftPort;
}

/** Events of our own restore may come this long after it. */
const ECHO_MS = 300;

export function iptablesMode({ ports, traffic, nft }: IptablesModeOptions): ProxyMode {
  const families = Object.entries(ports) as [IpFamily, IptablesPort][];
  const rules = new Rules(families, traffic);
  const stamp = async () => (await Promise.all(families.map(([, port]) => port.stamp(TABLES)))).join();
  const isExact = families.every(([, port]) => port.backend === 'nft');
  const check = onceAStamp(isExact ? stamp : async () => undefined, () => rules.areThere());
  return {
    name: 'iptables',
    sync: (state, changed) => syncEach(families, (entry) => rules.sync(entry, state, changed)),
    setServiceCidrs: (cidrs) => rules.setServiceCidrs(cidrs),
    forget: () => rules.forget(),
    check,
    // The nft back end tells of changes; the legacy one does not.
    ...(families.some(([, port]) => port.backend === 'legacy') ? { stamp } : {}),
    watch: (onDrift) => (nft === undefined ? () => {} : watchTables({ nft, rules, check, onDrift })),
    cleanUp: () => rules.remove(),
    close: () => {
      nft?.close();
      for (const [, port] of families) port.close();
    },
  };
}

/** The nft back end's generation at which everything was found in place: until it moves, nothing has changed. */
function onceAStamp(stampNow: () => Promise<string | undefined>, look: () => Promise<boolean>) {
  let intactAt: string | undefined;
  return async () => {
    const stamp = await stampNow();
    if (stamp !== undefined && stamp === intactAt) return true;
    const isThere = await look();
    intactAt = isThere ? stamp : undefined;
    return isThere;
  };
}

interface Watched {
  readonly nft: NftPort;
  readonly rules: Rules;
  check(): Promise<boolean>;
  onDrift(): void;
}

/** Answers how to stop. */
function watchTables({ nft, rules, check, onDrift }: Watched): () => void {
  const watch = nft.watch((events) => {
    const isOurs = events.some(
      (event) => event.event === 'lost' || (event.event === 'delete' && isTable(event.object)),
    );
    // Others write these tables too: only a look tells whether it was our rules.
    if (isOurs && !rules.wroteWithin(ECHO_MS))
      void check().then(
        (isThere) => (isThere ? undefined : onDrift()),
        () => onDrift(),
      );
  });
  return () => watch.close();
}

const TABLES = ['nat', 'filter', 'mangle'] as const;
const isTable = (object: { readonly table?: string; readonly name?: string }) =>
  TABLES.some((name) => name === (object.table ?? object.name));
