// Nodes: health by our own clock, taints by condition, zones, eviction times, pod networks.
import { describe, expect, test } from 'vitest';
import type { V1Taint, V1Toleration } from '../../../src/api/gen/types.js';
import { parseCidr } from '../../../src/api/ip.js';
import { CidrPool } from '../../../src/controllers/node/cidrPool.js';
import { observeHealth, silentConditions } from '../../../src/controllers/node/health.js';
import { evictionTime } from '../../../src/controllers/node/taintEviction.js';
import { planTaints } from '../../../src/controllers/node/taints.js';
import { EVICTION_RATES, Zones, zoneState } from '../../../src/controllers/node/zones.js';
import { ago, NOW, node } from './support/objects.js';

const limits = { gracePeriodMs: 40_000, startupGracePeriodMs: 60_000 };
const lease = (renewTime: string) => ({
  metadata: { name: 'a', uid: 'l', resourceVersion: '1', creationTimestamp: ago(0) },
  spec: { renewTime },
});

describe('health of a node', () => {
  test('counts from the last change we saw, whatever the clock of the node says', () => {
    const a = node('a', 'True');
    const first = observeHealth(undefined, a, lease('1999-01-01T00:00:00Z'), NOW);
    const second = observeHealth(first, a, lease('1999-01-01T00:00:10Z'), NOW + 30_000);
    expect(second.seenMs).toBe(NOW + 30_000);
    const third = observeHealth(second, a, lease('1999-01-01T00:00:10Z'), NOW + 60_000);
    expect(third.seenMs).toBe(NOW + 30_000);
    expect(silentConditions(a, third, limits, NOW + 70_000)).toBeUndefined();
    expect(silentConditions(a, third, limits, NOW + 70_001)).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }),
    );
  });

  test('gives a node that never reported a minute from its birth', () => {
    const born = node('a', undefined, { meta: { creationTimestamp: ago(61) } });
    const health = observeHealth(undefined, born, undefined, NOW);
    expect(silentConditions(born, health, limits, NOW)).toHaveLength(4);
    expect(silentConditions(born, health, limits, NOW)?.[0]?.reason).toBe('NodeStatusNeverUpdated');
  });

  test('marks a silent node once', () => {
    const a = node('a', 'True');
    const health = { seenMs: NOW - 50_000, heartbeat: undefined, renewTime: undefined };
    const conditions = silentConditions(a, health, limits, NOW) ?? [];
    expect(silentConditions({ ...a, status: { conditions } }, health, limits, NOW)).toBeUndefined();
  });
});

describe('planTaints', () => {
  const names = (taints: readonly V1Taint[] | undefined) =>
    taints?.map(({ key, effect }) => `${key.replace('node.kubernetes.io/', '')}:${effect}`);
  const plan = (of: ReturnType<typeof node>, mayEvict = true) =>
    names(planTaints({ node: of, mayEvict, now: NOW }));
  const taint = (key: string, effect: string) => ({ key: `node.kubernetes.io/${key}`, effect });

  test.each<[string, string[] | undefined, string[] | undefined]>([
    ['nothing for a ready node', plan(node('a', 'True')), undefined],
    ['nothing for a node that has not spoken yet', plan(node('a', undefined)), undefined],
    [
      'what a new node was born with, until it speaks',
      plan(node('a', undefined, { spec: { taints: [taint('not-ready', 'NoSchedule')] } })),
      undefined,
    ],
    ['not-ready', plan(node('a', 'False')), ['not-ready:NoSchedule', 'not-ready:NoExecute']],
    ['unreachable', plan(node('a', 'Unknown')), ['unreachable:NoSchedule', 'unreachable:NoExecute']],
    ['no eviction where that must wait', plan(node('a', 'Unknown'), false), ['unreachable:NoSchedule']],
    ['cordoned', plan(node('a', 'True', { spec: { unschedulable: true } })), ['unschedulable:NoSchedule']],
    [
      'ready again: its own taints go, those of others stay',
      plan(
        node('a', 'True', {
          spec: {
            taints: [
              taint('not-ready', 'NoSchedule'),
              { key: 'mine', effect: 'NoExecute' },
              taint('not-ready', 'NoExecute'),
            ],
          },
        }),
      ),
      ['mine:NoExecute'],
    ],
  ])('%s', (_, taints, wanted) => {
    expect(taints).toEqual(wanted);
  });

  test('keeps the time at which a taint was added', () => {
    const taints = [
      { ...taint('unreachable', 'NoSchedule'), timeAdded: ago(100) },
      { ...taint('unreachable', 'NoExecute'), timeAdded: ago(90) },
    ];
    expect(
      planTaints({ node: node('a', 'Unknown', { spec: { taints } }), mayEvict: true, now: NOW }),
    ).toBeUndefined();
  });

  test('follows pressure', () => {
    const a = node('a', 'True');
    const conditions = [...(a.status.conditions ?? []), { type: 'DiskPressure', status: 'True' }];
    expect(plan({ ...a, status: { conditions } })).toEqual(['disk-pressure:NoSchedule']);
  });
});

