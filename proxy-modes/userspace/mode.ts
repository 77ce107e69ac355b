// The userspace mode: packets are redirected to sockets of this process, which relay them.
// Guarantees: a rule leads only to a socket that listens; a socket is closed only after its rules are gone.
import type { IptablesPort } from '../../src/kernel/iptables/port.js';
import { withServiceCidrs } from '../families.js';
import { compare, Spelling } from '../iptables/spelling.js';
import { missingJumps, removal, serviceChains, wholeTable } from '../iptables/tables.js';
import {
  type IpFamily,
  internalEndpoints,
  type PerFamily,
  type ProxyMode,
  type ProxyState,
  type ServicePort,
  type TrafficOptions,
} from '../mode.js';
import { OWNED, rangeRules } from './plan/base.js';
import { planService } from './plan/service.js';
import { openRelay, type Relay } from './relay.js';

interface UserspaceModeOptions {
  readonly ports: PerFamily<IptablesPort>;
  /** Of these only the networks of node ports and services: everything has the node's address anyway. */
  readonly traffic?: PerFamily<TrafficOptions>;
}

/** The tables that have rules of ours. */
const TABLES = ['filter', 'nat'] as const;
type Rules = Readonly<Record<(typeof TABLES)[number], readonly string[]>>;
const isSame = (a: Rules | undefined, b: Rules) => JSON.stringify(a) === JSON.stringify(b);

export function userspaceMode({ ports, traffic: given = {} }: UserspaceModeOptions): ProxyMode {
  let traffic = given;
  const families = Object.entries(ports) as [IpFamily, IptablesPort][];
  const relays = new Map<string, Relay>();
  const written = new Map<IpFamily, Rules>();
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
    const own = served.filter((port) => port.family === family);
    const nat: string[] = [];
    for (const port of own) {
      const text = await plan(port);
      planned.set(port.key, text);
      if (text !== '') nat.push(...text.split('\n'));
    }
    const rules: Rules = { filter: rangeRules(own, traffic[family] ?? {}), nat };
    if (isSame(written.get(family), rules)) return 0;
    written.delete(family);
    const found = await iptables.save();
    const [missing, leftOver] = [missingJumps(OWNED, found), serviceChains(OWNED, found)];
    const lines = [
      ...wholeTable(OWNED, 'filter', { missing, rules: rules.filter }),
      ...wholeTable(OWNED, 'nat', { missing, rules: nat, leftOver }),
    ];
    await iptables.restore(lines);
    written.set(family, rules);
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
    setServiceCidrs: (cidrs) => {
      traffic = withServiceCidrs(given, cidrs);
      written.clear();
    },
    forget: () => written.clear(),
    check: async () => {
      for (const [family, iptables] of families) {
        const rules = written.get(family);
        if (rules === undefined) continue;
        const ruleset = await iptables.save();
        const missing = missingJumps(OWNED, ruleset);
        if (TABLES.some((table) => missing[table].length > 0)) return false;
        const found = TABLES.flatMap((table) =>
          OWNED.chains[table].flatMap((name) => ruleset.get(table)?.chains.get(name)?.rules ?? []),
        );
        if (!spelling.accepts(compare(found, [...rules.filter, ...rules.nat]))) return false;
      }
      return true;
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
