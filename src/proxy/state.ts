// What a proxy mode is told: services and where their traffic goes, as plain values. Pure.
// Guarantees: immutable; an entry that did not change is the same object from one state to the next.

export type Protocol = 'tcp' | 'udp' | 'sctp';
export type IpFamily = 'ip' | 'ip6';

export interface Endpoint {
  readonly ip: string;
  readonly port: number;
  /** Runs on this node. */
  readonly local: boolean;
}

/** One port of one service, in one address family. */
export interface ServicePort {
  /** `namespace/name:port name/family`. */
  readonly key: string;
  readonly family: IpFamily;
  readonly protocol: Protocol;
  readonly clusterIp: string;
  readonly port: number;
  readonly nodePort?: number;
  /** Only endpoints of this node take traffic to the cluster IP, or to the node port. */
  readonly internalLocal: boolean;
  readonly externalLocal: boolean;
  /** Ordered by address and port; those that may take traffic now. */
  readonly endpoints: readonly Endpoint[];
}

export type ProxyState = ReadonlyMap<string, ServicePort>;

/** What a mode does with a state. It remembers what it has put into the kernel. */
export interface ProxyMode {
  /** Brings the kernel to the state; after a failure the next call starts from nothing known. */
  sync(state: ProxyState): Promise<void>;
  /** Removes everything the mode has made, also by another process before. */
  cleanUp(): Promise<void>;
  close(): void;
}