describe('zones', () => {
  const nodes = (ready: number, silent: number) => [
    ...Array.from({ length: ready }, (_, at) => node(`r${at}`, 'True')),
    ...Array.from({ length: silent }, (_, at) => node(`s${at}`, 'Unknown')),
  ];
  test.each([
    [3, 0, 'Normal', 0.1, false],
    [1, 2, 'Normal', 0.1, false],
    [2, 3, 'PartialDisruption', 0, false],
    [20, 40, 'PartialDisruption', 0.01, false],
    [0, 1, 'FullDisruption', 0.1, true],
  ])('%i ready and %i silent: %s', (ready, silent, state, rate, allDown) => {
    expect(zoneState({ ready, notReady: silent }, EVICTION_RATES.unhealthyThreshold)).toBe(state);
    const zones = new Zones(EVICTION_RATES);
    for (const one of nodes(ready, silent)) zones.set(one);
    expect([zones.rateOf(':'), zones.allDown]).toEqual([rate, allDown]);
  });
  test('counts a node as it is now, and not at all once it is gone', () => {
    const zones = new Zones({ ...EVICTION_RATES, rate: 2, secondaryRate: 1, largeZone: 3 });
    const [one, ...others] = nodes(4, 0);
    for (const each of [one, ...others]) if (each !== undefined) zones.set(each);
    for (const { metadata } of others) zones.set(node(metadata.name, 'Unknown'));
    expect([zones.rateOf(':'), zones.allDown]).toEqual([1, false]);
    if (one !== undefined) zones.delete(node(one.metadata.name, 'Unknown'));
    expect([zones.rateOf(':'), zones.allDown]).toEqual([2, true]);
    for (const other of others) zones.delete(other);
    expect(zones.rateOf(':')).toBe(0);
  });
});

describe('evictionTime', () => {
  const taint = { key: 'k', value: 'v', effect: 'NoExecute', timeAdded: ago(10) };
  test.each<[string, V1Toleration[], number | undefined]>([
    ['at once without a toleration', [], NOW],
    ['never with one for ever', [{ key: 'k', operator: 'Exists' }], undefined],
    ['never with one for everything', [{ operator: 'Exists' }], undefined],
    ['after its seconds', [{ key: 'k', operator: 'Exists', tolerationSeconds: 300 }], NOW + 290_000],
    ['at once with a past limit', [{ key: 'k', value: 'v', tolerationSeconds: 5 }], NOW - 5_000],
    ['at once with another value', [{ key: 'k', value: 'w' }], NOW],
    ['at once with another effect', [{ key: 'k', operator: 'Exists', effect: 'NoSchedule' }], NOW],
  ])('%s', (_, tolerations, at) => {
    expect(evictionTime(tolerations, [taint], { seenAt: NOW, arrivedAt: 0 })).toBe(at);
  });

  test('counts the stay of a pod that came after the taint from its own arrival', () => {
    const tolerations = [{ key: 'k', operator: 'Exists', tolerationSeconds: 5 }];
    const old = { ...taint, timeAdded: ago(3600) };
    expect(evictionTime(tolerations, [old], { seenAt: NOW, arrivedAt: NOW - 1_000 })).toBe(NOW + 4_000);
    expect(evictionTime(tolerations, [taint], { seenAt: NOW, arrivedAt: NOW - 60_000 })).toBe(NOW - 5_000);
  });

  test('is undefined without taints', () => {
    expect(evictionTime([], [], { seenAt: NOW, arrivedAt: 0 })).toBeUndefined();
  });
});

