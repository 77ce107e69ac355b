// The pod network of one node: the CNI list that the runtime reads, and the rules that let pods out of the cluster.
// Guarantees: both are written anew at every start and hold nothing of another's, nor of ranges that the node had before;
// rules that others remove come back; `removePodNetwork` takes them away.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { contains, parseCidr } from '../api/ip.js';
import { ip6Daddr, ip6Saddr, ipDaddr, ipSaddr, masquerade, rule } from '../kernel/nftables/expressions.js';
import type { NftPort, NftRequest } from '../kernel/nftables/port.js';
import type { RoutePort, RouteRequest } from '../kernel/route/port.js';
import type { KeptTable } from './keptTable.js';
import { randomMac } from './overlay/device.js';

interface PodNetworkOptions {
  /** Name of the CNI network. */
  readonly name: string;
  readonly bridge: string;
  /** The node's own ranges, at most one a family. */
  readonly podCidrs: readonly string[];
  /** Ranges of all pods of the cluster, at most one a family. */
  readonly clusterCidrs: readonly string[];
  /** Networks beyond the cluster that know the way back to pods: they see a pod's own address. */
  readonly nonMasqueradeCidrs?: readonly string[];
  /** Whether what pods send from others' addresses is dropped. */
  readonly deniesSpoofing: boolean;
  /** Ranges of services, and the node's addresses: both at most one a family. */
  readonly serviceCidrs: readonly string[];
  readonly nodeIps: readonly string[];
  /** Of pods; the link between the nodes decides. */
  readonly mtu?: number;
  readonly nftTable: string;
  readonly configDir: string;
  /** Where host-local writes down which addresses it has given out. */
  readonly stateDir: string;
}

interface PodNetworkPorts {
  readonly nft: NftPort;
  readonly route: RoutePort;
}

const LIST = '10-trellis.conflist';
const SOURCE_NAT = 100;
const FAMILIES = [
  {
    family: 'ip',
    isOurs: (cidr: string) => !cidr.includes(':'),
    source: ipSaddr,
    destination: ipDaddr,
    multicast: '224.0.0.0/4',
    everything: '0.0.0.0/0',
  },
  {
    family: 'ip6',
    isOurs: (cidr: string) => cidr.includes(':'),
    source: ip6Saddr,
    destination: ip6Daddr,
    multicast: 'ff00::/8',
    everything: '::/0',
  },
] as const;

