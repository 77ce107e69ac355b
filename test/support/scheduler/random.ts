// Random clusters and pods for the scheduler, small and crowded, so that every rule is met often.
// Guarantees: the same seed gives the same cluster.
import type {
  V1LabelSelector,
  V1Node,
  V1Pod,
  V1PodAffinityTerm,
  V1PodSpec,
  V1Taint,
} from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';

export class Dice {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }

  /** Evenly from 0 up to 1 (the generator called mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  of<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0];
  }

  some<T>(share: number, make: () => T): T[] {
    const made: T[] = [];
    while (made.length < 3 && this.chance(share)) made.push(make());
    return made;
  }
}

const KEYS = ['app', 'tier', 'color'] as const;
const VALUES = ['a', 'b', 'c'] as const;
const TOPOLOGIES = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone', 'rack'] as const;
export const NAMESPACE_NAMES = ['red', 'blue', 'green'] as const;
const IMAGES = ['small:1', 'big:1', 'huge:1'] as const;
const MEGABYTE = 1024 * 1024;

export const randomLabels = (dice: Dice): Record<string, string> =>
  Object.fromEntries(dice.some(0.6, () => [dice.of(KEYS), dice.of(VALUES)]));

const taint = (dice: Dice): V1Taint => ({
  key: dice.of(['t', 'u']),
  value: dice.of(VALUES),
  effect: dice.of(['NoSchedule', 'PreferNoSchedule', 'PreferNoSchedule', 'NoExecute']),
});

export function randomNode(dice: Dice, name: string): Stored<V1Node> {
  const images = IMAGES.flatMap((image, at) =>
    dice.chance(0.4) ? [{ names: [image], sizeBytes: 400 * MEGABYTE * at + 50 * MEGABYTE }] : [],
  );
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      resourceVersion: '1',
      creationTimestamp: '',
      labels: {
        ...(dice.chance(0.95) ? { 'kubernetes.io/hostname': name } : {}),
        ...(dice.chance(0.85) ? { 'topology.kubernetes.io/zone': dice.of(['z1', 'z2', 'z3']) } : {}),
        ...(dice.chance(0.5) ? { rack: String(dice.below(4)) } : {}),
      },
    },
    spec: {
      taints: dice.some(0.2, () => taint(dice)),
      ...(dice.chance(0.08) ? { unschedulable: true } : {}),
    },
    status: {
      allocatable: {
        cpu: String(2 + dice.below(4)),
        memory: `${2 + dice.below(6)}Gi`,
        pods: String(2 + dice.below(8)),
        ...(dice.chance(0.3) ? { 'example.com/device': '2' } : {}),
      },
      images,
    },
  };
}

function selector(dice: Dice): V1LabelSelector {
  if (dice.chance(0.5)) return { matchLabels: randomLabels(dice) };
  const operator = dice.of(['In', 'NotIn', 'Exists', 'DoesNotExist']);
  const takesValues = operator === 'In' || operator === 'NotIn';
  return {
    matchExpressions: [
      { key: dice.of(KEYS), operator, ...(takesValues ? { values: [dice.of(VALUES)] } : {}) },
    ],
  };
}

function term(dice: Dice): V1PodAffinityTerm {
  const where = dice.below(4);
  return {
    topologyKey: dice.of(TOPOLOGIES),
    ...(dice.chance(0.95) ? { labelSelector: selector(dice) } : {}),
    ...(where === 1 ? { namespaces: [dice.of(NAMESPACE_NAMES)] } : {}),
    ...(where === 2 ? { namespaceSelector: dice.chance(0.3) ? {} : selector(dice) } : {}),
  };
}

function affinity(dice: Dice): NonNullable<V1PodSpec['affinity']> {
  const side = (share: number) => ({
    requiredDuringSchedulingIgnoredDuringExecution: dice.some(share, () => term(dice)),
    preferredDuringSchedulingIgnoredDuringExecution: dice.some(0.3, () => ({
      weight: 1 + dice.below(100),
      podAffinityTerm: term(dice),
    })),
  });
  const expression = () => ({
    key: dice.of(['topology.kubernetes.io/zone', 'rack']),
    operator: dice.of(['In', 'NotIn', 'Exists', 'Gt']),
    values: [dice.of(['z1', 'z2', '1', '2'])],
  });
  return {
    ...(dice.chance(0.3) ? { podAffinity: side(0.25) } : {}),
    ...(dice.chance(0.3) ? { podAntiAffinity: side(0.3) } : {}),
    ...(dice.chance(0.25)
      ? {
          nodeAffinity: {
            ...(dice.chance(0.4)
              ? {
                  requiredDuringSchedulingIgnoredDuringExecution: {
                    nodeSelectorTerms: [
                      { matchExpressions: [expression()] },
                      ...dice.some(0.3, () => ({ matchExpressions: [expression(), expression()] })),
                    ],
                  },
                }
              : {}),
            preferredDuringSchedulingIgnoredDuringExecution: dice.some(0.6, () => ({
              weight: 1 + dice.below(100),
              preference: { matchExpressions: [expression()] },
            })),
          },
        }
      : {}),
  };
}

export function randomPod(dice: Dice, name: string): Stored<V1Pod> {
  const requests = {
    ...(dice.chance(0.6) ? { cpu: `${100 * (1 + dice.below(12))}m` } : {}),
    ...(dice.chance(0.6) ? { memory: `${128 * (1 + dice.below(12))}Mi` } : {}),
    ...(dice.chance(0.1) ? { 'example.com/device': '1' } : {}),
  };
  const ports = dice.some(0.1, () => ({
    containerPort: 1,
    hostPort: 80 + dice.below(2),
    ...(dice.chance(0.3) ? { hostIP: '10.0.0.1' } : {}),
  }));
  const spread = dice
    .some(0.3, () => ({
      topologyKey: dice.of(TOPOLOGIES),
      maxSkew: 1 + dice.below(2),
      whenUnsatisfiable: dice.of(['DoNotSchedule', 'ScheduleAnyway']),
      labelSelector: selector(dice),
      ...(dice.chance(0.2) ? { nodeTaintsPolicy: 'Honor' } : {}),
      ...(dice.chance(0.2) ? { nodeAffinityPolicy: 'Ignore' } : {}),
    }))
    .map((one) =>
      one.whenUnsatisfiable === 'DoNotSchedule' && dice.chance(0.2)
        ? { ...one, minDomains: 1 + dice.below(4) }
        : one,
    );
  return {
    metadata: {
      name,
      namespace: dice.of(NAMESPACE_NAMES),
      uid: `uid-${name}`,
      resourceVersion: '1',
      creationTimestamp: '',
      labels: randomLabels(dice),
      ...(dice.chance(0.1) ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: {
      containers: [{ name: 'c', image: dice.of(IMAGES), resources: { requests }, ports }],
      affinity: affinity(dice),
      topologySpreadConstraints: spread,
      tolerations: dice.some(0.3, () => ({ key: dice.of(['t', 'u']), operator: 'Exists' })),
      ...(dice.chance(0.1) ? { nodeSelector: { 'topology.kubernetes.io/zone': dice.of(['z1', 'z2']) } } : {}),
    },
    status: {},
  };
}
