// Two hosts joined by an underlay, and what an overlay daemon such as flanneld does on each of them.
// Guarantees: everything is in namespaces of the test; the plugin under test does the rest.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openRoute } from '../../src/kernel/route/adapter.js';
import type { RoutePort } from '../../src/kernel/route/port.js';
import type { netNsPerTest, TestNetNs } from './netns.js';

const UNDERLAY_MTU = 1500;
/** What VXLAN over IPv4 leaves: 14 Ethernet, 8 VXLAN, 8 UDP, 20 IPv4. */
export const OVERLAY_MTU = UNDERLAY_MTU - 50;
export const DEVICE = 'flannel.1';

export interface OverlayHost {
  readonly ns: TestNetNs;
  readonly route: RoutePort;
  readonly number: 1 | 2;
  readonly underlay: string;
  /** Holds the subnet file and all state of plugins. */
  readonly directory: string;
  readonly subnetFile: string;
}

const subnet4 = (number: number) => `10.1.${number}.0`;
const subnet6 = (number: number) => `fd00:1:0:${number}::`;

export interface SubnetLines {
  readonly prefix?: 'FLANNEL' | 'TRELLIS';
  readonly v6?: boolean;
  readonly ipMasq?: boolean;
  readonly mtu?: number;
}

/** As flanneld writes it: the subnet by its first address. */
export function subnetLines(number: number, options: SubnetLines = {}): string {
  const { prefix = 'FLANNEL', v6 = false, ipMasq = true, mtu = OVERLAY_MTU } = options;
  return [
    `${prefix}_NETWORK=10.1.0.0/16`,
    `${prefix}_SUBNET=10.1.${number}.1/24`,
    ...(v6 ? [`${prefix}_IPV6_NETWORK=fd00:1::/48`, `${prefix}_IPV6_SUBNET=fd00:1:0:${number}::1/64`] : []),
    `${prefix}_MTU=${mtu}`,
    `${prefix}_IPMASQ=${ipMasq}`,
    '',
  ].join('\n');
}

/** Two hosts with addresses on a wire between them. */
export async function makeHosts(
  namespaces: ReturnType<typeof netNsPerTest>,
  root: string,
): Promise<readonly [OverlayHost, OverlayHost]> {
  const make = async (number: 1 | 2): Promise<OverlayHost> => {
    const ns = await namespaces.make();
    const directory = path.join(root, `host${number}`);
    mkdirSync(directory, { recursive: true });
    return {
      ns,
      number,
      directory,
      route: namespaces.closing(await openRoute(ns.path)),
      underlay: `192.168.77.${number}`,
      subnetFile: path.join(directory, 'subnet.env'),
    };
  };
  const [one, two] = [await make(1), await make(2)];
  const peer = { name: 'eth0', netns: two.ns.path, mtu: UNDERLAY_MTU };
  await one.route.apply([{ do: 'add', kind: 'link', name: 'eth0', mtu: UNDERLAY_MTU, peer }]);
  for (const { route, underlay } of [one, two])
    await route.apply([
      { do: 'change', kind: 'link', name: 'lo', up: true },
      { do: 'change', kind: 'link', name: 'eth0', up: true },
      { do: 'add', kind: 'address', dev: 'eth0', address: `${underlay}/24` },
    ]);
  return [one, two];
}

/** The device as flanneld makes it, for hosts on which the plugin does not. */
export async function makeDevice({ route, underlay, number }: OverlayHost): Promise<void> {
  const vxlan = { vni: 1, port: 8472, local: underlay, dev: 'eth0', learning: false };
  await route.apply([
    { do: 'add', kind: 'link', name: DEVICE, mtu: OVERLAY_MTU, up: true, vxlan },
    { do: 'add', kind: 'address', dev: DEVICE, address: `${subnet4(number)}/32` },
  ]);
}

/** Tells `host` where the pods of `other` are: a route, a neighbour and a forwarding entry, as flanneld does. */
export async function learnPeer(host: OverlayHost, other: OverlayHost, { v6 = false } = {}): Promise<void> {
  const mac = (await other.route.link(DEVICE))?.mac ?? '';
  const gateways = [
    { gateway: subnet4(other.number), length: 24 },
    ...(v6 ? [{ gateway: subnet6(other.number), length: 64 }] : []),
  ];
  for (const { gateway, length } of gateways)
    await host.route.apply([
      { do: 'replace', kind: 'neighbour', dev: DEVICE, address: gateway, mac, state: 'permanent' },
      {
        do: 'replace',
        kind: 'route',
        destination: `${gateway}/${length}`,
        gateway,
        dev: DEVICE,
        onlink: true,
      },
    ]);
  await host.route.apply([
    {
      do: 'replace',
      kind: 'neighbour',
      family: 'bridge',
      dev: DEVICE,
      mac,
      address: other.underlay,
      state: 'permanent',
      flags: ['self'],
    },
  ]);
}

export interface NetworkOptions {
  /** The plugin makes the device. */
  readonly device?: boolean;
}

/** The configuration of the plugin on a host, with all its state below the host's directory. */
export const network = (host: OverlayHost, { device = false }: NetworkOptions = {}) => ({
  cniVersion: '1.1.0',
  name: 'pods',
  type: 'vxlan',
  subnetFile: host.subnetFile,
  dataDir: path.join(host.directory, 'flannel'),
  ipam: { dataDir: path.join(host.directory, 'networks') },
  delegate: { hairpinMode: true, isDefaultGateway: true },
  ...(device ? { vxlan: { name: DEVICE, vni: 1, port: 8472, local: host.underlay, dev: 'eth0' } } : {}),
});

export const writeSubnetFile = (host: OverlayHost, text: string) => writeFileSync(host.subnetFile, text);

const files = (directory: string) => {
  try {
    return readdirSync(directory);
  } catch {
    return []; // nothing was ever kept there
  }
};

/** What plugins keep of containers on a host: links, reserved addresses, saved configurations, rules. */
export async function traces(host: OverlayHost): Promise<string[]> {
  const own = new Set(['lo', 'eth0', DEVICE, 'cni0']);
  const links = (await host.route.links()).map(({ name }) => name).filter((name) => !own.has(name));
  const addresses = files(path.join(host.directory, 'networks', 'pods')).filter(
    (name) => /[.:]\d/.test(name) && !name.startsWith('last'),
  );
  const rules = (await host.ns.run('nft', 'list', 'ruleset')).split('\n').filter((line) => line !== '');
  return [...links, ...addresses, ...files(path.join(host.directory, 'flannel')), ...rules];
}
