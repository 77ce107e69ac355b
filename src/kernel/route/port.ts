// What Trellis needs of rtnetlink: batches of changes, lists, and events, in one network namespace.
// Guarantees: requests are done in order; each refused one is told by its index; lists are consistent.
import type { NetNs } from '../addon.js';
import type { Watch } from '../watch.js';
import type {
  Address,
  AddressFields,
  HtbClassOptions,
  HtbOptions,
  IpFamily,
  Link,
  LinkFields,
  LinkRef,
  LinkType,
  Neighbour,
  NeighbourFields,
  Qdisc,
  Route,
  RouteFields,
  RouteObject,
  RouteTable,
  Rule,
  RuleFields,
  TbfOptions,
  TrafficClass,
} from './objects.js';

/** The other end of a veth pair, made in the same step. It starts down; bring it up in its own namespace. */
interface VethPeer {
  readonly name?: string;
  readonly index?: number;
  readonly mtu?: number;
  readonly mac?: string;
  /** The namespace it is made in. */
  readonly netns?: NonNullable<NetNs>;
}

/** `missingOk`: the object may be gone already. */
interface Deletion {
  readonly do: 'delete';
  readonly missingOk?: boolean;
}

/** `add` wants it not to be there (unless `existsOk`); `replace` makes it or changes what is there. */
interface Addition {
  readonly do: 'add' | 'replace';
  readonly existsOk?: boolean;
}

interface Change {
  readonly do: 'change';
}

type Upsert = Addition | Change;

interface AddLink extends LinkFields {
  readonly kind: 'link';
  readonly name: string;
  readonly index?: number;
  /** May be left out where the options tell it. */
  readonly type?: LinkType;
  readonly peer?: VethPeer;
  readonly netns?: NonNullable<NetNs>;
}

interface ChangeLink extends LinkFields {
  readonly kind: 'link';
  readonly name?: string;
  readonly index?: number;
  readonly newName?: string;
  /** Moves the link to another namespace. */
  readonly netns?: NonNullable<NetNs>;
}

export type LinkRequest =
  | (Addition & AddLink)
  | (Change & ChangeLink)
  | (Deletion & { readonly kind: 'link'; readonly name?: string; readonly index?: number });

export type AddressRequest = (Upsert | Deletion) &
  AddressFields & { readonly kind: 'address'; readonly dev: LinkRef; readonly address: string };

export type RouteRequest = (Upsert | Deletion) &
  RouteFields & {
    readonly kind: 'route';
    /** Without it, the default route of the gateway's family (or of `family`). */
    readonly destination?: string;
    readonly family?: IpFamily;
  };

export type RuleRequest = (Addition | Deletion) &
  RuleFields & { readonly kind: 'rule'; readonly family?: IpFamily };

export type NeighbourRequest = (Upsert | Deletion) &
  NeighbourFields & {
    readonly kind: 'neighbour';
    readonly dev: LinkRef;
    /** "bridge" for a forwarding database; otherwise the address tells. */
    readonly family?: IpFamily | 'bridge';
  };

interface TrafficFields {
  readonly dev: LinkRef;
  readonly type?: string;
  readonly handle?: string;
  readonly parent?: string;
}

export type QdiscRequest = (Upsert | Deletion) &
  TrafficFields & { readonly kind: 'qdisc'; readonly tbf?: TbfOptions; readonly htb?: HtbOptions };

export type ClassRequest = (Upsert | Deletion) &
  TrafficFields & { readonly kind: 'class'; readonly htb?: HtbClassOptions };

export type Request =
  | LinkRequest
  | AddressRequest
  | RouteRequest
  | RuleRequest
  | NeighbourRequest
  | QdiscRequest
  | ClassRequest;

export type WatchKind = 'link' | 'address' | 'route' | 'rule' | 'neighbour';

/** "lost": the kernel had to drop events; list again. */
export type RouteEvent =
  | { readonly event: 'new' | 'delete'; readonly object: RouteObject }
  | { readonly event: 'lost' };

export interface RoutePort {
  /** Does every request; rejects with a KernelError whose `failures` are the refused ones. */
  apply(requests: readonly Request[]): Promise<void>;
  /** The link of that name, or undefined. */
  link(name: string): Promise<Link | undefined>;
  links(): Promise<Link[]>;
  addresses(filter?: { dev?: LinkRef; family?: IpFamily }): Promise<Address[]>;
  routes(filter?: { dev?: LinkRef; family?: IpFamily; table?: RouteTable }): Promise<Route[]>;
  rules(filter?: { family?: IpFamily }): Promise<Rule[]>;
  /** Family "bridge" lists forwarding databases. */
  neighbours(filter?: { dev?: LinkRef; family?: IpFamily | 'bridge' }): Promise<Neighbour[]>;
  qdiscs(filter?: { dev?: LinkRef }): Promise<Qdisc[]>;
  classes(filter: { dev: LinkRef }): Promise<TrafficClass[]>;
  /** Delivers every change from this call on, in order. */
  watch(kinds: readonly WatchKind[], onEvents: (events: readonly RouteEvent[]) => void): Watch;
  close(): void;
}
