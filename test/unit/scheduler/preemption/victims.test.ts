// Where only sums matter preemption moves only sums: over random clusters it names the victims that moving whole pods names.
import { expect, test } from 'vitest';
import type { V1Pod } from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';
import { defaultProfile } from '../../../../src/scheduler/configuration/profiles.js';
import { FilterRun } from '../../../../src/scheduler/filterRun.js';
import { Nominations } from '../../../../src/scheduler/nominations.js';
import { podInfoOf } from '../../../../src/scheduler/podInfo.js';
import { Budgets } from '../../../../src/scheduler/preemption/budgets.js';
import { victimsOn } from '../../../../src/scheduler/preemption/victims.js';
import { Dice } from '../../../support/scheduler/random.js';
import { type Filled, makeNode, makePod, snapshotOf } from '../support.js';

const CLUSTERS = 400;
const profile = defaultProfile();

/** Moves whole pods, whatever matters. */
class CarefulRun extends FilterRun {
  override seesOnlySums(): boolean {
    return false;
  }
}

function randomPod(dice: Dice, name: string, priority: number): Stored<V1Pod> {
  const requests = {
    cpu: `${dice.below(10) * 100}m`,
    memory: `${dice.below(4) * 256}Mi`,
    ...(dice.chance(0.3) ? { 'example.com/gpu': '1' } : {}),
  };
  const labels = { app: dice.of(['a', 'b']) };
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'a' } } };
  const pod = makePod(name, {
    priority,
    containers: [
      {
        name: 'c',
        resources: { requests },
        ...(dice.chance(0.1) ? { ports: [{ containerPort: 1, hostPort: 80 }] } : {}),
      },
    ],
    volumes: [{ name: 'token', projected: {} }],
    ...(dice.chance(0.1)
      ? { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }
      : {}),
  });
  return {
    ...pod,
    metadata: { ...pod.metadata, labels },
    status: { startTime: `2026-01-0${1 + dice.below(9)}T00:00:00Z` },
  };
}

function randomBudgets(dice: Dice): Budgets {
  const budget = (app: string) => ({
    metadata: { name: app, namespace: 'ns', uid: '', resourceVersion: '', creationTimestamp: '' },
    spec: { selector: { matchLabels: { app } } },
    status: { disruptionsAllowed: dice.below(3), currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  });
  return new Budgets(dice.chance(0.5) ? [budget('a'), budget('b')] : []);
}

test('sums and whole pods give the same victims', () => {
  const seen = { fast: 0, victims: 0 };
  for (let seed = 0; seed < CLUSTERS; seed += 1) {
    const dice = new Dice(seed);
    const filled: Filled[] = ['a', 'b', 'c'].map((name) => [
      makeNode(name, { allocatable: { cpu: '2', memory: '1Gi', pods: '6', 'example.com/gpu': '2' } }),
      ...Array.from({ length: dice.below(6) }, (_, at) => randomPod(dice, `${name}${at}`, dice.below(4))),
    ]);
    const snapshot = snapshotOf(...filled);
    const nominations = new Nominations(snapshot);
    if (dice.chance(0.5)) nominations.set(podInfoOf(randomPod(dice, 'nominated', 3)), 'a');
    const pod = podInfoOf(randomPod(dice, 'high', 3));
    const budgets = randomBudgets(dice);
    const state = () => [snapshot.table.podCount, ...snapshot.table.requested].map((column) => [...column]);
    const before = state();
    for (const slot of snapshot.order()) {
      const on = (Run: typeof FilterRun) => {
        const run = new Run(pod, snapshot, profile.filters);
        const others = nominations.beside(pod, slot);
        if (run.seesOnlySums(others)) seen.fast += 1;
        const found = victimsOn(slot, { pod, snapshot, run, nominations, budgets });
        if (typeof found === 'string') return found;
        seen.victims += 1;
        return { ...found, pods: found.pods.map(({ key }) => key) };
      };
      expect([seed, on(FilterRun)]).toEqual([seed, on(CarefulRun)]);
      expect(state()).toEqual(before);
    }
  }
  // The comparison means something only when both ways were gone, with victims found.
  expect(seen.fast).toBeGreaterThan(CLUSTERS);
  expect(seen.victims).toBeGreaterThan(CLUSTERS);
});
