// The fast choice against the slow, obviously right one, over random clusters that also change while they are looked at.
// All 20,000: TRELLIS_SCHEDULER_COMPARISONS=20000 npx vitest run --project unit test/unit/scheduler/comparison.test.ts
import { describe, expect, test } from 'vitest';
import type { V1Node, V1Pod } from '../../../src/api/gen/types.js';
import { keyOf, type Stored } from '../../../src/api/object.js';
import { chooseNode, Scratch } from '../../../src/scheduler/choose.js';
import { defaultProfile } from '../../../src/scheduler/configuration/profiles.js';
import { podInfoOf } from '../../../src/scheduler/podInfo.js';
import { Snapshot } from '../../../src/scheduler/snapshot/snapshot.js';
import {
  Dice,
  NAMESPACE_NAMES,
  randomLabels,
  randomNode,
  randomPod,
} from '../../support/scheduler/random.js';
import { decide } from '../../support/scheduler/reference.js';

const COMPARISONS = Number(process.env['TRELLIS_SCHEDULER_COMPARISONS'] ?? '300');
const PARTS = 10;
const profile = defaultProfile();
const scratch = new Scratch();

/** A cluster in both forms; every change is told to both. */
class Twin {
  readonly nodes = new Map<string, Stored<V1Node>>();
  readonly pods = new Map<string, Stored<V1Pod>>();
  readonly namespaces: Record<string, Record<string, string>> = {};
  readonly snapshot = new Snapshot();

  constructor(readonly dice: Dice) {
    for (const name of NAMESPACE_NAMES) this.#label(name);
    for (let number = 1 + dice.below(10); number > 0; number -= 1) this.#setNode(`n${number}`);
    for (let number = dice.below(25); number > 0; number -= 1) this.#bind(`p${number}`);
  }

  change(): void {
    const { dice } = this;
    const kind = dice.below(6);
    if (kind === 0) this.#setNode(`n${1 + dice.below(12)}`);
    else if (kind === 1 && this.nodes.size > 1) {
      const name = dice.of([...this.nodes.keys()] as [string]);
      this.nodes.delete(name);
      this.snapshot.removeNode(name);
    } else if (kind === 2) this.#label(dice.of(NAMESPACE_NAMES));
    else if (kind === 3 && this.pods.size > 0) {
      const key = dice.of([...this.pods.keys()] as [string]);
      this.pods.delete(key);
      this.snapshot.removePod(key);
    } else this.#bind(`p${dice.below(40)}`);
  }

  #setNode(name: string): void {
    const node = randomNode(this.dice, name);
    this.nodes.set(name, node);
    this.snapshot.setNode(node);
  }

  #label(namespace: string): void {
    this.namespaces[namespace] = randomLabels(this.dice);
    this.snapshot.classes.setNamespace(namespace, this.namespaces[namespace]);
  }

  #bind(name: string): void {
    const pod = randomPod(this.dice, name);
    const held = [...this.pods.values()].find(({ metadata }) => keyOf(metadata) === keyOf(pod.metadata));
    // A pod stays on its node.
    const nodeName = held?.spec.nodeName ?? this.dice.of([...this.nodes.keys()] as [string]);
    const bound = { ...pod, spec: { ...pod.spec, nodeName } };
    this.pods.set(keyOf(pod.metadata), bound);
    this.snapshot.setPod(bound);
  }

  compare(pod: Stored<V1Pod>): void {
    const { snapshot, dice } = this;
    const expected = decide(
      { nodes: [...this.nodes.values()], pods: [...this.pods.values()], namespaces: this.namespaces },
      pod,
    );
    const start = dice.below(20);
    const choice = chooseNode(podInfoOf(pod), snapshot, profile, {
      scratch,
      start,
      random: () => dice.next(),
    });
    const names = [...scratch.feasible.subarray(0, choice.feasible)].map(
      (slot) => snapshot.table.names[slot] ?? '',
    );
    expect([...names].sort()).toEqual([...expected.feasible].sort());
    if (choice.feasible < 2) return;
    // What is the same for all nodes may be left out: the scores differ by one constant at most.
    const distance = (name: string, at: number) =>
      (expected.scores.get(name) ?? 0) - (scratch.totals[at] ?? 0);
    const distances = new Set(names.map(distance));
    expect([...distances]).toHaveLength(1);
    const top = Math.max(...expected.scores.values());
    expect(expected.scores.get(snapshot.table.names[choice.slot] ?? '')).toBe(top);
  }
}

describe('the feasible nodes and the best score are those of the reference', () => {
  test.each(Array.from({ length: PARTS }, (_, part) => part))('part %i', { timeout: 600_000 }, (part) => {
    for (let seed = part; seed < COMPARISONS; seed += PARTS) {
      const twin = new Twin(new Dice(seed));
      try {
        for (let round = 0; round < 4; round += 1) {
          twin.compare(randomPod(twin.dice, 'incoming'));
          for (let changes = twin.dice.below(4); changes > 0; changes -= 1) twin.change();
        }
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
  });
});
