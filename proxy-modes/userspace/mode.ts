// The userspace mode: packets are redirected to sockets of this process, which relay them.
// Guarantees: a rule leads only to a socket that listens; a socket is closed only after its rules are gone.
import type { IptablesPort } from '../../src/kernel/iptables/port.js';
import {
  type IpFamily,
  internalEndpoints,
  type PerFamily,
  type ProxyMode,
  type ProxyState,
  type ServicePort,
  type TrafficOptions,
} from '../../src/proxy/state.js';
import { missingJumps, removal, serviceChains, wholeTable } from '../iptables/tables.js';
import { OWNED } from './plan/base.js';
import { planService } from './plan/service.js';
import { openRelay, type Relay } from './relay.js';

export interface UserspaceModeOptions {
  readonly ports: PerFamily<IptablesPort>;
  /** Of these only the networks of node ports: everything has the node's address anyway. */
  readonly traffic?: PerFamily<TrafficOptions>;
}

export function userspaceMode({ ports, traffic = {} }: UserspaceModeOptions): ProxyMode {
  const families = Object.entries(ports) as [IpFamily, IptablesPort][];
  const relays = new Map<string, Relay>();
  const written = new Map<IpFamily, string>();

  /** The relay keeps to the cluster IP's policy: it cannot tell by which address a client came. */
  const relayOf = async (port: ServicePort): Promise<Relay> => {
    const relay = relays.get(port.key) ?? (await openRelay(port));
    relays.set(port.key, relay);
    relay.balancer.set(internalEndpoints(port), port.affinitySeconds);
    return relay;
  };
  const syncFamily = async ([family, iptables]: [IpFamily, IptablesPort], served: readonly ServicePort[]) => {
    const rules: string[] = [];
    for (const port of served)
      if (port.family === family) rules.push(...planService(port, await relayOf(port), traffic[family]));
    const text = rules.join('\n');
    if (written.get(family) === text) return 0;
    written.delete(family);
    const found = await iptables.save();
    const [missing, leftOver] = [missingJumps(OWNED, found), serviceChains(OWNED, found)];
    const lines = [...wholeTable(OWNED, 'nat', { missing, rules, leftOver })];
    await iptables.restore(lines);
    written.set(family, text);
    return lines.length;
  };
  const closeExcept = async (state: ProxyState) => {
    for (const [key, relay] of relays) {
      if (state.has(key)) continue;
      relays.delete(key);
      await relay.close();
    }
  };
  return {
    name: 'userspace',
    sync: async (state) => {
      // SCTP has no sockets here.
      const served = [...state.values()].filter(({ protocol }) => protocol !== 'sctp');
      let sent = 0;
      for (const entry of families) sent += await syncFamily(entry, served);
      await closeExcept(state);
      return { sent };
    },
    forget: () => written.clear(),
    check: async () => {
      const saved = await Promise.all(families.map(([, iptables]) => iptables.save('nat')));
      return saved.every((ruleset, i) => {
        const family = families[i]?.[0];
        const text = family === undefined ? undefined : written.get(family);
        const chains = ruleset.get('nat')?.chains;
        const rules = OWNED.chains.nat.flatMap((name) => chains?.get(name)?.rules ?? []);
        return text === undefined || rules.length === (text === '' ? 0 : text.split('\n').length);
      });
    },
    cleanUp: async () => {
      for (const [, iptables] of families) {
        const lines = removal(OWNED, await iptables.save());
        if (lines.length > 0) await iptables.restore(lines);
      }
      written.clear();
      await closeExcept(new Map());
    },
    close: () => {
      for (const relay of relays.values()) void relay.close();
      relays.clear();
      for (const [, iptables] of families) iptables.close();
    },
  };
}
