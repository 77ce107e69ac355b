// What a mode has put into the kernel, told so that two ways of getting there can be compared.
// Guarantees: handles, names of anonymous sets and orders that mean nothing are left out; nothing else is.
import type { IpSetPort } from '../../../src/kernel/ipset/port.js';
import type { Ruleset } from '../../../src/kernel/iptables/port.js';
import type { IpvsPort } from '../../../src/kernel/ipvs/port.js';
import type { NftPort } from '../../../src/kernel/nftables/port.js';
import type { RoutePort } from '../../../src/kernel/route/port.js';

export async function nftContents(nft: NftPort, table: string): Promise<unknown> {
  const [chains, rules, sets] = await Promise.all([
    nft.chains({ table }),
    nft.rules({ table }),
    nft.sets({ table }),
  ]);
  const named = sets.filter(({ flags }) => flags?.includes('anonymous') !== true);
  const elements = await Promise.all(
    named.map(async ({ family, name }) => [
      `${family} ${name}`,
      (await nft.elements({ family, table, set: name })).map((entry) => JSON.stringify(entry)).sort(),
    ]),
  );
  return {
    chains: chains.map(({ family, name }) => `${family} ${name}`).sort(),
    rules: rules
      .map(
        ({ family, chain, expressions }) =>
          `${family} ${chain} ${JSON.stringify(expressions).replace(/__(map|set)\d+/g, '__$1')}`,
      )
      .sort(),
    elements: Object.fromEntries(elements),
    anonymous: sets.length - named.length,
  };
}

const SHARED = /^KUBE-(SERVICES|NODEPORTS|EXTERNAL-SERVICES|PROXY-FIREWALL|CLUSTER-IPS)$/;
/** The jump to the node ports must come after the services, and so must the end of what no service has. */
const LAST = /must be the last rule|unallocated cluster IPs/;

/** What the tables hold; the rules of shared chains in any order, unless the last must be the last. */
export const iptablesContents = (ruleset: Ruleset): string[] =>
  [...ruleset.values()].flatMap(({ name: table, chains }) =>
    [...chains.values()]
      .map(({ name, rules }) => `${table} ${name}\n${inOrder(name, rules).join('\n')}`)
      .sort(),
  );

function inOrder(chain: string, rules: readonly string[]): readonly string[] {
  if (!SHARED.test(chain)) return rules;
  const isOrdered = LAST.test(rules.at(-1) ?? '');
  const free = isOrdered ? rules.slice(0, -1) : rules;
  return [...[...free].sort(), ...rules.slice(free.length)];
}

/** Virtual servers with the destinations that take new connections, sets, and the addresses of the device. */
export async function ipvsContents({
  ipvs,
  ipset,
  route,
}: {
  ipvs: IpvsPort;
  ipset: IpSetPort;
  route: RoutePort;
}) {
  const servers = (await ipvs.list()).map(
    ({ protocol, address, port, scheduler, persistence, destinations }) =>
      `${protocol} ${address}:${port} ${scheduler} ${persistence ?? '-'} ${destinations
        .filter(({ weight }) => weight > 0)
        .map((to) => `${to.address}:${to.port}`)
        .sort()
        .join()}`,
  );
  const sets = (await ipset.list()).map(
    ({ name, entries }) =>
      `${name} ${entries
        .map(({ entry }) => entry)
        .sort()
        .join(' ')}`,
  );
  const addresses = (await route.addresses({ dev: 'kube-ipvs0' })).map(({ address }) => address);
  return { servers: servers.sort(), sets: sets.sort(), addresses: addresses.sort() };
}
