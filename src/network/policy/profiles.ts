// The chains that judge pods: pods that the same policies select share one. Pure.
// Guarantees: a chain is in the tables while a pod uses it; tiers are asked in order, and a pod that a namespaced policy
// selects is open to nothing but what its policies allow.
import { accept, counter, goTo, jump } from '../../kernel/nftables/expressions.js';
import type { CompiledPolicy } from './compiledPolicy.js';
import type { Direction, Tier } from './model.js';
import * as names from './names.js';
import { nftRules } from './rules.js';
import type { Images } from './sharedSets.js';
import { FAMILIES, type PolicyFamily, shape } from './table.js';
import type { RuleShape } from './tableImage.js';

export interface Profile {
  readonly direction: Direction;
  readonly chain: string;
  /** What the tables know it by, as the data of an element. */
  readonly number: string;
  /** Of its policies, joined: what it is found by. */
  readonly text: string;
  readonly keys: readonly string[];
  /** In the order in which they are asked. */
  policies: readonly CompiledPolicy[];
  pods: number;
}

const TIER_ORDER: Readonly<Record<Tier, number>> = { admin: 0, namespaced: 1, baseline: 2 };

export const inOrder = (a: CompiledPolicy, b: CompiledPolicy): number =>
  TIER_ORDER[a.policy.tier] - TIER_ORDER[b.policy.tier] ||
  a.policy.priority - b.policy.priority ||
  (a.policy.key < b.policy.key ? -1 : 1);

/** Small numbers, each in use once, as the kernel tells them back. */
class Numbers {
  readonly #free: string[] = [];
  #next = 1;

  take(): string {
    return this.#free.pop() ?? `0x${(this.#next++).toString(16).padStart(8, '0')}`;
  }

  give(number: string): void {
    this.#free.push(number);
  }
}

export class Profiles {
  readonly #images: Images;
  readonly #byText: Readonly<Record<Direction, Map<string, Profile>>> = {
    ingress: new Map(),
    egress: new Map(),
  };
  readonly #byPolicy = new Map<string, Set<Profile>>();
  readonly #numbers: Readonly<Record<Direction, Numbers>> = { ingress: new Numbers(), egress: new Numbers() };

  constructor(images: Images) {
    this.#images = images;
  }

  /** For one pod; each call needs a `release`. Undefined when nothing restricts it. `policies` are in order. */
  acquire(direction: Direction, policies: readonly CompiledPolicy[]): Profile | undefined {
    if (policies.length === 0) return undefined;
    const keys = policies.map(({ policy }) => `${policy.tier} ${policy.key}`);
    const text = keys.join('\n');
    const known = this.#byText[direction].get(text);
    if (known !== undefined) {
      known.pods += 1;
      return known;
    }
    const chain = names.profileChain(direction, text);
    const number = this.#numbers[direction].take();
    const profile: Profile = { direction, chain, number, text, keys, policies, pods: 1 };
    this.#byText[direction].set(text, profile);
    for (const key of keys) this.#byPolicy.set(key, (this.#byPolicy.get(key) ?? new Set()).add(profile));
    this.#fill(profile);
    for (const family of FAMILIES)
      this.#images[family].putElement(names.PROFILES[direction], { key: number, verdict: `goto ${chain}` });
    return profile;
  }

  release(profile: Profile | undefined): void {
    if (profile === undefined || --profile.pods > 0) return;
    this.#byText[profile.direction].delete(profile.text);
    for (const key of profile.keys) {
      const users = this.#byPolicy.get(key);
      users?.delete(profile);
      if (users?.size === 0) this.#byPolicy.delete(key);
    }
    this.#numbers[profile.direction].give(profile.number);
    for (const family of FAMILIES) {
      this.#images[family].removeElement(names.PROFILES[profile.direction], profile.number);
      this.#images[family].removeChain(profile.chain);
      this.#images[family].removeChain(names.passedChain(profile.chain));
    }
  }

  /** A policy of the same key has taken another's place. */
  replace(after: CompiledPolicy): void {
    const { tier, key } = after.policy;
    for (const profile of this.#byPolicy.get(`${tier} ${key}`) ?? []) {
      profile.policies = profile.policies.map((old) =>
        old.policy.tier === tier && old.policy.key === key ? after : old,
      );
      this.#fill(profile);
    }
  }

  #fill(profile: Profile): void {
    for (const family of FAMILIES) {
      const { first, passed } = chains(profile, family);
      const image = this.#images[family];
      if (passed !== undefined) image.putChain({ name: names.passedChain(profile.chain) }, passed);
      image.putChain({ name: profile.chain }, first);
    }
  }
}

function chains({ direction, chain, policies }: Profile, family: PolicyFamily) {
  const of = (tier: Tier) => policies.filter(({ policy }) => policy.tier === tier);
  const inline = (tier: Tier, target: { passed?: string } = {}) =>
    of(tier).flatMap(({ policy, rules }) =>
      nftRules(rules[direction] ?? [], { family, direction, policy: policy.key, ...target }),
    );
  const namespaced = of('namespaced').map(({ policy }) =>
    shape(jump(names.policyChain(direction, policy.key))),
  );
  const refusal: RuleShape = {
    ...shape(counter, goTo(names.refusedChain(direction))),
    decision: { policies: of('namespaced').map(({ policy }) => policy.key), outcome: 'refused' },
  };
  const rest: RuleShape[] =
    namespaced.length > 0 ? [...namespaced, refusal] : [...inline('baseline'), shape(accept)];
  if (of('admin').length === 0) return { first: rest, passed: undefined };
  const passed = names.passedChain(chain);
  return { first: [...inline('admin', { passed }), shape(goTo(passed))], passed: rest };
}
