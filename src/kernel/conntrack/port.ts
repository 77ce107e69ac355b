// What Trellis needs of connection tracking: see flows, count them, end the ones that must not live on.
// Guarantees of every implementation: a delete ends exactly the flows that a filter matches, in one pass for any number.

export type FlowFamily = 'inet' | 'inet6';
/** By name where there is one, else by number. */
export type FlowProtocol = 'tcp' | 'udp' | 'icmp' | 'icmpv6' | 'sctp' | 'dccp' | 'udplite' | 'gre' | number;

/** One direction of a flow. */
export interface FlowTuple {
  readonly source: string;
  readonly destination: string;
  /** Of protocols that have ports; GRE's keys. */
  readonly sourcePort?: number;
  readonly destinationPort?: number;
  /** Of ICMP and ICMPv6. */
  readonly icmpType?: number;
  readonly icmpCode?: number;
  readonly icmpId?: number;
  /** Only where this direction alone is in a zone. */
  readonly zone?: number;
}

/** As nft's `ct status` spells them. */
type FlowStatus =
  | 'expected'
  | 'seen-reply'
  | 'assured'
  | 'confirmed'
  | 'snat'
  | 'dnat'
  | 'seq-adjust'
  | 'snat-done'
  | 'dnat-done'
  | 'dying'
  | 'fixed-timeout'
  | 'template'
  | 'untracked'
  | 'helper'
  | 'offload'
  | 'hw-offload';

type TcpState =
  | 'NONE'
  | 'SYN_SENT'
  | 'SYN_RECV'
  | 'ESTABLISHED'
  | 'FIN_WAIT'
  | 'CLOSE_WAIT'
  | 'LAST_ACK'
  | 'TIME_WAIT'
  | 'CLOSE'
  | 'SYN_SENT2';

type SctpState =
  | 'NONE'
  | 'CLOSED'
  | 'COOKIE_WAIT'
  | 'COOKIE_ECHOED'
  | 'ESTABLISHED'
  | 'SHUTDOWN_SENT'
  | 'SHUTDOWN_RECD'
  | 'SHUTDOWN_ACK_SENT'
  | 'HEARTBEAT_SENT';

/** A tracked flow. */
export interface Flow {
  readonly family: FlowFamily;
  readonly protocol: FlowProtocol;
  /** As its first packet was. */
  readonly original: FlowTuple;
  /** As answers are: after DNAT, `reply.source` is the real server. */
  readonly reply: FlowTuple;
  /** Left out for the default zone, 0. */
  readonly zone?: number;
  readonly mark: number;
  readonly status: readonly FlowStatus[];
  /** Seconds until it is forgotten if nothing passes; flows handed to a flow table tell none. */
  readonly timeout?: number;
  readonly tcpState?: TcpState;
  readonly sctpState?: SctpState;
  /** Tells it from an earlier flow with the same tuples. */
  readonly id: number;
}

/** A flow to make. Without `reply` nothing is translated. */
export interface NewFlow {
  readonly family?: FlowFamily;
  readonly protocol: FlowProtocol;
  readonly original: FlowTuple;
  readonly reply?: FlowTuple;
  readonly zone?: number;
  readonly mark?: number;
  readonly status?: readonly FlowStatus[];
  readonly timeout: number;
  readonly tcpState?: TcpState;
  readonly sctpState?: SctpState;
}

/** Every field that is there must match. Addresses may have a prefix length. At least one field must be there. */
export interface FlowFilter {
  readonly family?: FlowFamily;
  readonly protocol?: FlowProtocol;
  readonly originalSource?: string;
  readonly originalDestination?: string;
  readonly replySource?: string;
  readonly replyDestination?: string;
  readonly originalSourcePort?: number;
  readonly originalDestinationPort?: number;
  readonly replySourcePort?: number;
  readonly replyDestinationPort?: number;
  /** 0 is the default zone. */
  readonly zone?: number;
  readonly mark?: number;
  /** Which bits of the mark count; all if left out. */
  readonly markMask?: number;
}

export interface ConntrackUsage {
  readonly count: number;
  /** The most flows the kernel will track. */
  readonly max: number;
}

export interface ConntrackPort {
  /** The flows that any of the filters matches; every flow without the argument. */
  list(filters?: readonly FlowFilter[]): Promise<Flow[]>;
  /** How many flows any of the filters matches. */
  count(filters: readonly FlowFilter[]): Promise<number>;
  /** The kernel's own count of flows, without listing them. */
  usage(): Promise<ConntrackUsage>;
  /** Makes flows; EEXIST for one whose tuples are taken. */
  add(flows: readonly NewFlow[]): Promise<void>;
  /** Ends the flows that any of the filters matches; tells how many. One that ends by itself meanwhile is no error. */
  delete(filters: readonly FlowFilter[]): Promise<number>;
  /** Idempotent. */
  close(): void;
}
