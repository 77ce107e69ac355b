// What nodes said to pods alike is believed only while it is true: over clusters that change, choices and victims with
// remembered verdicts are those without.
import { expect, test } from 'vitest';
import type { V1Pod, V1PodDisruptionBudget } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { chooseNode, Scratch } from '../../../src/scheduler/choose.js';
import { defaultProfile } from '../../../src/scheduler/configuration/profiles.js';
import { FilterRun } from '../../../src/scheduler/filterRun.js';
import { Nominations } from '../../../src/scheduler/nominations.js';
import { type PodInfo, podInfoOf } from '../../../src/scheduler/podInfo.js';
import { Budgets } from '../../../src/scheduler/preemption/budgets.js';
import type { Victims } from '../../../src/scheduler/preemption/victims.js';
import { Snapshot } from '../../../src/scheduler/snapshot/snapshot.js';
import { KnownVerdicts, Verdicts } from '../../../src/scheduler/verdicts.js';
import { Dice } from '../../support/scheduler/random.js';
import { choosePreemption, makeNode, makePod } from './support.js';

const CLUSTERS = 25;
const STEPS = 50;
const LOOKS = 3;
const NODES = ['a', 'b', 'c', 'd'] as const;
/** No node says that it can restart all containers of a pod. */
const RULES = [{ action: 'RestartAllContainers' }];
const profile = defaultProfile();

function randomPod(dice: Dice, name: string): Stored<V1Pod> {
  const requests = { cpu: dice.of(['500m', '1']), ...(dice.chance(0.2) ? { 'example.com/gpu': '1' } : {}) };
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'a' } } };
  const pod = makePod(name, {
    priority: dice.below(3),
    containers: [
      { name: 'c', resources: { requests }, ...(dice.chance(0.1) ? { restartPolicyRules: RULES } : {}) },
    ],
    ...(dice.chance(0.1) ? { resourceClaims: [{ name: 'device' }] } : {}),
    ...(dice.chance(0.2) ? { tolerations: [{ key: 't', operator: 'Exists' }] } : {}),
    ...(dice.chance(0.1) ? { nodeSelector: { disk: 'ssd' } } : {}),
    ...(dice.chance(0.1)
      ? { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }
      : {}),
  });
  const startTime = `2026-01-0${1 + dice.below(9)}T00:00:00Z`;
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { app: dice.of(['a', 'b']) } },
    status: { startTime },
  };
}

const randomNode = (dice: Dice, name: string) =>
  makeNode(name, {
    allocatable: { cpu: dice.of(['1', '2']), pods: '4', 'example.com/gpu': '1' },
    labels: dice.chance(0.5) ? { disk: 'ssd' } : {},
    spec: {
      ...(dice.chance(0.2) ? { taints: [{ key: 't', effect: 'NoSchedule' }] } : {}),
      ...(dice.chance(0.1) ? { unschedulable: true } : {}),
    },
  });

const budgetFor = (app: string, disruptionsAllowed: number) =>
  ({
    metadata: { name: app, namespace: 'ns', uid: '', resourceVersion: '', creationTimestamp: '' },
    spec: { selector: { matchLabels: { app } } },
    status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  }) as unknown as Stored<V1PodDisruptionBudget>;

const namesOf = ({ slot, pods }: Victims) => `${slot}: ${pods.map(({ key }) => key).join(' ')}`;

class Cluster {
  readonly #dice: Dice;

  readonly snapshot = new Snapshot();
  readonly nominations = new Nominations(this.snapshot);
  budgets = new Budgets([]);

  constructor(dice: Dice) {
    this.#dice = dice;

    for (const name of NODES) this.snapshot.setNode(randomNode(dice, name));
  }

  change(step: number): void {
    const { snapshot, nominations } = this;
    const dice = this.#dice;
    const node = dice.of(NODES);
    const some = `p${dice.below(12)}`;
    switch (dice.below(8)) {
      case 0:
        snapshot.removePod(`ns/${some}`);
        break;
      case 1:
        snapshot.setNode(randomNode(dice, node));
        break;
      case 2:
        nominations.set(podInfoOf(randomPod(dice, `n${dice.below(3)}`)), node);
        break;
      case 3:
        nominations.remove(`ns/n${dice.below(3)}`);
        break;
      case 4:
        this.budgets = new Budgets(dice.chance(0.5) ? [budgetFor('a', dice.below(2))] : []);
        break;
      case 5:
        snapshot.markTerminating(`ns/${some}`, `uid-${some}`);
        break;
      default: {
        const pod = randomPod(dice, `p${step % 12}`);
        snapshot.setPod({ ...pod, spec: { ...pod.spec, nodeName: node } });
      }
    }
  }

