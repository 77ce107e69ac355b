// The userspace mode: packets are redirected to sockets of this process, which relay them.
// Guarantees: a rule leads only to a socket that listens; a socket is closed only after its rules are gone.
import type { IptablesPort } from '../../src/kernel/iptables/port.js';
import { FamilyRecords } from '../familyRecords.js';
import type { IpFamily, PerFamily, ProxyMode, TrafficOptions } from '../mode.js';
import { rangeRules } from './plan/base.js';
import { Relays } from './relays.js';
import { Rules, type RuleTexts } from './rules.js';

interface UserspaceModeOptions {
  readonly ports: PerFamily<IptablesPort>;
  /** Of these only the networks of node ports and services: everything has the node's address anyway. */
  readonly traffic?: PerFamily<TrafficOptions>;
}

export function userspaceMode({ ports, traffic = {} }: UserspaceModeOptions): ProxyMode {
  const families = Object.entries(ports) as [IpFamily, IptablesPort][];
  const relays = new Relays(new Set(families.map(([family]) => family)));
  const records = new FamilyRecords<RuleTexts>(traffic);
  const rules = new Rules(families, records);
  const cleanUp = async () => {
    await rules.remove();
    await relays.closeExcept(new Set());
  };
  return {
    name: 'userspace',
    sync: async (state, changed) => {
      if (rules.areWritten && changed !== undefined && (await relays.serve(state, changed, traffic)))
        return { sent: 0 };
      const served = [...state.values()].filter((port) => relays.canServe(port));
      let sent = 0;
      for (const entry of families) {
        const own = served.filter((port) => port.family === entry[0]);
        const nat = await relays.rulesOf(own, traffic);
        sent += await rules.write(entry, { filter: rangeRules(own, records.traffic(entry[0])), nat });
      }
      // Not by the state, which may have gone on meanwhile: a rule would stay behind.
      await relays.closeExcept(new Set(served.map(({ key }) => key)));
      return { sent };
    },
    setServiceCidrs: (cidrs) => records.setServiceCidrs(cidrs),
    forget: () => records.forget(),
    check: () => rules.areThere(),
    cleanUp,
    close: () => {
      relays.close();
      for (const [, iptables] of families) iptables.close();
    },
  };
}
