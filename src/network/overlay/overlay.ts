// The overlay daemon of a node: watches Nodes and keeps the kernel's way to each of them.
// Guarantees: one batch for what changed; what somebody else removed or replaced is put back, at once where the kernel tells
// of it and else with the next list, every half minute; ending it leaves the network as it is; a node whose statements cannot be true gets no way, and is told of; with VXLAN, packets of nodes alone are taken.
import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Node } from '../../api/gen/types.js';
import { type Family, formatIp, parseCidr, parseIp } from '../../api/ip.js';
import type { Log } from '../../api/log.js';
import type { Stored } from '../../api/object.js';
import { NODES } from '../../api/resources.js';
import { Closers } from '../../base/closers.js';
import type { Client } from '../../client/client.js';
import type { Informer, Informers } from '../../client/informer.js';
import type { NftPort } from '../../kernel/nftables/port.js';
import type { OffloadPort } from '../../kernel/offload.js';
import type { Address, Link } from '../../kernel/route/objects.js';
import type { RouteEvent, RoutePort } from '../../kernel/route/port.js';
import { KeptTable } from '../keptTable.js';
import { type Ground, judgeClaims } from './claims.js';
import { ensureDevice } from './device.js';
import { isDrift } from './drift.js';
import {
  difference,
  type Entries,
  entriesFor,
  entriesFound,
  isOverlayRoute,
  networkAddress,
  overlayMtu,
  type Side,
} from './entries.js';
import { OffloadGuard } from './offload.js';
import { annotationsOf, type Backend, type OwnSide, ownMac, type Peer, peerOf, rangeOf } from './peer.js';
import { vxlanRules, withoutVxlanRules } from './vxlanRules.js';

interface OverlayOptions {
  readonly nodeName: string;
  readonly backend: Backend;
  /** This node's addresses between the nodes, at most one a family. */
  readonly nodeIps: readonly string[];
  /** Ranges of all pods of the cluster. */
  readonly clusterCidrs: readonly string[];
  /** Ranges of Services: no node's pods are there. */
  readonly serviceCidrs: readonly string[];
  /** Names of the VXLAN devices. */
  readonly devices: Readonly<Record<Family, string>>;
  readonly vni?: number;
  readonly port?: number;
  readonly client: Client;
  readonly informers: Informers;
  readonly route: RoutePort;
  readonly nft: NftPort;
  /** For the rules about packets between nodes. */
  readonly nftTable: string;
  /** For looking after checksums; without it they are left as they are. */
  readonly offload?: OffloadPort;
  /** Tells of a node that is not believed. */
  readonly refused?: (node: Stored<V1Node>, why: string) => void;
  /** How often the kernel is asked what it holds, whatever happened. */
  readonly listEveryMs?: number;
  readonly log: Log;
}

const DEFAULT_VNI = 1;
/** The kernel's own, and flannel's. */
const VXLAN_PORT = 8472;
const SETTLE_MS = 20;
const LIST_EVERY_MS = 30_000;
const RETRY_MS = { first: 200, most: 10_000 };

export class Overlay {
  readonly #options: OverlayOptions;

  readonly #nodes: Informer<V1Node>;
  readonly #closers = new Closers((error) => this.#options.log.error('could not end in order', { error }));
  /** What the kernel was last given. */
  readonly #known = new Map<Family, Entries>();
  /** The nodes from which packets are taken, as the kernel was last told. */
  readonly #carriers = new Map<Family, string>();
  readonly #carrierTable: KeptTable;
  readonly #nodeIps: ReadonlySet<string>;
  /** Of the devices, with their prefix. */
  readonly #deviceAddresses = new Set<string>();
  /** The links that have this node's addresses, as they were then. */
  readonly #underlays = new Map<Family, Link>();
  /** Something was taken away since: the kernel is asked what it holds. */
  #isInDoubt = true;
  readonly #warned = new Map<string, string>();
  readonly #offload: OffloadGuard | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #running: Promise<void> = Promise.resolve();
  #retryMs = RETRY_MS.first;
  #hasPeers = false;
  #stopped = false;