  /** The choice, and when there is none the victims or the words; everything that a scheduler would act on. */
  look(pod: PodInfo, verdicts?: Verdicts): unknown {
    const { snapshot, nominations, budgets } = this;
    const scratch = new Scratch();
    const random = () => 0;
    const choice = chooseNode(pod, snapshot, profile, { scratch, start: 0, random, nominations, verdicts });
    if (choice.slot >= 0) return choice;
    const run = new FilterRun(pod, snapshot, profile.filters);
    const shared = run.seesOnlySums() ? verdicts : undefined;
    const whatIf = { pod, snapshot, run, nominations, budgets, verdicts: shared };
    const found = choosePreemption(whatIf, { scratch, random });
    const said = 'victims' in found ? namesOf(found.victims) : found;
    return { choice, said };
  }
}

test('remembered verdicts change no choice and no victim', () => {
  const seen = { refused: 0, victims: 0 };
  for (let seed = 0; seed < CLUSTERS; seed += 1) {
    const dice = new Dice(seed);
    const cluster = new Cluster(dice);
    const known = new KnownVerdicts();
    for (let step = 0; step < STEPS; step += 1) {
      cluster.change(step);
      for (let look = 0; look < LOOKS; look += 1) {
        const pod = podInfoOf(randomPod(dice, 'new'));
        const verdicts = known.of(pod, profile.filters, cluster.snapshot.table);
        const run = new FilterRun(pod, cluster.snapshot, profile.filters);
        for (const slot of cluster.snapshot.order()) {
          if (verdicts.refusal(slot, run) !== undefined) seen.refused += 1;
          if (verdicts.victims(slot, run, cluster.budgets) !== undefined) seen.victims += 1;
        }
        expect([seed, step, cluster.look(pod, verdicts)]).toEqual([seed, step, cluster.look(pod)]);
      }
    }
  }
  // It means something only when verdicts were there to be believed.
  expect(seen.refused).toBeGreaterThan(CLUSTERS);
  expect(seen.victims).toBeGreaterThan(CLUSTERS);
});

test('a node that stays as it is is asked once', () => {
  const cluster = new Cluster(new Dice(1));
  const pod = podInfoOf(
    makePod('big', { containers: [{ name: 'c', resources: { requests: { cpu: '64' } } }] }),
  );
  const known = new KnownVerdicts();
  const verdicts = known.of(pod, profile.filters, cluster.snapshot.table);
  cluster.look(pod, verdicts);
  const run = new FilterRun(pod, cluster.snapshot, profile.filters);
  const slots = [...cluster.snapshot.order()];
  expect(slots.map((slot) => verdicts.refusal(slot, run) !== undefined)).toEqual(slots.map(() => true));
  cluster.snapshot.setNode(makeNode('a'));
  const [first = -1] = slots.filter((slot) => cluster.snapshot.table.names[slot] === 'a');
  expect(slots.filter((slot) => verdicts.refusal(slot, run) === undefined)).toEqual([first]);
});

test('the demands that were made longest ago are forgotten', () => {
  const { table } = new Snapshot();
  const known = new KnownVerdicts();
  const of = (priority: number) => known.of(podInfoOf(makePod('p', { priority })), profile.filters, table);
  const first = of(0);
  expect(of(0)).toBe(first);
  for (let priority = 1; priority <= 16; priority += 1) expect(of(priority)).toBeInstanceOf(Verdicts);
  expect(of(0)).not.toBe(first);
});

test('beside a promised pod that minds its neighbours, pods that ask for the same may fare differently', () => {
  const snapshot = new Snapshot();
  snapshot.setNode(makeNode('a'));
  const nominations = new Nominations(snapshot);
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'a' } } };
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  nominations.set(podInfoOf(makePod('promised', { priority: 1, affinity })), 'a');
  const known = new KnownVerdicts();
  const slotFor = (app: string) => {
    const plain = makePod(app);
    const pod = podInfoOf({ ...plain, metadata: { ...plain.metadata, labels: { app } } });
    const verdicts = known.of(pod, profile.filters, snapshot.table);
    const options = { scratch: new Scratch(), start: 0, random: () => 0, nominations, verdicts };
    return chooseNode(pod, snapshot, profile, options).slot;
  };
  expect([slotFor('a'), slotFor('b')]).toEqual([-1, 0]);
});
