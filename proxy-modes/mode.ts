// What a proxy mode is told: services and where their traffic goes, as plain values. Pure.
// Guarantees: immutable; an entry that did not change is the same object from one state to the next.

export type Protocol = 'tcp' | 'udp' | 'sctp';
export type IpFamily = 'ip' | 'ip6';

export interface Endpoint {
  readonly ip: string;
  readonly port: number;
  /** Runs on this node. */
  readonly local: boolean;
  /** Nobody says where it runs: it may be this node. */
  readonly unplaced?: true;
}

/** One port of one service, in one address family. */
export interface ServicePort {
  /** `namespace/name:port name/protocol/family`. */
  readonly key: string;
  /** `namespace/name:port name`, or without the colon where the port has no name; as kube-proxy writes it in comments. */
  readonly name: string;
  readonly family: IpFamily;
  readonly protocol: Protocol;
  readonly clusterIp: string;
  readonly port: number;
  readonly nodePort?: number;
  /** Where load balancers ask for the health of the service; answered by the proxy itself, whatever the mode. */
  readonly healthCheckNodePort?: number;
  /** Addresses outside the cluster's range whose traffic somebody routes to the nodes. */
  readonly externalIps: readonly string[];
  /** Addresses of load balancers that leave the destination as it is (ipMode VIP). */
  readonly loadBalancerIps: readonly string[];
  /** Who may reach the load balancer's addresses; empty is everybody. */
  readonly sourceRanges: readonly string[];
  /** For this long after its last connection a client stays with its endpoint; absent: it does not. */
  readonly affinitySeconds?: number;
  /** Only endpoints of this node take traffic to the cluster IP, or from outside. */
  readonly internalLocal: boolean;
  readonly externalLocal: boolean;
  /** Endpoints for policy Cluster, after topology; ordered by address and port. */
  readonly endpoints: readonly Endpoint[];
  /** Endpoints of this node for policy Local; empty where no policy is Local. */
  readonly localEndpoints: readonly Endpoint[];
  /** Of UDP: endpoints that serve but get no new traffic, for policy or topology or because they end. Flows to them go on. */
  readonly lingering?: readonly Endpoint[];
  /** Somebody serves somewhere: traffic that finds no local endpoint is dropped, not refused. */
  readonly served: boolean;
}

export type ProxyState = ReadonlyMap<string, ServicePort>;

/** What takes traffic to the cluster IP, and what takes traffic from outside. */
export const internalEndpoints = (port: ServicePort) =>
  port.internalLocal ? port.localEndpoints : port.endpoints;
export const externalEndpoints = (port: ServicePort) =>
  port.externalLocal ? port.localEndpoints : port.endpoints;
/** Every address of the service that is not its cluster IP. */
export const outsideIps = (port: ServicePort): readonly string[] => [
  ...port.externalIps,
  ...port.loadBalancerIps,
];
export const isExternal = (port: ServicePort) =>
  port.nodePort !== undefined || port.externalIps.length > 0 || port.loadBalancerIps.length > 0;

/** How traffic of this node's pods is told from other traffic. */
export type LocalDetector =
  | { readonly by: 'cidr'; readonly cidr: string }
  | { readonly by: 'interface'; readonly name: string }
  | { readonly by: 'interface-prefix'; readonly prefix: string };

/** What every mode is set up with, for one address family. */
export interface TrafficOptions {
  /** Without it, nothing counts as traffic of pods. */
  readonly local?: LocalDetector;
  /** Traffic to cluster IPs gets the node's address whoever sends it. */
  readonly masqueradeAll?: boolean;
  /** The bit of the packet mark that asks for masquerading. */
  readonly masqueradeBit?: number;
  /** Networks in which an address of the node must be to have node ports; without it, every address has them. */
  readonly nodePortCidrs?: readonly string[];
  /** The node's own addresses of the family, as its Node tells them. */
  readonly nodeIps?: readonly string[];
  /** Node ports on loopback addresses too, where the mode can. */
  readonly localhostNodePorts?: boolean;
  /** Networks whose every address is a service's or nobody's: what nobody has must not leave the node. */
  readonly serviceCidrs?: readonly string[];
}

/** kube-proxy's own (--iptables-masquerade-bit). */
const MASQUERADE_BIT = 14;
export const masqueradeMark = ({ masqueradeBit = MASQUERADE_BIT }: TrafficOptions): number =>
  (1 << masqueradeBit) >>> 0;

export type PerFamily<T> = Readonly<Partial<Record<IpFamily, T>>>;

/** What a sync did, for the metrics. */
export interface SyncReport {
  /** Messages or lines that were sent to the kernel. */
  readonly sent: number;
  /** Service ports that could not be programmed, and why; the others were. */
  readonly failed?: ReadonlyMap<string, unknown>;
}

/** What a mode does with a state. It remembers what it has put into the kernel. */
export interface ProxyMode {
  readonly name: 'iptables' | 'ipvs' | 'nftables' | 'userspace';
  /**
   * Brings the kernel to the state; after a failure the next call starts from nothing known. `changed` are the keys
   * that may differ from the state of the last call; without it everything is compared.
   */
  sync(state: ProxyState, changed?: ReadonlySet<string>): Promise<SyncReport>;
  /** The ranges of services from now on, of both families; the next sync writes everything anew. */
  setServiceCidrs(cidrs: readonly string[]): void;
  /** Forgets what is in the kernel, so that the next sync writes everything. */
  forget(): void;
  /** Whether what the mode has put into the kernel is still there, as far as one cheap look tells. */
  check?(): Promise<boolean>;
  /**
   * A text that is another after somebody has changed what the mode has made, for kernels' parts that tell no events.
   * Much cheaper than `check`, which is asked when it differs.
   */
  stamp?(): Promise<string>;
  /** Tells when somebody else has changed what the mode has made; answers how to stop. */
  watch?(onDrift: () => void): () => void;
  /** Removes everything the mode has made, also by another process before. */
  cleanUp(): Promise<void>;
  close(): void;
}
