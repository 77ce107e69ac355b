// Sets of addresses, ports and networks in the kernel: the port that rooms above import.
// Guarantees: names, options and the text of entries are those of ipset(8).

/** The set types that can be made. Sets of other types are listed all the same. */
export type IpSetType =
  | 'hash:ip'
  | 'hash:ip,port'
  | 'hash:ip,port,ip'
  | 'hash:ip,port,net'
  | 'hash:ip,mark'
  | 'hash:net'
  | 'hash:net,port'
  | 'hash:net,net'
  | 'hash:net,port,net'
  | 'hash:net,iface'
  | 'bitmap:port'
  | 'list:set';

export type IpSetFamily = 'inet' | 'inet6';

/** What a set is made with. What is left out is the kernel's choice. */
export interface IpSetOptions {
  readonly type: IpSetType;
  /** hash types; inet when left out. */
  readonly family?: IpSetFamily;
  /** hash types: the first size of the table, rounded up to a power of two. */
  readonly hashsize?: number;
  /** hash types: how many entries it may hold. */
  readonly maxelem?: number;
  /** hash types: a full set drops a random entry for a new one. */
  readonly forceadd?: boolean;
  /** hash:ip: addresses are stored as networks of this prefix length. */
  readonly netmask?: number;
  /** bitmap:port, where it is needed: "0-65535". */
  readonly range?: string;
  /** list:set. */
  readonly size?: number;
  /** Seconds that entries live unless they say otherwise; 0 is for ever, but allows entries to have a timeout. */
  readonly timeout?: number;
  /** Entries may have comments. */
  readonly comment?: boolean;
  /** Entries count packets and bytes. */
  readonly counters?: boolean;
}

/** An entry with more than its text. */
export interface IpSetEntry {
  /** As ipset writes it: "10.0.0.1,tcp:80", "10.0.0.1,udp:53,10.1.0.0/16", "fd00::1,tcp:80", "80", the name of a set. */
  readonly entry: string;
  /** Seconds; the set must have been made with a timeout. */
  readonly timeout?: number;
  /** At most 255 bytes; the set must have been made with comments. */
  readonly comment?: string;
  readonly packets?: number;
  readonly bytes?: number;
  /** Net types: what this entry covers does not match. */
  readonly nomatch?: boolean;
}

/** In a list:set, where the new member goes. */
export interface IpSetMember extends IpSetEntry {
  readonly before?: string;
  readonly after?: string;
}

export type IpSetRequest =
  /** EEXIST if there is one; with existsOk only a set that differs is an error (IPSET_ERR_TYPE_MISMATCH). */
  | ({
      readonly do: 'add';
      readonly kind: 'set';
      readonly name: string;
      readonly existsOk?: boolean;
    } & IpSetOptions)
  /** IPSET_ERR_BUSY while a rule or a list:set uses it. */
  | { readonly do: 'delete'; readonly kind: 'set'; readonly name: string; readonly missingOk?: boolean }
  | { readonly do: 'delete' | 'flush'; readonly kind: 'set'; readonly all: true }
  | { readonly do: 'flush'; readonly kind: 'set'; readonly name: string }
  | { readonly do: 'rename'; readonly kind: 'set'; readonly name: string; readonly newName: string }
  /** Exchanges the contents of two sets of one type, as seen by the rules that use them, at once. */
  | { readonly do: 'swap'; readonly kind: 'set'; readonly name: string; readonly with: string }
  | IpSetEntryRequest;

/** Entries that are refused are told one by one (index and entry in the failures); the others are done. */
export type IpSetEntryRequest = {
  readonly kind: 'entry';
  readonly set: string;
  readonly entries: readonly (string | IpSetMember)[];
  /** Spares the question to the kernel; needed by nobody. */
  readonly type?: IpSetType;
  readonly family?: IpSetFamily;
} & (
  | {
      readonly do: 'add';
      /** An entry that is there already gets the new timeout and comment. */
      readonly existsOk?: boolean;
    }
  | { readonly do: 'delete'; readonly missingOk?: boolean }
);

/** A set as the kernel has it. */
export interface IpSetHeader {
  readonly name: string;
  readonly type: string;
  readonly family?: IpSetFamily;
  readonly revision: number;
  readonly hashsize?: number;
  readonly maxelem?: number;
  readonly forceadd?: boolean;
  readonly netmask?: number;
  readonly bucketsize?: number;
  readonly range?: string;
  readonly size?: number;
  readonly timeout?: number;
  readonly comment?: boolean;
  readonly counters?: boolean;
  /** How many rules and lists use it. */
  readonly references: number;
  /** Bytes. */
  readonly memsize: number;
  /** Absent on kernels before 4.10. */
  readonly numentries?: number;
}

export interface IpSet extends IpSetHeader {
  readonly entries: readonly IpSetEntry[];
}

export interface IpSetPort {
  /** Does the requests in order; rejects with a KernelError that holds every refused one after all were tried. */
  apply(requests: readonly IpSetRequest[]): Promise<void>;
  /** Every set with its entries, in no particular order; sets of type list:set come last. */
  list(): Promise<IpSet[]>;
  /** Every set without its entries. */
  listHeaders(): Promise<IpSetHeader[]>;
  /** One set; undefined if there is none of that name. */
  get(name: string): Promise<IpSet | undefined>;
  /** Whether each entry matches, in the same order. ENOENT if there is no such set. */
  test(set: string, entries: readonly string[]): Promise<boolean[]>;
  /** Idempotent. */
  close(): void;
}