describe('CidrPool', () => {
  const pool = (...texts: string[]) =>
    new CidrPool(texts.map(parseCidr).filter((cidr) => cidr !== undefined));
  test('gives each node a network of its own, of each family', () => {
    const dual = pool('10.244.0.0/16', 'fd00:1::/48');
    expect(dual.allocate('a')).toEqual(['10.244.0.0/24', 'fd00:1::/64']);
    expect(dual.allocate('b')).toEqual(['10.244.1.0/24', 'fd00:1:0:1::/64']);
  });
  test('steps over what nodes already have', () => {
    const one = pool('10.244.0.0/16');
    one.occupy('x', ['10.244.0.0/24']);
    expect(one.allocate('a')).toEqual(['10.244.1.0/24']);
  });
  test('ends, and goes on with what is given back', () => {
    const small = pool('10.244.0.0/23');
    expect([small.allocate('a'), small.allocate('b'), small.allocate('c')]).toEqual([
      ['10.244.0.0/24'],
      ['10.244.1.0/24'],
      undefined,
    ]);
    small.release('a');
    expect(small.allocate('c')).toEqual(['10.244.0.0/24']);
  });
  test('gives a node that comes back what it had, as long as nobody else has it', () => {
    const one = pool('10.244.0.0/16');
    expect([one.allocate('a'), one.allocate('b')]).toEqual([['10.244.0.0/24'], ['10.244.1.0/24']]);
    one.release('a');
    expect(one.allocate('c')).toEqual(['10.244.2.0/24']);
    expect(one.allocate('a')).toEqual(['10.244.0.0/24']);
  });
  test('prefers what is wished for, and gives nothing that is in use', () => {
    const small = pool('10.244.0.0/22');
    const inUse = (cidr: string) => cidr === '10.244.0.0/24';
    expect(small.allocate('a', { preferred: ['10.244.0.0/24', '10.244.3.0/24'], inUse })).toEqual([
      '10.244.3.0/24',
    ]);
    expect([1, 2, 3].map((at) => small.allocate(`n${at}`, { inUse }))).toEqual([
      ['10.244.1.0/24'],
      ['10.244.2.0/24'],
      undefined,
    ]);
    expect(small.allocate('later')).toEqual(['10.244.0.0/24']);
  });
  test('gives no network that overlaps one of another size, until that one is free', () => {
    const one = pool('10.244.0.0/22');
    one.occupy('wide', ['10.244.0.0/23']);
    one.occupy('narrow', ['10.244.2.128/25']);
    expect(one.allocate('a')).toEqual(['10.244.3.0/24']);
    expect(one.allocate('b')).toBeUndefined();
    one.release('narrow');
    expect(one.allocate('b')).toEqual(['10.244.2.0/24']);
  });
  test('gives only subnets of its own, whatever a node brought', () => {
    const small = pool('10.244.0.0/24');
    small.occupy('foreign', ['192.168.7.0/24', '10.0.0.0/8']);
    expect(small.allocate('a')).toBeUndefined();
    small.release('foreign');
    expect([small.allocate('a'), small.allocate('b')]).toEqual([['10.244.0.0/24'], undefined]);
  });
  test('frees a network that two nodes claim only with the last of them', () => {
    const small = pool('10.244.0.0/24');
    small.occupy('a', ['10.244.0.0/24']);
    small.occupy('b', ['10.244.0.0/24']);
    small.release('a');
    expect(small.allocate('c')).toBeUndefined();
  });
});
