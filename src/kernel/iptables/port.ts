// What Trellis needs of iptables: put a change in with one restore, read the rules back.
// Guarantees of every implementation: each table of a restore changes whole at its COMMIT or not at all (of more than
// 2,000 lines: chain by chain, each of them whole); chains and rules that the lines do not name stay as they are.

export type IptablesFamily = 'inet' | 'inet6';
/** Two separate rule sets in the kernel; a machine should use one. */
export type IptablesBackend = 'nft' | 'legacy';
export type TableName = 'filter' | 'nat' | 'mangle' | 'raw' | 'security';

export interface Chain {
  readonly name: string;
  /** Of built-in chains; null for others. */
  readonly policy: string | null;
  /** What met the policy. */
  readonly packets: number;
  readonly bytes: number;
  /** In order, each as the tool writes it: "-A KUBE-SERVICES -d 10.96.0.1/32 -j KUBE-SVC-X". */
  readonly rules: readonly string[];
}

export interface Table {
  readonly name: string;
  readonly chains: ReadonlyMap<string, Chain>;
}

/** Tables by name; one that was never used is not there, or has only its empty built-in chains. */
export type Ruleset = ReadonlyMap<string, Table>;

export interface RestoreOptions {
  /** Take the counters in the lines ("[7:420] -A ..", ":INPUT ACCEPT [7:420]") instead of leaving them. */
  readonly counters?: boolean;
}

export interface IptablesPort {
  readonly family: IptablesFamily;
  readonly backend: IptablesBackend;
  /**
   * Applies lines in the language of iptables-restore ("*nat", ":CHAIN - [0:0]", "-A CHAIN ..", "COMMIT") without
   * flushing the rest. A declared chain is made, or emptied if it is there. Rejects with a KernelError: EINVAL for a
   * refused line, with `index` the line's place, `operation` its text and `kernel` the tool's sentence; EAGAIN when
   * another program held the xtables lock too long. Tables committed before the refused line stay changed. The lines may
   * be asked for more than once: they need not be in memory, all at the same time.
   */
  restore(lines: Iterable<string>, options?: RestoreOptions): Promise<void>;
  /** The rules of one table or of all. */
  save(table?: TableName): Promise<Ruleset>;
  /**
   * A text that is another after the tables have changed, whoever changed them; a change that leaves their size may
   * escape it. Cheap, whatever they hold. The tables must be there: asking would make them.
   */
  stamp(tables: readonly TableName[]): Promise<string>;
  /** Gives up what is held between two changes; idempotent, and the next call may hold it again. */
  close(): void;
}
