// The objects of rtnetlink as the kernel tells them: links, addresses, routes, rules, neighbours, qdiscs, classes.
// Guarantees: names follow iproute2's; addresses are text; numbers are plain; a field the kernel does not tell is absent.

/** A link by name or by index. What the kernel tells is always the index. */
export type LinkRef = string | number;

export type LinkType = 'veth' | 'bridge' | 'vxlan' | 'macvlan' | 'ifb' | 'dummy' | (string & {});

interface BridgeOptions {
  /** Hundredths of a second, as the kernel counts them; so are helloTime, maxAge and ageingTime. */
  readonly forwardDelay?: number;
  readonly helloTime?: number;
  readonly maxAge?: number;
  readonly ageingTime?: number;
  readonly stpState?: number;
  readonly priority?: number;
  readonly groupFwdMask?: number;
  readonly vlanFiltering?: boolean;
  readonly vlanProtocol?: number;
  readonly vlanDefaultPvid?: number;
  readonly mcastSnooping?: boolean;
  readonly mcastRouter?: number;
  readonly mcastQuerier?: boolean;
  readonly mcastHashMax?: number;
  readonly nfCallIptables?: boolean;
  readonly nfCallIp6tables?: boolean;
  readonly nfCallArptables?: boolean;
}

/** How a bridge treats one of its ports. */
interface BridgePort {
  readonly state?: 'disabled' | 'listening' | 'learning' | 'forwarding' | 'blocking';
  readonly priority?: number;
  readonly cost?: number;
  readonly hairpin?: boolean;
  readonly isolated?: boolean;
  readonly learning?: boolean;
  readonly flood?: boolean;
  readonly mcastFlood?: boolean;
  readonly bcastFlood?: boolean;
  readonly guard?: boolean;
  readonly fastLeave?: boolean;
  readonly proxyArp?: boolean;
  readonly neighSuppress?: boolean;
}

interface VxlanOptions {
  readonly vni?: number;
  readonly dev?: LinkRef;
  readonly local?: string;
  readonly group?: string;
  readonly port?: number;
  readonly ttl?: number;
  readonly tos?: number;
  readonly ageing?: number;
  readonly limit?: number;
  readonly df?: 'unset' | 'set' | 'inherit';
  readonly learning?: boolean;
  readonly proxy?: boolean;
  readonly rsc?: boolean;
  readonly l2miss?: boolean;
  readonly l3miss?: boolean;
  readonly udpCsum?: boolean;
  readonly udpZeroCsum6Tx?: boolean;
  readonly udpZeroCsum6Rx?: boolean;
  readonly collectMetadata?: boolean;
  readonly gbp?: boolean;
}

interface MacvlanOptions {
  readonly mode?: 'private' | 'vepa' | 'bridge' | 'passthru' | 'source';
  readonly flags?: number;
}

interface LinkStatistics {
  readonly rxPackets: number;
  readonly txPackets: number;
  readonly rxBytes: number;
  readonly txBytes: number;
  readonly rxErrors: number;
  readonly txErrors: number;
  readonly rxDropped: number;
  readonly txDropped: number;
  readonly multicast: number;
  readonly collisions: number;
}

/** What can be said of a link when it is made or changed, and what the kernel tells of it. */
export interface LinkFields {
  readonly alias?: string;
  readonly mtu?: number;
  readonly txQueueLength?: number;
  readonly group?: number;
  readonly mac?: string;
  /** The bridge it is a port of; 0 takes it out. */
  readonly master?: LinkRef;
  /** The link below a macvlan or vxlan; for a veth the index of its peer. */
  readonly parent?: LinkRef;
  readonly up?: boolean;
  readonly promisc?: boolean;
  readonly arp?: boolean;
  readonly multicast?: boolean;
  readonly bridge?: BridgeOptions;
  readonly vxlan?: VxlanOptions;
  readonly macvlan?: MacvlanOptions;
  readonly port?: BridgePort;
}

export interface Link extends LinkFields {
  readonly kind: 'link';
  readonly index: number;
  readonly name: string;
  /** Absent for hardware and loopback. */
  readonly type?: LinkType;
  readonly running: boolean;
  readonly loopback: boolean;
  readonly operState?: 'unknown' | 'notpresent' | 'down' | 'lowerlayerdown' | 'testing' | 'dormant' | 'up';
  /** The namespace of the peer or parent, by the kernel's own numbering, where it is another one. */
  readonly linkNetnsId?: number;
  readonly statistics?: LinkStatistics;
}

type Scope = 'global' | 'site' | 'link' | 'host' | 'nowhere' | number;

type AddressFlag =
  | 'secondary'
  | 'nodad'
  | 'optimistic'
  | 'dadfailed'
  | 'home'
  | 'deprecated'
  | 'tentative'
  | 'permanent'
  | 'mngtmpaddr'
  | 'noprefixroute'
  | 'autojoin'
  | 'stable-privacy';

export interface AddressFields {
  /** The other end of a point-to-point link. */
  readonly peer?: string;
  readonly broadcast?: string;
  readonly label?: string;
  readonly scope?: Scope;
  readonly flags?: readonly AddressFlag[];
  /** Seconds; 4294967295 is for ever. */
  readonly validLifetime?: number;
  readonly preferredLifetime?: number;
}

