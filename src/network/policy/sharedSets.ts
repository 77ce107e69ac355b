// The sets that rules of policies look addresses and ports up in, shared by all rules that ask for the same. Pure.
// Guarantees: a set is in the tables while somebody holds it; a pod that comes or goes is an element, never a rule.
import type { Family } from '../../api/ip.js';
import type { SetElement } from '../../kernel/nftables/port.js';
import { addressIntervalKey, blockIntervals, portIntervals } from './intervals.js';
import type { IpBlock, PodSelection, PolicyPod, PortMatch } from './model.js';
import * as names from './names.js';
import { type MembershipChange, type Selection, Selections } from './selections.js';
import { addressType, FAMILIES, type PolicyFamily } from './table.js';
import type { SetShape, TableImage } from './tableImage.js';

interface Lease<T> {
  readonly value: T;
  release(): void;
}

export type Images = Readonly<Record<PolicyFamily, TableImage>>;
type NamedMatch = Extract<PortMatch, { name: string }>;

/** A set of the tables that holds something of each member of a selection. */
interface MemberSet {
  readonly name: string;
  elements(pod: PolicyPod, family: PolicyFamily): string[];
}

const ipFamily = (family: PolicyFamily): Family => (family === 'ip' ? 'IPv4' : 'IPv6');
export const ipsOf = ({ ips }: PolicyPod, family: PolicyFamily) =>
  ips.filter((ip) => ip.includes(':') === (family === 'ip6'));

export class SharedSets {
  readonly selections: Selections;
  readonly #images: Images;
  readonly #users = new Map<string, number>();
  readonly #memberSets = new Map<string, Map<string, MemberSet>>();

  /** `onMember` is told of every change of a membership after the sets have it. */
  constructor(images: Images, onMember: (change: MembershipChange) => void) {
    this.#images = images;
    this.selections = new Selections((change) => {
      this.#follow(change);
      onMember(change);
    });
  }

  selection(wanted: PodSelection): Lease<Selection> {
    const value = this.selections.acquire(wanted);
    return { value, release: () => this.selections.release(value) };
  }

  /** The addresses of a selection's pods. */
  pods(wanted: PodSelection): Lease<string> {
    return this.#memberSet(wanted, (text) => ({
      set: { name: names.podsSet(text), elements: (pod, family) => ipsOf(pod, family) },
      type: (family) => [addressType(family)],
      comment: text,
    }));
  }

  /** Address, protocol and port of each pod of a selection that has a port of that name. */
  namedPorts(wanted: PodSelection, { protocol, name }: NamedMatch): Lease<string> {
    const ports = (pod: PolicyPod) =>
      pod.ports.filter((port) => port.name === name && port.protocol === protocol);
    return this.#memberSet(wanted, (text) => ({
      set: {
        name: names.namedPortsSet(text, `${protocol}/${name}`),
        elements: (pod, family) =>
          ipsOf(pod, family).flatMap((ip) => ports(pod).map(({ port }) => `${ip} . ${protocol} . ${port}`)),
      },
      type: (family) => [addressType(family), 'inet_proto', 'inet_service'],
      comment: `${protocol} ${name} of ${text}`,
    }));
  }

  blocks(blocks: readonly IpBlock[]): Lease<string> {
    const content = JSON.stringify(blocks);
    const keys = (family: PolicyFamily) =>
      blockIntervals(blocks, ipFamily(family)).map((interval) =>
        addressIntervalKey(interval, ipFamily(family)),
      );
    return this.#fixedSet(names.blocksSet(content), keys, (family) => ({
      type: [addressType(family)],
      flags: ['interval'],
      comment: comment(content),
    }));
  }

  ports(ports: readonly PortMatch[]): Lease<string> {
    const keys = [...portIntervals(ports)].flatMap(([protocol, intervals]) =>
      intervals.map(({ from, to }) => `${protocol} . ${from === to ? from : `${from}-${to}`}`),
    );
    const content = keys.join(', ');
    return this.#fixedSet(
      names.portsSet(content),
      () => keys,
      () => ({
        type: ['inet_proto', 'inet_service'],
        flags: ['interval'],
        comment: comment(content),
      }),
    );
  }

  #fixedSet(
    name: string,
    keys: (family: PolicyFamily) => readonly string[],
    shape: (family: PolicyFamily) => Omit<SetShape, 'name'>,
  ): Lease<string> {
    return this.#held(name, () => {
      for (const family of FAMILIES) {
        this.#images[family].putSet({ name, ...shape(family) });
        for (const key of keys(family)) this.#images[family].putElement(name, { key });
      }
    });
  }

  #memberSet(
    wanted: PodSelection,
    make: (text: string) => {
      set: MemberSet;
      type: (family: PolicyFamily) => SetShape['type'];
      comment: string;
    },
  ): Lease<string> {
    const members = this.selection(wanted);
    const { text } = members.value;
    const { set, type, comment: of } = make(text);
    const lease = this.#held(set.name, () => {
      for (const family of FAMILIES)
        this.#images[family].putSet({ name: set.name, type: type(family), comment: comment(of) });
      const sets = this.#memberSets.get(text) ?? new Map<string, MemberSet>();
      this.#memberSets.set(text, sets.set(set.name, set));
      for (const pod of members.value.members.values()) this.#put(set, undefined, pod);
    });
    const release = () => {
      lease.release();
      if (!this.#users.has(set.name)) {
        this.#memberSets.get(text)?.delete(set.name);
        if (this.#memberSets.get(text)?.size === 0) this.#memberSets.delete(text);
      }
      members.release();
    };
    return { value: set.name, release };
  }

  /** Made for the first who asks, removed with the last. */
  #held(name: string, make: () => void): Lease<string> {
    const users = this.#users.get(name) ?? 0;
    this.#users.set(name, users + 1);
    if (users === 0) make();
    return { value: name, release: () => this.#give(name) };
  }

  #give(name: string): void {
    const users = (this.#users.get(name) ?? 0) - 1;
    if (users > 0) {
      this.#users.set(name, users);
      return;
    }
    this.#users.delete(name);
    for (const family of FAMILIES) this.#images[family].removeSet(name);
  }

  #follow({ selection, before, after }: MembershipChange): void {
    for (const set of this.#memberSets.get(selection.text)?.values() ?? []) this.#put(set, before, after);
  }

  #put(set: MemberSet, before: PolicyPod | undefined, after: PolicyPod | undefined): void {
    for (const family of FAMILIES) {
      const image = this.#images[family];
      const now = new Set(after === undefined ? [] : set.elements(after, family));
      for (const key of before === undefined ? [] : set.elements(before, family))
        if (!now.has(key)) image.removeElement(set.name, key);
      for (const key of now) image.putElement(set.name, { key } satisfies SetElement);
    }
  }
}

/** Comments hold 128 bytes; names and labels are ASCII. */
const comment = (text: string) => text.slice(0, 127);
