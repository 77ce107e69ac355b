// The expressions rules are made of, in the kernel's own terms; expressions.ts builds the usual ones.
// Guarantees: a rule's expressions are listed back in the form in which they were given.
//
// `dreg` is the register an expression writes, `sreg` one it reads. Registers 1 to 4 hold 16 bytes; 8 to 23 hold 4 and
// lie over them (9, 10 and 11 are the rest of register 1). The kernel tells 8, 12, 16 and 20 back as 1, 2, 3 and 4.

import type { NftFamily } from './port.js';

/** Bytes as hexadecimal digits: what a register holds. */
export type Hex = string;
export type Register = number;

export type Verdict =
  | 'accept'
  | 'drop'
  | 'return'
  | 'continue'
  | 'break'
  | `jump ${string}`
  | `goto ${string}`;

interface PayloadPlace {
  readonly base: 'link' | 'network' | 'transport' | 'inner';
  readonly offset: number;
  readonly length: number;
}

/** Loads bytes of the packet. */
type PayloadLoad = PayloadPlace & { readonly dreg: Register };

/** Writes bytes of the packet, and mends the checksum at `checksumOffset` of the same header. */
type PayloadWrite = PayloadPlace & {
  readonly sreg: Register;
  readonly checksum?: 'inet' | 'sctp';
  readonly checksumOffset?: number;
  /** "pseudoheader": the transport checksum covers these bytes too. */
  readonly checksumFlags?: readonly 'pseudoheader'[];
};

type MetaKey =
  | 'len'
  | 'protocol'
  | 'priority'
  | 'mark'
  | 'iif'
  | 'oif'
  | 'iifname'
  | 'oifname'
  | 'iiftype'
  | 'oiftype'
  | 'skuid'
  | 'skgid'
  | 'nftrace'
  | 'rtclassid'
  | 'secmark'
  | 'nfproto'
  | 'l4proto'
  | 'ibrname'
  | 'obrname'
  | 'pkttype'
  | 'cpu'
  | 'iifgroup'
  | 'oifgroup'
  | 'cgroup'
  | 'random'
  | 'ipsec'
  | 'iifkind'
  | 'oifkind'
  | 'ibrpvid'
  | 'ibrvproto'
  | 'time'
  | 'day'
  | 'hour'
  | 'sdif'
  | 'sdifname';

type CtKey =
  | 'state'
  | 'direction'
  | 'status'
  | 'mark'
  | 'secmark'
  | 'expiration'
  | 'helper'
  | 'l3proto'
  | 'src'
  | 'dst'
  | 'protocol'
  | 'proto-src'
  | 'proto-dst'
  | 'label'
  | 'packets'
  | 'bytes'
  | 'avgpkt'
  | 'zone'
  | 'event'
  | 'ip saddr'
  | 'ip daddr'
  | 'ip6 saddr'
  | 'ip6 daddr'
  | 'id';

/** Gets (dreg) or sets (sreg). */
type GetOrSet = { readonly dreg: Register } | { readonly sreg: Register };

export type FibFlag = 'saddr' | 'daddr' | 'mark' | 'iif' | 'oif' | 'present';
export type NatFlag = 'random' | 'persistent' | 'fully-random' | 'netmap';

interface PortRange {
  /** Registers that hold ports, in network byte order; without the last, one port. */
  readonly sregProtoMin?: Register;
  readonly sregProtoMax?: Register;
  readonly flags?: readonly NatFlag[];
}

/** A match or target of xtables, as iptables' nft back end uses them. */
export interface XtExtension {
  readonly name: string;
  readonly revision: number;
  /** The extension's own struct, without the zeros at its end. */
  readonly info: Hex;
  /** Of the whole struct, in bytes. */
  readonly length: number;
}

