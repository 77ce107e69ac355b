// The VXLAN device of a node.
// Guarantees: a device that already is as wanted is kept, with the traffic that passes it; one that differs is made anew;
// it has the address of this node's network alone, also after the network has changed.
import { randomBytes } from 'node:crypto';
import { canonicalIp, type Family } from '../../api/ip.js';
import type { Link } from '../../kernel/route/objects.js';
import type { Request, RoutePort } from '../../kernel/route/port.js';

interface DeviceOptions {
  readonly name: string;
  readonly family: Family;
  readonly vni: number;
  readonly port: number;
  /** This node's address between the nodes, and the link that has it. */
  readonly local: string;
  readonly parent: Link;
  readonly mtu: number;
  /** The network address of this node's pods: what the others send to. */
  readonly address: string;
  /** The one that the others know already, if they do. */
  readonly mac?: string | undefined;
}

/** Makes the device, or brings the one that is there into shape. Resolves to its hardware address. */
export async function ensureDevice(options: DeviceOptions, route: RoutePort): Promise<string> {
  const { name, vni, port, local, parent, mtu, family } = options;
  const there = await route.link(name);
  const isKept = there !== undefined && isAsWanted(there, options);
  if (there !== undefined && !isKept)
    await route.apply([{ do: 'delete', kind: 'link', name, missingOk: true }]);
  const mac = (isKept ? there.mac : undefined) ?? options.mac ?? randomMac();
  // Whom a packet goes to is written down, never learned from what arrives.
  // The packet inside has a checksum of its own; a second one would be one more thing for hardware to get wrong. IPv6
  // does not let it be left out without asking the other side.
  const checksum = family === 'IPv4' ? { udpCsum: false } : {};
  const vxlan = { vni, port, local, dev: parent.index, learning: false, ...checksum };
  const address = `${canonicalIp(options.address) ?? options.address}/${family === 'IPv4' ? 32 : 128}`;
  const had = isKept
    ? await route.addresses({ dev: name, family: family === 'IPv4' ? 'inet' : 'inet6' })
    : [];
  const old = had.filter((one) => one.address !== address && !one.address.startsWith('fe80:'));
  await route.apply([
    isKept
      ? { do: 'change', kind: 'link', name, mtu, up: true }
      : { do: 'add', kind: 'link', name, type: 'vxlan', mtu, mac, up: true, vxlan },
    {
      do: 'add',
      kind: 'address',
      dev: name,
      address,
      flags: ['nodad'],
      existsOk: true,
    },
    ...old.map(
      (one): Request => ({ do: 'delete', kind: 'address', dev: name, address: one.address, missingOk: true }),
    ),
  ]);
  return mac;
}

function isAsWanted({ vxlan }: Link, { vni, port, local, parent }: DeviceOptions): boolean {
  return vxlan?.vni === vni && vxlan.port === port && vxlan.local === local && vxlan.dev === parent.index;
}

/** Random, unicast and locally administered. */
export function randomMac(): string {
  const bytes = randomBytes(6);
  bytes[0] = ((bytes[0] ?? 0) & 0xfc) | 0x02;
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}