export interface Address extends AddressFields {
  readonly kind: 'address';
  readonly dev: number;
  /** With its prefix length: "10.0.0.1/24". */
  readonly address: string;
}

interface NextHop {
  readonly gateway?: string;
  readonly dev?: LinkRef;
  /** 1 to 256; 1 by default. */
  readonly weight?: number;
  readonly onlink?: boolean;
}

interface RouteMetrics {
  readonly mtu?: number;
  readonly advmss?: number;
  readonly window?: number;
  readonly rtt?: number;
  readonly initcwnd?: number;
  readonly initrwnd?: number;
  readonly hoplimit?: number;
  readonly lock?: number;
}

export type RouteTable = 'unspec' | 'default' | 'main' | 'local' | number;

export interface RouteFields {
  readonly source?: string;
  readonly gateway?: string;
  readonly preferredSource?: string;
  readonly dev?: LinkRef;
  readonly table?: RouteTable;
  readonly metric?: number;
  readonly type?:
    | 'unicast'
    | 'local'
    | 'broadcast'
    | 'anycast'
    | 'multicast'
    | 'blackhole'
    | 'unreachable'
    | 'prohibit'
    | 'throw';
  readonly scope?: Scope;
  readonly protocol?: 'unspec' | 'redirect' | 'kernel' | 'boot' | 'static' | 'ra' | 'dhcp' | 'bird' | number;
  readonly tos?: number;
  readonly onlink?: boolean;
  readonly metrics?: RouteMetrics;
  readonly nextHops?: readonly NextHop[];
}

export type IpFamily = 'inet' | 'inet6';

export interface Route extends RouteFields {
  readonly kind: 'route';
  readonly family: IpFamily;
  /** "0.0.0.0/0" and "::/0" are the defaults. */
  readonly destination: string;
  readonly table: RouteTable;
}

export interface RuleFields {
  readonly priority?: number;
  readonly action?: 'table' | 'goto' | 'nop' | 'blackhole' | 'unreachable' | 'prohibit';
  readonly table?: RouteTable;
  readonly goto?: number;
  readonly mark?: number;
  readonly mask?: number;
  readonly source?: string;
  readonly destination?: string;
  readonly inputInterface?: string;
  readonly outputInterface?: string;
  readonly ipProtocol?: number;
  /** A port, or a range such as "8000-8080". */
  readonly sourcePort?: number | string;
  readonly destinationPort?: number | string;
  readonly protocol?: RouteFields['protocol'];
  readonly suppressPrefixLength?: number;
  readonly tos?: number;
  readonly invert?: boolean;
}

export interface Rule extends RuleFields {
  readonly kind: 'rule';
  readonly family: IpFamily;
  readonly priority: number;
}

type NeighbourFlag = 'use' | 'self' | 'master' | 'proxy' | 'extern_learn' | 'offload' | 'sticky' | 'router';

export interface NeighbourFields {
  readonly address?: string;
  readonly mac?: string;
  readonly state?:
    | 'none'
    | 'incomplete'
    | 'reachable'
    | 'stale'
    | 'delay'
    | 'probe'
    | 'failed'
    | 'noarp'
    | 'permanent'
    | number;
  readonly flags?: readonly NeighbourFlag[];
  readonly vlan?: number;
  readonly port?: number;
  readonly vni?: number;
  readonly sourceVni?: number;
  readonly via?: LinkRef;
}

/** A neighbour, or with family "bridge" an entry of a forwarding database. */
export interface Neighbour extends NeighbourFields {
  readonly kind: 'neighbour';
  readonly family: IpFamily | 'bridge';
  readonly dev: number;
  readonly master?: number;
  readonly probes?: number;
}

export interface TbfOptions {
  /** Bytes a second. */
  readonly rate: number;
  /** Bytes. */
  readonly burst: number;
  /** Bytes that may wait. */
  readonly limit?: number;
  readonly peakRate?: number;
  readonly mtu?: number;
}

export interface HtbOptions {
  /** The minor number of the class that takes what no filter sorted. */
  readonly defaultClass?: number;
  readonly r2q?: number;
  readonly directQueueLength?: number;
}

export interface HtbClassOptions {
  /** Bytes a second. */
  readonly rate: number;
  readonly ceil?: number;
  readonly burst?: number;
  readonly cburst?: number;
  readonly quantum?: number;
  readonly priority?: number;
}

export interface Qdisc {
  readonly kind: 'qdisc';
  readonly dev: number;
  readonly type: string;
  /** "1:", "1:10". */
  readonly handle: string;
  /** "root", "ingress" or a class. */
  readonly parent: string;
  readonly tbf?: TbfOptions;
  readonly htb?: HtbOptions;
}

export interface TrafficClass {
  readonly kind: 'class';
  readonly dev: number;
  readonly type: string;
  readonly handle: string;
  readonly parent: string;
  readonly htb?: HtbClassOptions;
}

export type RouteObject = Link | Address | Route | Rule | Neighbour | Qdisc | TrafficClass;
