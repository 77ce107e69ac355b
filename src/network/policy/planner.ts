// Keeps the tables of network policies as pods, namespaces and policies change. Pure.
// Guarantees: a change costs what it touches, not what there is; a pod that many changes touch is judged once; an address
// belongs to the pod that got it last, and late news of its former pod change nothing of it.
import type { Labels } from '../../api/selectors.js';
import { CompiledPolicy } from './compiledPolicy.js';
import { DIRECTIONS, type Direction, type Policy, type PolicyPod, podKey } from './model.js';
import * as names from './names.js';
import { inOrder, type Profile, Profiles } from './profiles.js';
import { nftRules } from './rules.js';
import type { MembershipChange } from './selections.js';
import { type Images, ipsOf, SharedSets } from './sharedSets.js';
import { FAMILIES, frame } from './table.js';

/** A pod of this node as the tables have it. */
interface Placed {
  readonly pod: PolicyPod;
  readonly profiles: Readonly<Record<Direction, Profile | undefined>>;
}

export class PolicyPlanner {
  readonly #images: Images;
  readonly #sets: SharedSets;
  readonly #profiles: Profiles;
  readonly #policies = new Map<string, CompiledPolicy>();
  /** Policies by the text of the selection that they restrict. */
  readonly #bySubject = new Map<string, Set<CompiledPolicy>>();
  readonly #placed = new Map<string, Placed>();
  readonly #unsettled = new Set<string>();
  /** Selections by their text whose pods of this node, or whose policies, are others than at the last settling. */
  readonly #unsettledSubjects = new Set<string>();
  /** Policies that are no more, or no more so: what they hold is given back once no pod is judged by them. */
  readonly #retired: CompiledPolicy[] = [];
  /** Who has an address now, and what each pod says of itself. */
  readonly #owners = new Map<string, string>();
  readonly #claims = new Map<string, PolicyPod>();
  /** Addresses that pods here have given back: connections to them may live on, and are not those of the next pod. */
  readonly #givenBack = new Set<string>();
  #podLinks: readonly string[] = [];
  /** Whether something that was allowed may be forbidden since somebody last set this to false. */
  mayForbid = false;

  /** `tracesRefused`: the kernel tells of packets that are dropped, which costs a little for each. */
  constructor(table = names.TABLE, { tracesRefused = false }: { readonly tracesRefused?: boolean } = {}) {
    const framed = { table, tracesRefused };
    this.#images = { ip: frame('ip', framed), ip6: frame('ip6', framed) };
    this.#profiles = new Profiles(this.#images);
    this.#sets = new SharedSets(this.#images, (change) => this.#memberChanged(change));
  }

  /** The tables as they should be after everything that was told. */
  get images(): Images {
    this.#settle();
    return this.#images;
  }

  /** Networks of which this node gives its pods addresses, as `10.244.1.0/24`. */
  setPodRanges(cidrs: readonly string[]): void {
    for (const family of FAMILIES) {
      const image = this.#images[family];
      const wanted = new Set(cidrs.filter((cidr) => cidr.includes(':') === (family === 'ip6')));
      for (const key of image.keysOf(names.POD_RANGES))
        if (!wanted.has(key)) image.removeElement(names.POD_RANGES, key);
      for (const key of wanted) image.putElement(names.POD_RANGES, { key });
    }
  }

  /** Links on which pods of this node are each other's neighbours. */
  setPodLinks(links: readonly string[]): void {
    this.#podLinks = links;
  }

  /** Whether neighbours on such a link may use addresses that are no pod's: while no policy is anybody's. */
  get areLinksClosed(): boolean {
    return this.#policies.size > 0;
  }

  /** `labels` undefined: the namespace is gone. */
  setNamespace(name: string, labels: Labels | undefined): void {
    this.#sets.selections.setNamespace(name, labels);
  }