/** One member each: which kind, and its fields. */
export type Expression =
  | { readonly payload: PayloadLoad | PayloadWrite }
  | { readonly meta: { readonly key: MetaKey } & GetOrSet }
  | { readonly ct: { readonly key: CtKey; readonly direction?: 'original' | 'reply' } & GetOrSet }
  | {
      readonly fib: {
        readonly flags: readonly FibFlag[];
        readonly result: 'oif' | 'oifname' | 'type';
        readonly dreg: Register;
      };
    }
  | {
      readonly numgen: {
        readonly type: 'inc' | 'random';
        readonly modulus: number;
        readonly offset?: number;
        readonly dreg: Register;
      };
    }
  | {
      readonly hash: {
        readonly type: 'jhash' | 'symhash';
        readonly sreg?: Register;
        readonly length?: number;
        readonly modulus: number;
        readonly seed?: number;
        readonly offset?: number;
        readonly dreg: Register;
      };
    }
  | { readonly immediate: { readonly verdict: Verdict } | { readonly dreg: Register; readonly value: Hex } }
  | {
      readonly cmp: {
        readonly sreg: Register;
        readonly op: 'eq' | 'neq' | 'lt' | 'lte' | 'gt' | 'gte';
        readonly value: Hex;
      };
    }
  | {
      readonly range: {
        readonly sreg: Register;
        readonly op: 'eq' | 'neq';
        readonly from: Hex;
        readonly to: Hex;
      };
    }
  | {
      /** dreg = (sreg & mask) ^ xor, or sreg shifted by the number in `shift` (four bytes, the host's order). */
      readonly bitwise: { readonly sreg: Register; readonly dreg: Register; readonly length: number } & (
        | { readonly mask: Hex; readonly xor: Hex }
        | { readonly op: 'lshift' | 'rshift'; readonly shift: Hex }
      );
    }
  | {
      readonly byteorder: {
        readonly sreg: Register;
        readonly dreg: Register;
        readonly op: 'ntoh' | 'hton';
        readonly length: number;
        /** Bytes a number: 2, 4 or 8. */
        readonly size: number;
      };
    }
  | {
      /** With dreg the map's data is loaded; dreg 0 takes the verdict of a verdict map. */
      readonly lookup: {
        readonly set: string;
        /** For an anonymous set made in the same batch; not listed back. */
        readonly setId?: number;
        readonly sreg: Register;
        readonly dreg?: Register;
        readonly flags?: readonly 'invert'[];
      };
    }
  | {
      readonly dynset: {
        readonly set: string;
        readonly setId?: number;
        readonly op: 'add' | 'update' | 'delete';
        readonly sregKey: Register;
        readonly sregData?: Register;
        readonly timeoutMs?: number;
        readonly flags?: readonly 'invert'[];
      };
    }
  | {
      readonly nat: {
        readonly type: 'snat' | 'dnat';
        readonly family: NftFamily;
        readonly sregAddrMin?: Register;
        readonly sregAddrMax?: Register;
      } & PortRange;
    }
  | { readonly masq: PortRange }
  | { readonly redir: PortRange }
  | { readonly reject: { readonly type: 'icmp' | 'icmpx' | 'tcp-reset'; readonly code?: number } }
  | { readonly counter: { readonly packets?: number; readonly bytes?: number } }
  | {
      readonly limit: {
        readonly rate: number;
        readonly perSeconds: number;
        readonly burst?: number;
        readonly type: 'packets' | 'bytes';
        readonly flags?: readonly 'invert'[];
      };
    }
  | {
      /** To the kernel's log, or with `group` to that nfnetlink_log group. */
      readonly log: {
        readonly prefix?: string;
        readonly group?: number;
        readonly snapLength?: number;
        readonly queueThreshold?: number;
        readonly level?: 'emerg' | 'alert' | 'crit' | 'err' | 'warn' | 'notice' | 'info' | 'debug' | 'audit';
        readonly flags?: readonly ('tcp-sequence' | 'tcp-options' | 'ip-options' | 'skuid' | 'ether')[];
      };
    }
  | { readonly notrack: Record<string, never> }
  | { readonly match: XtExtension }
  | { readonly target: XtExtension }
  /** One that only other programs make; listed, never accepted. */
  | { readonly other: { readonly name: string } };

type KindOf<T> = T extends unknown ? keyof T : never;
export type ExpressionKind = KindOf<Expression>;