  constructor(options: OverlayOptions) {
    this.#options = options;

    const { informers, route, offload, nft, nftTable, log, listEveryMs = LIST_EVERY_MS } = options;
    this.#nodeIps = new Set(options.nodeIps.map((ip) => familyAndText(ip).text));
    this.#carrierTable = new KeptTable({ nft, name: nftTable, log, lookEveryMs: listEveryMs });
    this.#offload = offload && new OffloadGuard(offload, log);
    this.#nodes = informers.of(NODES);
    const soon = () => this.#soon(SETTLE_MS);
    const watch = route.watch(['link', 'address', 'route', 'neighbour'], (events) => this.#heard(events));
    const lists = setInterval(() => this.#doubt(), listEveryMs);
    lists.unref();
    this.#closers.add(
      () => watch.close(),
      () => clearInterval(lists),
      this.#nodes.on({
        added: soon,
        deleted: soon,
        updated: (node, before) => {
          if (said(node) !== said(before)) soon();
        },
      }),
    );
  }

  /** Resolves when the kernel has what the Nodes known so far ask for. */
  async synced(): Promise<void> {
    await this.#nodes.synced();
    this.#soon(0);
    while (this.#timer !== undefined && !this.#stopped) {
      await sleep(SETTLE_MS);
      await this.#running;
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#closers.close();
    await this.#running;
    await this.#carrierTable.stop();
    await this.#offload?.stop();
  }

  /** Changes that come together are done together; one pass at a time. */
  #soon(afterMs: number): void {
    const dueAt = performance.now() + afterMs;
    if (this.#stopped || (this.#timer !== undefined && this.#dueAt <= dueAt)) return;
    clearTimeout(this.#timer); // of a retry that news overtake
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#running = this.#running.then(() => this.#pass());
    }, afterMs);
  }

  async #pass(): Promise<void> {
    this.#timer = undefined;
    if (this.#stopped) return;
    if (this.#isInDoubt) this.#known.clear();
    this.#isInDoubt = false;
    try {
      await this.#sync();
      this.#retryMs = RETRY_MS.first;
    } catch (error) {
      this.#isInDoubt = true;
      this.#options.log.warn(`the way to other nodes could not be set; again in ${this.#retryMs} ms`, {
        error,
      });
      this.#soon(this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS.most);
    }
  }

  async #sync(): Promise<void> {
    const { nodeName, nodeIps, backend } = this.#options;
    const own = this.#nodes.get(nodeName);
    // A node without others has nothing to reach, and needs no device.
    if (own === undefined || (this.#nodes.list().length < 2 && !this.#hasPeers)) return;
    this.#hasPeers = true;
    const sides: OwnSide[] = [];
    for (const ip of nodeIps) {
      const side = await this.#syncSide(own, ip);
      if (side !== undefined) sides.push(side);
    }
    await this.#publish(own, annotationsOf(backend, sides));
  }

  async #syncSide(own: Stored<V1Node>, ip: string): Promise<OwnSide | undefined> {
    const { backend, route, devices, clusterCidrs } = this.#options;
    const underlay = familyAndText(ip);
    const podCidr = rangeOf(own, underlay.family);
    if (podCidr === undefined) return undefined;
    const { family } = underlay;
    const known = this.#known.get(family);
    const parent = await linkOf(underlay.text, route);
    this.#underlays.set(family, parent);
    const mac = backend === 'vxlan' ? await this.#device(own, underlay, parent, podCidr) : undefined;
    const device = backend === 'vxlan' ? devices[family] : parent.name;
    const side: Side = { family, backend, device, clusterCidrs };
    const peers = this.#peers(family, { podCidr, underlay: underlay.text });
    if (backend === 'vxlan') await this.#admit(family, underlay.text, peers);
    const wanted = entriesFor(peers, side);
    const requests = difference(wanted, known ?? (await this.#found(side)));
    if (requests.length > 0) await route.apply(requests);
    this.#known.set(family, wanted);
    if (backend === 'vxlan')
      this.#offload?.look({
        device,
        from: networkAddress(podCidr),
        peers: peers.map((peer) => networkAddress(peer.podCidr)),
      });
    const { vni = DEFAULT_VNI } = this.#options;
    return { family, underlay: underlay.text, ...(mac === undefined ? {} : { vtep: { vni, mac } }) };
  }

  #device(own: Stored<V1Node>, underlay: { family: Family; text: string }, parent: Link, podCidr: string) {
    const { devices, vni = DEFAULT_VNI, port = VXLAN_PORT, route, backend } = this.#options;
    const { family, text: local } = underlay;
    const address = networkAddress(podCidr);
    const mtu = overlayMtu(backend, { mtu: parent.mtu ?? 0, family });
    const device = { name: devices[family], family, vni, port, local, parent, mtu, address };
    this.#deviceAddresses.add(`${address}/${family === 'IPv4' ? 32 : 128}`);
    return ensureDevice({ ...device, mac: ownMac(own, family) }, route);
  }

  /** Before the way to them: what comes first from a new node is not lost. */
  async #admit(family: Family, own: string, peers: readonly Peer[]): Promise<void> {
    const { nftTable: table, port = VXLAN_PORT, vni = DEFAULT_VNI } = this.#options;
    const nodes = peers.map(({ underlay }) => underlay).sort();
    const text = [own, ...nodes].join(' ');
    if (this.#carriers.get(family) === text) return;
    await this.#carrierTable.set(family, vxlanRules({ table, family, port, vni, own, peers: nodes }));
    this.#carriers.set(family, text);
  }

  #peers(family: Family, own: Ground['own']): readonly Peer[] {
    const { nodeName, backend, vni = DEFAULT_VNI, clusterCidrs, serviceCidrs } = this.#options;
    const others = this.#nodes.list().filter(({ metadata }) => metadata.name !== nodeName);
    const said = others.map((node) => ({ node, peer: peerOf(node, { family, backend, vni }) }));
    const claims = said.flatMap(({ node, peer }) => (typeof peer === 'object' ? [{ node, peer }] : []));
    const { peers, refused } = judgeClaims(claims, { own, clusterCidrs, serviceCidrs });
    for (const { node, peer } of said)
      this.#warnOnce(node, family, typeof peer === 'string' ? peer : (refused.get(node.metadata.name) ?? ''));
    return peers;
  }

  /** Of one node the same thing once. */
  #warnOnce(node: Stored<V1Node>, family: Family, why: string): void {
    const key = `${family} ${node.metadata.name}`;
    if ((this.#warned.get(key) ?? '') === why) return;
    this.#warned.set(key, why);
    if (why === '') return;
    this.#options.log.warn('pods of a node cannot be reached', { node: node.metadata.name, why });
    this.#options.refused?.(node, why);
  }

  async #found(side: Side): Promise<Entries> {
    const { route } = this.#options;
    const { device: dev } = side;
    const family = side.family === 'IPv4' ? 'inet' : 'inet6';
    const [routes, addresses, forwarding] = await Promise.all([
      route.routes({ dev, family }),
      route.neighbours({ dev, family }),
      route.neighbours({ dev, family: 'bridge' }),
    ]);
    return entriesFound(side, { routes, neighbours: [...addresses, ...forwarding] });
  }

  /** Written only when it differs: every write wakes whoever watches Nodes. */
  async #publish(own: Stored<V1Node>, annotations: Record<string, string>): Promise<void> {
    const current = own.metadata.annotations ?? {};
    if (Object.entries(annotations).every(([key, value]) => current[key] === value)) return;
    const { client, nodeName } = this.#options;
    await client.of(NODES).patch({ name: nodeName }, 'merge', { metadata: { annotations } });
  }

  #heard(events: readonly RouteEvent[]): void {
    if (events.some((event) => this.#concerns(event))) this.#doubt();
  }

  #doubt(): void {
    this.#isInDoubt = true;
    this.#soon(SETTLE_MS);
  }

  #concerns(event: RouteEvent): boolean {
    if (event.event === 'lost') return true;
    if (event.object.kind === 'link') return this.#concernsLink(event.event, event.object);
    return isDrift(event, {
      known: this.#known,
      clusterCidrs: this.#options.clusterCidrs,
      nodeIps: this.#nodeIps,
      deviceAddresses: this.#deviceAddresses,
    });
  }

  #concernsLink(event: 'new' | 'delete', link: Link): boolean {
    const { devices } = this.#options;
    const isOurs = link.name === devices.IPv4 || link.name === devices.IPv6;
    if (isOurs && event === 'delete') this.#offload?.forget(link.name);
    if (isOurs) return event === 'delete' || link.up !== true;
    // With a link that goes down or away its routes go too, and the kernel does not tell of them.
    return [...this.#underlays.values()].some(
      ({ name, index, up, mtu }) =>
        (link.index === index && (event === 'delete' || link.up !== up || link.mtu !== mtu)) ||
        (link.name === name && link.index !== index),
    );
  }
}