/** Pods of one bridge: gateway on it, hairpin so that a pod reaches itself through its service, host ports. Pure. */
export function networkList(options: PodNetworkOptions): unknown {
  const { name, bridge, podCidrs, mtu, stateDir, deniesSpoofing } = options;
  return {
    cniVersion: '1.0.0',
    name,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isDefaultGateway: true,
        hairpinMode: true,
        ...(deniesSpoofing ? { macspoofchk: true, ipspoofchk: true } : {}),
        ...(mtu === undefined ? {} : { mtu }),
        ipam: { type: 'host-local', dataDir: stateDir, ranges: podCidrs.map((subnet) => [{ subnet }]) },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}

/** What leaves the cluster from a pod goes under the node's address: the world has no route back to pods. Pure. */
function podRules({ nftTable, clusterCidrs, nonMasqueradeCidrs = [] }: PodNetworkOptions): NftRequest[] {
  return masqueradeRules({
    table: nftTable,
    comment: 'Trellis: traffic of pods that leaves the cluster',
    sources: clusterCidrs,
    except: [...clusterCidrs, ...nonMasqueradeCidrs],
  });
}

/** Tables of its own, one a family, for what leaves ranges under the machine's address; those of that name are replaced. Pure. */
export function masqueradeRules(options: {
  readonly table: string;
  readonly comment: string;
  readonly sources: readonly string[];
  /** Where it may be seen as it is. */
  readonly except: readonly string[];
}): NftRequest[] {
  return FAMILIES.flatMap(({ family, isOurs, source, destination, multicast }): NftRequest[] => {
    const table = { family, name: options.table } as const;
    const at = { family, table: options.table } as const;
    const chain = 'postrouting';
    const except = [...options.except.filter(isOurs), multicast];
    const rules = options.sources
      .filter(isOurs)
      .map((range) =>
        rule(
          source(range),
          ...except.map((network) => destination(network, 'neq')),
          masquerade('fully-random'),
        ),
      );
    // Of a family that has no range (any more) nothing is left.
    if (rules.length === 0) return [{ do: 'destroy', kind: 'table', ...table }];
    return [
      { do: 'add', kind: 'table', ...table },
      { do: 'delete', kind: 'table', ...table },
      { do: 'add', kind: 'table', ...table, comment: options.comment },
      {
        do: 'add',
        kind: 'chain',
        ...at,
        name: chain,
        type: 'nat',
        hook: 'postrouting',
        priority: SOURCE_NAT,
      },
      ...rules.map((expressions): NftRequest => ({ do: 'add', kind: 'rule', ...at, chain, expressions })),
    ];
  });
}

/** `rules` is the table of `nftTable`, which the caller keeps. */
export async function setUpPodNetwork(
  options: PodNetworkOptions,
  ports: Pick<PodNetworkPorts, 'route'> & { readonly rules: KeptTable },
): Promise<void> {
  await ports.rules.set('pods', podRules(options));
  await makeBridge(options.bridge, ports.route);
  await dropAddresses(options, ports.route);
  await routeServices(options, ports.route);
  await mkdir(options.stateDir, { recursive: true, mode: 0o700 });
  await mkdir(options.configDir, { recursive: true, mode: 0o700 });
  // The runtime watches this directory: the file must appear whole.
  const file = path.join(options.configDir, LIST);
  await writeFile(`${file}.tmp`, `${JSON.stringify(networkList(options), null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.tmp`, file);
}

/**
 * What an earlier run wrote for the runtime, which makes pods by it as soon as it is asked to: the ranges of their addresses.
 * None where there is no list, or none that a runtime could read.
 */
export async function writtenRanges(configDir: string): Promise<string[]> {
  try {
    const list = JSON.parse(await readFile(path.join(configDir, LIST), 'utf8')) as WrittenList;
    return list.plugins.flatMap(({ ipam }) => ipam?.ranges.flat().map(({ subnet }) => subnet) ?? []);
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

interface WrittenList {
  readonly plugins: readonly {
    readonly ipam?: { readonly ranges: readonly { readonly subnet: string }[][] };
  }[];
}

/** Made before the first pod, so that it is there for the rules and the service route; the plugin takes it as it is. */
export async function makeBridge(name: string, route: RoutePort): Promise<void> {
  const there = await route.link(name);
  // An empty bridge takes the address of whichever port comes and goes; one that is set stays.
  const mac = there === undefined ? { mac: randomMac() } : {};
  // What passes between two pods of the bridge must meet the rules for services too. Set on this bridge alone: the
  // sysctls of these names are for every bridge of the host.
  const bridge = { nfCallIptables: true, nfCallIp6tables: true };
  await route.apply([{ do: 'replace', kind: 'link', name, type: 'bridge', up: true, bridge, ...mac }]);
}

/** The bridge's addresses of other ranges: with them, pods of the node that has such a range now would be sought here. */
async function dropAddresses({ bridge, podCidrs }: PodNetworkOptions, route: RoutePort): Promise<void> {
  const ranges = podCidrs.flatMap((text) => parseCidr(text) ?? []);
  const old = (await route.addresses({ dev: bridge })).filter(({ address }) => {
    const ip = address.split('/')[0] ?? '';
    return !ip.startsWith('fe80:') && !ranges.some((range) => contains(range, ip));
  });
  await route.apply(
    old.map(({ address }) => ({ do: 'delete', kind: 'address', dev: bridge, address, missingOk: true })),
  );
}

/**
 * A packet to a service is routed before the rules replace its address: a machine without a default route would call it
 * unreachable. Such a machine gets a route, which goes away with the bridge.
 */
async function routeServices({ bridge, serviceCidrs, nodeIps }: PodNetworkOptions, route: RoutePort) {
  const routes = await route.routes({ table: 'main' });
  const requests = FAMILIES.flatMap(({ isOurs, everything }): RouteRequest[] => {
    const destination = serviceCidrs.find(isOurs);
    const preferredSource = nodeIps.find(isOurs);
    const hasDefault = routes.some((one) => one.destination === everything);
    if (hasDefault || destination === undefined || preferredSource === undefined) return [];
    return [{ do: 'replace', kind: 'route', destination, dev: bridge, preferredSource }];
  });
  if (requests.length > 0) await route.apply(requests);
}

/** Success also when nothing of it is there. */
export async function removePodNetwork(
  { bridge, nftTable }: Pick<PodNetworkOptions, 'bridge' | 'nftTable'>,
  { nft, route }: PodNetworkPorts,
): Promise<void> {
  await nft.commit(
    FAMILIES.map(({ family }): NftRequest => ({ do: 'destroy', kind: 'table', family, name: nftTable })),
  );
  await route.apply([{ do: 'delete', kind: 'link', name: bridge, missingOk: true }]);
}
