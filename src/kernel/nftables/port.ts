// What Trellis needs of nf_tables: transactions, lists and the generation of the ruleset, in one network namespace.
// Guarantees: a commit is done whole or not at all; names, types and verdicts are spelled as nft spells them.
import type { Watch } from '../watch.js';
import type { Expression, Verdict } from './expression.js';

export type NftFamily = 'ip' | 'ip6' | 'inet' | 'arp' | 'bridge' | 'netdev';

/** The types of keys and data, by nft's names. A key of several is a concatenation. */
export type DataType =
  | 'ipv4_addr'
  | 'ipv6_addr'
  | 'ether_addr'
  | 'ether_type'
  | 'inet_proto'
  | 'inet_service'
  | 'icmp_type'
  | 'icmpv6_type'
  | 'mark'
  | 'ifname'
  | 'iface_index'
  | 'integer'
  | 'nf_proto'
  | 'ct_state'
  | 'fib_addrtype';

export interface Table {
  readonly family: NftFamily;
  readonly name: string;
  /** "dormant" switches the table's base chains off. */
  readonly flags?: readonly ('dormant' | 'owner')[];
  /** Comments hold up to 128 bytes, here and below. */
  readonly comment?: string;
}

type Hook = 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting' | 'ingress' | 'egress';

/** What makes a chain a base chain. */
export interface BaseChain {
  readonly type: 'filter' | 'nat' | 'route';
  readonly hook: Hook;
  readonly priority: number;
  readonly policy?: 'accept' | 'drop';
  /** For ingress and egress. */
  readonly devices?: readonly string[];
}

export interface Chain extends Partial<BaseChain> {
  readonly family: NftFamily;
  readonly table: string;
  readonly name: string;
  readonly comment?: string;
}

export interface Rule {
  readonly family: NftFamily;
  readonly table: string;
  readonly chain: string;
  readonly expressions: readonly Expression[];
  readonly comment?: string;
}

type SetFlag = 'anonymous' | 'constant' | 'interval' | 'timeout' | 'dynamic';

/** A set; with `mapType` a map, with mapType ['verdict'] a verdict map. */
export interface NftSet {
  readonly family: NftFamily;
  readonly table: string;
  readonly name: string;
  readonly type: readonly DataType[];
  readonly mapType?: readonly DataType[] | readonly ['verdict'];
  readonly flags?: readonly SetFlag[];
  /** After which elements go that give no timeout of their own. */
  readonly timeoutMs?: number;
  readonly gcIntervalMs?: number;
  /** The most elements it may hold. */
  readonly size?: number;
  readonly policy?: 'performance' | 'memory';
  readonly autoMerge?: boolean;
  readonly comment?: string;
}

/**
 * An element. Its key is text, "10.96.0.1 . tcp . 80" for a concatenation; in an interval set also "10.0.0.0/8" and
 * "80-90"; "*" is the catch-all. A verdict map's element has a verdict, another map's has data, a set's has neither.
 */
export interface SetElement {
  readonly key: string;
  readonly verdict?: Verdict;
  readonly data?: string;
  readonly timeoutMs?: number;
  /** What is left of the timeout; listed, and may be given when an element is put back. */
  readonly expiresMs?: number;
  readonly comment?: string;
}

/** What elements need to be told of their set. */
type ElementsOf = Pick<NftSet, 'family' | 'table' | 'type' | 'mapType' | 'flags'> & {
  readonly set: string;
  /** For an anonymous set made in the same batch. */
  readonly setId?: number;
};

/** `add` leaves alone what is there; `create` fails with EEXIST. */
type Making = 'add' | 'create';
/** `delete` fails with ENOENT where there is nothing; `destroy` does not mind. */
type Removal =
  | { readonly do: 'delete' }
  | {
      readonly do: 'destroy';
      /** As on a kernel before 6.3, which lacks the message for it. For tests of that path. */
      readonly emulate?: boolean;
    };
/** Deletes the rules of a table or chain, or the elements of a set. */
interface Flush {
  readonly do: 'flush';
}

type Named = { readonly family: NftFamily; readonly name: string };
type InTable = Named & { readonly table: string };

export type TableRequest = { readonly kind: 'table' } & (
  | ({ readonly do: Making } & Table)
  | ((Removal | Flush) & Named)
);

/** Deleting a chain deletes its rules; EBUSY while a rule or an element elsewhere still goes to it. */
export type ChainRequest = { readonly kind: 'chain' } & (
  | ({ readonly do: Making } & Chain)
  | ((Removal | Flush) & InTable)
);