/** What of a node matters here, in one text: its heartbeats do not. */
const said = ({ metadata, spec, status }: Stored<V1Node>): string =>
  JSON.stringify([metadata.annotations, spec.podCIDRs, status.addresses]);

function familyAndText(ip: string): { family: Family; text: string } {
  const parsed = parseIp(ip);
  if (parsed === undefined) throw new RangeError(`${ip} is not an address of a node`);
  return { family: parsed.family, text: formatIp(parsed) };
}

async function linkOf(ip: string, route: RoutePort): Promise<Link> {
  const holds = ({ address }: Address) => address.slice(0, address.indexOf('/')) === ip;
  const address = (await route.addresses()).find(holds);
  const link = (await route.links()).find(({ index }) => index === address?.dev);
  if (link === undefined) throw new RangeError(`no link of this machine has the address ${ip}`);
  return link;
}

/** Success also when nothing of it is there. */
export async function removeOverlay(
  { devices, clusterCidrs, nftTable }: Pick<OverlayOptions, 'devices' | 'clusterCidrs' | 'nftTable'>,
  { route, nft }: Pick<OverlayOptions, 'route' | 'nft'>,
): Promise<void> {
  await nft.commit(withoutVxlanRules(nftTable));
  const routes = (await route.routes()).filter((it) => isOverlayRoute(it, clusterCidrs));
  await route.apply([
    ...Object.values(devices).map((name) => ({ do: 'delete', kind: 'link', name, missingOk: true }) as const),
    // With its device gone a route is gone too.
    ...routes.map((it) => ({ ...it, do: 'delete', missingOk: true }) as const),
  ]);
}

/** What a pod's packet may have on the way to another node. */
export async function podMtu(backend: Backend, nodeIp: string, route: RoutePort): Promise<number> {
  const { family, text } = familyAndText(nodeIp);
  return overlayMtu(backend, { mtu: (await linkOf(text, route)).mtu ?? 1500, family });
}

/** As flannel writes it for plugins and tools that read it. Pure. */
export function subnetFile(
  node: Stored<V1Node>,
  { clusterCidrs, mtu }: { readonly clusterCidrs: readonly string[]; readonly mtu: number },
): string {
  const lines = clusterCidrs.flatMap((cidr) => {
    const family = parseCidr(cidr)?.family ?? 'IPv4';
    const name = family === 'IPv4' ? 'FLANNEL' : 'FLANNEL_IPV6';
    const range = parseCidr(rangeOf(node, family) ?? '');
    if (range === undefined) return [];
    const gateway = formatIp({ family, value: range.base + 1n });
    return [`${name}_NETWORK=${cidr}`, `${name}_SUBNET=${gateway}/${range.prefix}`];
  });
  return [...lines, `FLANNEL_MTU=${mtu}`, 'FLANNEL_IPMASQ=true', ''].join('\n');
}