  setPod(pod: PolicyPod): void {
    const key = podKey(pod);
    const before = this.#claims.get(key);
    this.#claims.set(key, pod);
    for (const ip of before?.ips ?? [])
      if (!pod.ips.includes(ip) && this.#owners.get(ip) === key) this.#owners.delete(ip);
    for (const ip of pod.ips) {
      const owner = this.#owners.get(ip);
      if (owner === key || (owner !== undefined && before?.ips.includes(ip) === true)) continue;
      this.#owners.set(ip, key);
      if (owner !== undefined) this.#place(owner);
    }
    this.#place(key);
  }

  removePod(key: string): void {
    for (const ip of this.#claims.get(key)?.ips ?? [])
      if (this.#owners.get(ip) === key) this.#owners.delete(ip);
    this.#claims.delete(key);
    this.#sets.selections.removePod(key);
    this.#unsettled.add(key);
  }

  setPolicy(policy: Policy): void {
    const before = this.#policies.get(policy.key);
    // The new one before the old one goes, so that what both hold stays.
    const after = new CompiledPolicy(policy, this.#sets);
    this.#policies.set(policy.key, after);
    this.#bind(after);
    if (before !== undefined) this.#unbind(before);
    this.mayForbid = true;
  }

  removePolicy(key: string): void {
    const before = this.#policies.get(key);
    if (before === undefined) return;
    this.#policies.delete(key);
    this.#unbind(before);
    this.mayForbid = true;
  }

  /** The pod that has this address now. */
  podAt(ip: string): PolicyPod | undefined {
    const key = this.#owners.get(ip);
    return key === undefined ? undefined : this.#sets.selections.pod(key);
  }

  /** The policies that restrict a pod of this node, in the order in which they are asked. */
  restricting(pod: PolicyPod, direction: Direction): readonly CompiledPolicy[] {
    this.#settle();
    return this.#placed.get(podKey(pod))?.profiles[direction]?.policies ?? [];
  }

  /** Whether a selection, by its text, takes the pod. */
  isMember(selection: string, pod: PolicyPod): boolean {
    for (const { text } of this.#sets.selections.of(podKey(pod))) if (text === selection) return true;
    return false;
  }

  /** How often a pod was compared with a selection. */
  get comparisons(): number {
    this.#settle();
    return this.#sets.selections.comparisons;
  }

  /** With those of its addresses that no other pod got after it. */
  #place(key: string): void {
    const claim = this.#claims.get(key);
    if (claim === undefined) return;
    const ips = claim.ips.filter((ip) => this.#owners.get(ip) === key);
    this.#sets.selections.setPod(ips.length === claim.ips.length ? claim : { ...claim, ips });
    this.#unsettled.add(key);
  }

  #memberChanged({ selection, key, before, after }: MembershipChange): void {
    if (before !== undefined) this.mayForbid = true;
    if (!this.#bySubject.has(selection.text)) return;
    if (before?.isLocal !== true && after?.isLocal !== true) return;
    this.#unsettled.add(key);
    this.#unsettledSubjects.add(selection.text);
  }

  #bind(policy: CompiledPolicy): void {
    const { text } = policy.subject;
    this.#bySubject.set(text, (this.#bySubject.get(text) ?? new Set()).add(policy));
    this.#unsettle(policy);
  }

  #unbind(policy: CompiledPolicy): void {
    const { text } = policy.subject;
    const bound = this.#bySubject.get(text);
    bound?.delete(policy);
    if (bound?.size === 0) this.#bySubject.delete(text);
    this.#unsettle(policy);
    this.#retired.push(policy);
  }

  #unsettle({ subject }: CompiledPolicy): void {
    this.#unsettledSubjects.add(subject.text);
    if (subject.localMembers === 0) return;
    for (const [key, pod] of subject.members) if (pod.isLocal) this.#unsettled.add(key);
  }

  /** Gives every pod whose policies or addresses may have changed its chains. */
  #settle(): void {
    this.#putLinks();
    const idle = this.#putInForce();
    for (const key of this.#unsettled) {
      const before = this.#placed.get(key);
      const pod = this.#sets.selections.pod(key);
      const after = pod?.isLocal === true ? this.#judged(key, pod) : undefined;
      this.#putAddresses(before, after);
      this.#handOver(before?.pod.ips ?? [], after?.pod.ips ?? []);
      if (after === undefined) this.#placed.delete(key);
      else this.#placed.set(key, after);
      for (const direction of DIRECTIONS) {
        // Somebody who may talk to it may no longer, whichever policy took it.
        if (before !== undefined && before.profiles[direction] !== after?.profiles[direction])
          this.mayForbid = true;
        this.#profiles.release(before?.profiles[direction]);
      }
    }
    this.#unsettled.clear();
    for (const policy of idle) policy.takeOutOfForce();
    const retired = this.#retired.splice(0);
    for (const policy of retired) policy.release();
    for (const { policy } of [...idle, ...retired]) this.#removeChains(policy.key);
  }

  #putLinks(): void {
    const wanted = new Set(this.areLinksClosed ? this.#podLinks : []);
    for (const family of FAMILIES) {
      const image = this.#images[family];
      for (const key of image.keysOf(names.CLOSED_LINKS))
        if (!wanted.has(key)) image.removeElement(names.CLOSED_LINKS, key);
      for (const key of wanted) image.putElement(names.CLOSED_LINKS, { key });
    }
  }

  #handOver(had: readonly string[], has: readonly string[]): void {
    for (const ip of had)
      if (!has.includes(ip)) {
        if (this.#owners.has(ip)) this.mayForbid = true;
        else this.#givenBack.add(ip);
      }
    for (const ip of has) if (!had.includes(ip) && this.#givenBack.delete(ip)) this.mayForbid = true;
  }

  /** Policies that have come to restrict a pod of this node; those that no longer do are returned. */
  #putInForce(): CompiledPolicy[] {
    const idle: CompiledPolicy[] = [];
    for (const text of this.#unsettledSubjects)
      for (const policy of this.#bySubject.get(text) ?? []) {
        const isNeeded = policy.subject.localMembers > 0;
        if (isNeeded === policy.isInForce) continue;
        if (!isNeeded) idle.push(policy);
        else {
          policy.putInForce();
          this.#fillChains(policy);
          this.#profiles.replace(policy);
        }
      }
    this.#unsettledSubjects.clear();
    return idle;
  }

  #judged(key: string, pod: PolicyPod): Placed {
    const policies = [...this.#sets.selections.of(key)]
      .flatMap(({ text }) => [...(this.#bySubject.get(text) ?? [])])
      .sort(inOrder);
    const profile = (direction: Direction) =>
      this.#profiles.acquire(
        direction,
        policies.filter(({ rules }) => rules[direction] !== undefined),
      );
    return { pod, profiles: { ingress: profile('ingress'), egress: profile('egress') } };
  }

  #putAddresses(before: Placed | undefined, after: Placed | undefined): void {
    for (const family of FAMILIES) {
      const image = this.#images[family];
      const now = new Set(after === undefined ? [] : ipsOf(after.pod, family));
      const put = (set: string, key: string, isWanted: boolean, data?: string) => {
        if (!isWanted) image.removeElement(set, key);
        else image.putElement(set, data === undefined ? { key } : { key, data });
      };
      for (const ip of new Set([...(before === undefined ? [] : ipsOf(before.pod, family)), ...now])) {
        // Another pod has it by now, and its elements are not this one's to remove.
        if (!now.has(ip) && this.#owners.has(ip)) continue;
        const profiles = now.has(ip) ? after?.profiles : undefined;
        put(names.JUDGED, ip, now.has(ip));
        put(names.SELF, `${ip} . ${ip}`, profiles?.ingress !== undefined || profiles?.egress !== undefined);
        for (const direction of DIRECTIONS) {
          const number = profiles?.[direction]?.number;
          put(names.SUBJECTS[direction], ip, number !== undefined, number);
        }
      }
    }
  }

  #fillChains({ policy, rules }: CompiledPolicy): void {
    if (policy.tier !== 'namespaced') return;
    for (const direction of DIRECTIONS) {
      const own = rules[direction];
      if (own === undefined) continue;
      const name = names.policyChain(direction, policy.key);
      for (const family of FAMILIES)
        this.#images[family].putChain({ name }, nftRules(own, { family, direction, policy: policy.key }));
    }
  }

  /** Those that the policy of this key has no use for now. */
  #removeChains(key: string): void {
    const rules = this.#policies.get(key)?.rules;
    for (const direction of DIRECTIONS)
      if (rules?.[direction] === undefined)
        for (const family of FAMILIES) this.#images[family].removeChain(names.policyChain(direction, key));
  }
}
