// The wire between the nodes of one machine: a bridge with the machine's own address on it, and a port for each node.
// Guarantees: a range that the machine already knows a way to is never taken; `removeUnderlay` takes everything away, also when
// only part of it is there.
import { mkdir } from 'node:fs/promises';
import { contains, type Family, formatCidr, parseCidr, subnets } from '../../api/ip.js';
import { createNetNs, removeNetNs } from '../../kernel/netns.js';
import type { NftPort } from '../../kernel/nftables/port.js';
import { openRoute } from '../../kernel/route/adapter.js';
import type { AddressRequest, RoutePort, RouteRequest } from '../../kernel/route/port.js';
import { randomMac } from '../../network/overlay/device.js';
import { masqueradeRules } from '../../network/podNetwork.js';
import { ClusterError } from '../error.js';
import type { Layout } from '../layout.js';
import { rangesOf, type Settings } from '../settings.js';
import { type LocalNode, localNodes, underlayAddresses, underlayRanges } from './localNode.js';

/** Private, and seldom used by anybody: Docker begins at the other end. */
const POOLS = {
  IPv4: { pool: '172.30.0.0/16', prefix: 24 },
  IPv6: { pool: 'fd00:10:30::/48', prefix: 64 },
} as const;
/** A node's device on the underlay. */
const DEVICE = 'eth0';

/** The first range that meets none of the others. Pure. */
export function freeRange(taken: readonly string[], family: Family = 'IPv4'): string {
  const { pool: text, prefix } = POOLS[family];
  const others = taken.map(parseCidr).filter((cidr) => cidr !== undefined && cidr.prefix > 0);
  const pool = parseCidr(text);
  for (const range of pool === undefined ? [] : subnets(pool, prefix)) {
    const meets = others.some(
      (other) =>
        other !== undefined &&
        (contains(other, { family: range.family, value: range.base }) ||
          contains(range, { family: other.family, value: other.base })),
    );
    if (!meets) return formatCidr(range);
  }
  throw new ClusterError(
    'NO_ADDRESS',
    `this machine has routes into all of ${text}; name a free range for the nodes with --underlay-cidr`,
  );
}

/** The number of a VXLAN that no other device of the machine has: the kernel refuses a second. */
export async function chooseVni(layout: Layout, settings: Settings, route: RoutePort): Promise<number> {
  const own = Object.values(layout.overlayDevices);
  const others = (await route.links()).filter(({ name }) => !own.includes(name));
  const taken = new Set(others.map(({ vxlan }) => vxlan?.vni));
  let { vni } = settings;
  while (taken.has(vni)) vni += 1;
  return vni;
}

export interface UnderlayPorts {
  readonly nft: NftPort;
  readonly route: RoutePort;
}

/** For nodes of a cluster that has no range yet: one a family. */
export async function chooseUnderlay(settings: Settings, route: RoutePort): Promise<string> {
  const known = (await route.routes()).map(({ destination }) => destination);
  const [pods, services] = [rangesOf(settings.clusterCidr), rangesOf(settings.serviceCidr)];
  const taken = [...known, ...pods, ...services];
  return pods.map((range) => freeRange(taken, parseCidr(range)?.family)).join();
}

/** With the networks of the nodes; nothing of them is there. */
export async function makeUnderlay(layout: Layout, settings: Settings, ports: UnderlayPorts): Promise<void> {
  const nodes = localNodes(layout, settings);
  const { underlay: bridge } = layout;
  const prefixes = underlayRanges(settings).map(({ prefix }) => prefix);
  const gateways = underlayAddresses(settings, 1);
  await ports.route.apply([
    { do: 'add', kind: 'link', name: bridge, type: 'bridge', up: true, mac: randomMac() },
    ...addressesOn(bridge, gateways, prefixes),
  ]);
  await ports.nft.commit(
    masqueradeRules({
      table: layout.underlayTable,
      comment: 'Trellis: traffic of nodes that leaves the machine',
      sources: rangesOf(settings.underlayCidr),
      except: [...rangesOf(settings.underlayCidr), ...rangesOf(settings.clusterCidr)],
    }),
  );
  await mkdir(layout.netnsDir, { recursive: true, mode: 0o700 });
  await Promise.all(nodes.map((node) => connect(node, { ...ports, bridge, gateways, prefixes })));
}

interface Wire {
  readonly bridge: string;
  readonly route: RoutePort;
  readonly gateways: readonly string[];
  readonly prefixes: readonly number[];
}

/** Good at once: the kernel need not look for another owner on a wire that is ours. */
const addressesOn = (dev: string, addresses: readonly string[], prefixes: readonly number[]) =>
  addresses.map(
    (address, at): AddressRequest => ({
      do: 'add',
      kind: 'address',
      dev,
      address: `${address}/${prefixes[at]}`,
      flags: address.includes(':') ? ['nodad'] : [],
    }),
  );

async function connect({ netns, layout, addresses }: LocalNode, wire: Wire): Promise<void> {
  await createNetNs(netns);
  // With bridge netfilter what a node sends to a node port of the machine, and the proxy sends to that very node, leaves by the
  // port it came by.
  const end = { name: layout.underlayPort, up: true, master: wire.bridge, port: { hairpin: true } } as const;
  await wire.route.apply([{ do: 'add', kind: 'link', type: 'veth', ...end, peer: { name: DEVICE, netns } }]);
  const inside = await openRoute(netns);
  try {
    await inside.apply([
      { do: 'change', kind: 'link', name: 'lo', up: true },
      { do: 'change', kind: 'link', name: DEVICE, up: true },
      ...addressesOn(DEVICE, addresses, wire.prefixes),
      // A service's address is routed before it is replaced: without a default route it would be unreachable.
      ...wire.gateways.map((gateway): RouteRequest => ({ do: 'add', kind: 'route', gateway })),
    ]);
  } finally {
    inside.close();
  }
}

/** Success also when nothing of it is there. */
export async function removeUnderlay(
  layout: Layout,
  nodes: readonly Pick<LocalNode, 'netns' | 'layout'>[],
  { nft, route }: UnderlayPorts,
): Promise<void> {
  // The kernel takes a namespace apart when it finds the time; its port is gone at once.
  const names = [...nodes.map((node) => node.layout.underlayPort), layout.underlay];
  await route.apply(names.map((name) => ({ do: 'delete', kind: 'link', name, missingOk: true })));
  await Promise.all(nodes.map(({ netns }) => removeNetNs(netns)));
  const families = ['ip', 'ip6'] as const;
  await nft.commit(
    families.map((family) => ({ do: 'destroy', kind: 'table', family, name: layout.underlayTable })),
  );
}
