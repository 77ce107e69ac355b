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
import { compare, Spelling } from '../iptables/spelling.js';
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
  /** The rules of each service port, as last planned. */
  const planned = new Map<string, string>();
  const spelling = new Spelling();
  /** SCTP has no sockets here. */
  const isServed = ({ protocol, family }: ServicePort) => protocol !== 'sctp' && ports[family] !== undefined;

  /** The relay keeps to the cluster IP's policy: it cannot tell by which address a client came. */
  const relayOf = async (port: ServicePort): Promise<Relay> => {
    const relay = relays.get(port.key) ?? (await openRelay(port));
    relays.set(port.key, relay);
    relay.balancer.set(internalEndpoints(port), port.affinitySeconds);
    return relay;
  };
  const plan = async (port: ServicePort) =>
    planService(port, await relayOf(port), traffic[port.family]).join('\n');
  /** Tells the relays of new endpoints; false where rules change as well. */
  const onlyRelays = async (state: ProxyState, changed: ReadonlySet<string>): Promise<boolean> => {
    for (const key of changed) {
      const port = state.get(key);
      if (port === undefined ? relays.has(key) : isServed(port) && planned.get(key) !== (await plan(port)))
        return false;
    }
    return true;
  };
  const syncFamily = async ([family, iptables]: [IpFamily, IptablesPort], served: readonly ServicePort[]) => {
    const rules: string[] = [];
    for (const port of served) {
      if (port.family !== family) continue;
      const own = await plan(port);
      planned.set(port.key, own);
      if (own !== '') rules.push(own);
    }
    const text = rules.join('\n');
    if (written.get(family) === text) return 0;
    written.delete(family);
    const found = await iptables.save();
    const [missing, leftOver] = [missingJumps(OWNED, found), serviceChains(OWNED, found)];
    const lines = [
      ...wholeTable(OWNED, 'nat', { missing, rules: text === '' ? [] : text.split('\n'), leftOver }),
    ];
    await iptables.restore(lines);
    written.set(family, text);
    return lines.length;
  };
  const closeExcept = async (kept: ReadonlySet<string>) => {
    for (const [key, relay] of relays) {
      if (kept.has(key)) continue;
      relays.delete(key);
      planned.delete(key);
      await relay.close();
    }
  };
  return {
    name: 'userspace',
    sync: async (state, changed) => {
      const isKnown = families.every(([family]) => written.has(family));
      if (isKnown && changed !== undefined && (await onlyRelays(state, changed))) return { sent: 0 };
      const served = [...state.values()].filter(isServed);
      let sent = 0;
      for (const entry of families) sent += await syncFamily(entry, served);
      // Not by the state, which may have gone on meanwhile: a rule would stay behind.
      await closeExcept(new Set(served.map(({ key }) => key)));
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
        if (text === undefined) return true;
        const isJumpedTo = missingJumps(OWNED, ruleset).nat.length === 0;
        return isJumpedTo && spelling.accepts(compare(rules, text === '' ? [] : text.split('\n')));
      });
    },
    cleanUp: async () => {
      for (const [, iptables] of families) {
        const lines = removal(OWNED, await iptables.save());
        if (lines.length > 0) await iptables.restore(lines);
      }
      written.clear();
      await closeExcept(new Set());
    },
    close: () => {
      for (const relay of relays.values()) void relay.close();
      relays.clear();
      for (const [, iptables] of families) iptables.close();
    },
  };
}