type RulePlace = Pick<Rule, 'family' | 'table' | 'chain'>;

/** What the matches and targets of xtables in a rule are told; the kernel does not tell it back. */
interface ForXtables {
  /** The number of the one transport protocol that reaches them. */
  readonly protocol?: number;
}

/**
 * Rules are found by the handles that `rules` lists. One may also be deleted by what it says, counters aside: the first
 * such rule that the chain had before the transaction.
 */
export type RuleRequest = { readonly kind: 'rule' } & (
  | ({ readonly do: 'add'; readonly after?: number } & Rule & ForXtables)
  | ({ readonly do: 'insert'; readonly before?: number } & Rule & ForXtables)
  | ({ readonly do: 'replace'; readonly handle: number } & Rule & ForXtables)
  | (Removal & RulePlace & { readonly handle: number })
  | ({ readonly do: 'delete' } & RulePlace & Pick<Rule, 'expressions'>)
);

export type SetRequest = { readonly kind: 'set' } & (
  | ({ readonly do: Making; readonly id?: number } & NftSet)
  | ((Removal | Flush) & InTable)
);

/** Any number of elements; they are split over as many messages as they need. */
export type ElementRequest = {
  readonly kind: 'element';
  readonly elements: readonly SetElement[];
} & ElementsOf &
  ({ readonly do: Making } | Removal);

/** Deletes every table, or every table of one family. */
export type RulesetRequest = Flush & { readonly kind: 'ruleset'; readonly family?: NftFamily };

export type NftRequest =
  | TableRequest
  | ChainRequest
  | RuleRequest
  | SetRequest
  | ElementRequest
  | RulesetRequest;

type Listed<T, K extends string> = T & { readonly kind: K; readonly handle: number };
export type ListedTable = Listed<Table, 'table'>;
export type ListedChain = Listed<Chain, 'chain'>;
export type ListedRule = Listed<Rule, 'rule'>;
/** `type` and `mapType` are missing where the set has types unknown here; its keys are listed as "0x..." then. */
export type ListedSet = Listed<Omit<NftSet, 'type'> & Partial<Pick<NftSet, 'type'>>, 'set'>;

type Identity = 'kind' | 'family' | 'handle';
/** Enough to tell which one it was; the kernel may tell more. */
export type GoneObject =
  | Pick<ListedTable, Identity | 'name'>
  | Pick<ListedChain, Identity | 'table' | 'name'>
  | Pick<ListedRule, Identity | 'table' | 'chain'>
  | Pick<ListedSet, Identity | 'table' | 'name'>;

/**
 * "new" and "delete": an object of a transaction. "generation": its end, and which process committed it.
 * "lost": the kernel had to drop events; list again.
 */
export type NftEvent =
  | { readonly event: 'new'; readonly object: ListedTable | ListedChain | ListedRule | ListedSet }
  | { readonly event: 'delete'; readonly object: GoneObject }
  | {
      readonly event: 'generation';
      readonly generation: number;
      readonly pid?: number;
      readonly processName?: string;
    }
  | { readonly event: 'lost' };

export interface NftPort {
  /**
   * One transaction. Rejects with a KernelError whose `failures` are the refused requests, by index; nothing is done
   * then. With `generation` (from `generation()`) it is refused with code ERESTART, without an index, if anyone has
   * changed the ruleset since. An empty list of requests is a success, or a check of the generation.
   */
  commit(requests: readonly NftRequest[], options?: { readonly generation?: number }): Promise<void>;
  tables(filter?: { family?: NftFamily; name?: string }): Promise<ListedTable[]>;
  chains(filter?: { family?: NftFamily; table?: string; name?: string }): Promise<ListedChain[]>;
  rules(filter?: { family?: NftFamily; table?: string; chain?: string }): Promise<ListedRule[]>;
  sets(filter?: { family?: NftFamily; table?: string; name?: string }): Promise<ListedSet[]>;
  /** In no particular order, except that intervals are sorted. ENOENT if there is no such set. */
  elements(of: { family: NftFamily; table: string; set: string }): Promise<SetElement[]>;
  /** Grows with every transaction, whoever commits it. */
  generation(): Promise<number>;
  /**
   * Delivers every change from this call on, also one's own, in order. Elements are not told. A table that is deleted
   * with what it holds is told with all of it.
   */
  watch(onEvents: (events: readonly NftEvent[]) => void): Watch;
  close(): void;
}
