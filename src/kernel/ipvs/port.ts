// IP virtual server, the kernel's own load balancer: the port that rooms above import.
// Guarantees: words and defaults are ipvsadm(8)'s, save that destinations are masqueraded unless they say otherwise.

type IpvsProtocol = 'tcp' | 'udp' | 'sctp';
export type IpvsFamily = 'inet' | 'inet6';

/** What tells one service from another. */
export type IpvsServiceKey =
  | { readonly protocol: IpvsProtocol; readonly address: string; readonly port: number }
  /** Packets that a rule has marked; inet when the family is left out. */
  | { readonly fwmark: number; readonly family?: IpvsFamily };

/** flag-1 to flag-3 are the bits of schedulers that have no words for them. */
type IpvsFlag =
  | 'ops'
  | 'sh-fallback'
  | 'sh-port'
  | 'mh-fallback'
  | 'mh-port'
  | 'flag-1'
  | 'flag-2'
  | 'flag-3';

export interface IpvsServiceOptions {
  /** rr, wrr, lc, wlc (when left out), sh, dh, sed, nq, mh, lblc, lblcr, fo, ovf: those the kernel has. */
  readonly scheduler?: string;
  readonly flags?: readonly IpvsFlag[];
  /** Seconds that a client stays with its destination. Absent: it does not. */
  readonly persistence?: number;
  /** Clients of one network of this prefix length count as one. */
  readonly persistencePrefix?: number;
  /** "sip". */
  readonly persistenceEngine?: string;
}

export interface IpvsDestinationKey {
  readonly address: string;
  readonly port: number;
}

interface IpvsDestinationOptions {
  /** masq when left out. */
  readonly forward?: 'masq' | 'tunnel' | 'route' | 'local';
  /** 1 when left out; 0 takes no new connections. */
  readonly weight?: number;
  /** Connections above which it gets no new ones, until they are below the lower threshold; 0 is no limit. */
  readonly upperThreshold?: number;
  readonly lowerThreshold?: number;
  readonly tunnelType?: 'ipip' | 'gue' | 'gre';
  readonly tunnelPort?: number;
}

export interface IpvsTimeouts {
  /** Seconds. */
  readonly tcp: number;
  readonly tcpFin: number;
  readonly udp: number;
}

/** change and replace set every option anew: what is left out goes back to its default. */
export type IpvsRequest =
  | ({ readonly do: 'add'; readonly kind: 'service'; readonly existsOk?: boolean } & IpvsServiceKey &
      IpvsServiceOptions)
  | ({ readonly do: 'change' | 'replace'; readonly kind: 'service' } & IpvsServiceKey & IpvsServiceOptions)
  | ({ readonly do: 'delete'; readonly kind: 'service'; readonly missingOk?: boolean } & IpvsServiceKey)
  | ({
      readonly do: 'add';
      readonly kind: 'destination';
      readonly service: IpvsServiceKey;
      readonly existsOk?: boolean;
    } & IpvsDestinationKey &
      IpvsDestinationOptions)
  | ({
      readonly do: 'change' | 'replace';
      readonly kind: 'destination';
      readonly service: IpvsServiceKey;
    } & IpvsDestinationKey &
      IpvsDestinationOptions)
  | ({
      readonly do: 'delete';
      readonly kind: 'destination';
      readonly service: IpvsServiceKey;
      readonly missingOk?: boolean;
    } & IpvsDestinationKey)
  /** Removes every service of the namespace. */
  | { readonly do: 'flush'; readonly kind: 'service' }
  /** Sets the counters of one service and its destinations back, or of all. */
  | ({ readonly do: 'zero'; readonly kind: 'service' } & (IpvsServiceKey | { readonly all: true }))
  /** A timeout that is left out or 0 stays. */
  | ({ readonly do: 'change'; readonly kind: 'timeouts' } & Partial<IpvsTimeouts>);

/** The kernel adds them up every two seconds, so the newest packets may be missing. */
export interface IpvsStatistics {
  readonly connections: number;
  readonly inPackets: number;
  readonly outPackets: number;
  readonly inBytes: number;
  readonly outBytes: number;
  readonly connectionsPerSecond: number;
  readonly inPacketsPerSecond: number;
  readonly outPacketsPerSecond: number;
  readonly inBytesPerSecond: number;
  readonly outBytesPerSecond: number;
}

export interface IpvsDestination extends IpvsDestinationKey, IpvsDestinationOptions {
  readonly forward: 'masq' | 'tunnel' | 'route' | 'local';
  readonly weight: number;
  readonly activeConnections: number;
  readonly inactiveConnections: number;
  readonly persistentConnections: number;
  readonly statistics: IpvsStatistics;
}

/** A service as the kernel has it; protocol, address and port, or fwmark. */
export interface IpvsServiceHeader extends IpvsServiceOptions {
  readonly family: IpvsFamily;
  readonly protocol?: IpvsProtocol;
  readonly address?: string;
  readonly port?: number;
  readonly fwmark?: number;
  readonly scheduler: string;
  readonly statistics: IpvsStatistics;
}

export interface IpvsService extends IpvsServiceHeader {
  readonly destinations: readonly IpvsDestination[];
}

export interface IpvsInfo {
  readonly version: string;
  readonly connectionTableSize: number;
}

export interface IpvsPort {
  /**
   * Does the requests in order; rejects with a KernelError that holds every refused one after all were tried.
   * The namespace's loopback must be up: before that the kernel refuses every IPv4 destination (EINVAL).
   */
  apply(requests: readonly IpvsRequest[]): Promise<void>;
  /** Every service with its destinations, in no particular order. */
  list(): Promise<IpvsService[]>;
  /** Every service without its destinations. */
  listHeaders(): Promise<IpvsServiceHeader[]>;
  /** One service with its destinations; undefined if there is none. */
  get(key: IpvsServiceKey): Promise<IpvsService | undefined>;
  timeouts(): Promise<IpvsTimeouts>;
  info(): Promise<IpvsInfo>;
  /** Idempotent. */
  close(): void;
}
