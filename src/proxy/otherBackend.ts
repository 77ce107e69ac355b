// A mode that also takes away what an earlier start left in the back end of iptables that is not used: its rules would go on
// winning.
// Guarantees: only once the mode's own rules are in place, and with its clean-up; what cannot be removed now is tried again after
// the next sync; rules of others stay.
import { type Ownership, removal } from '../../proxy-modes/iptables/tables.js';
import type { PerFamily, ProxyMode } from '../../proxy-modes/mode.js';
import type { IptablesPort } from '../kernel/iptables/port.js';

interface OtherBackend {
  /** What the mode makes, in either back end. */
  readonly owned: Ownership;
  /** Those that the mode writes with. */
  readonly ports: PerFamily<IptablesPort>;
  /** The same family in the other back end. */
  openOther(used: IptablesPort): Promise<IptablesPort>;
}

/** The mode itself, whose sync and clean-up do more from now on. */
export function alsoCleaning(mode: ProxyMode, other: OtherBackend): ProxyMode {
  const [sync, cleanUp] = [mode.sync.bind(mode), mode.cleanUp.bind(mode)];
  let isDue = true;
  return Object.assign(mode, {
    sync: async (...wanted: Parameters<ProxyMode['sync']>) => {
      const report = await sync(...wanted);
      if (isDue)
        await clean(other).then(
          () => {
            isDue = false;
          },
          () => undefined,
        );
      return report;
    },
    cleanUp: async () => {
      await cleanUp();
      await clean(other);
    },
  });
}

async function clean({ owned, ports, openOther }: OtherBackend): Promise<void> {
  for (const used of Object.values(ports)) {
    // A back end that this machine has not, or cannot be read, holds nothing of ours.
    const other = await openOther(used).catch(() => undefined);
    const found = await other?.save().catch(() => undefined);
    const lines = found === undefined ? [] : removal(owned, found);
    try {
      if (lines.length > 0) await other?.restore(lines);
    } finally {
      other?.close();
    }
  }
}
