// Which slices a Service's pods make, and how few of them change.
import { describe, expect, test } from 'vitest';
import type { V1EndpointSlice } from '../../../../src/api/gen/types.js';
import {
  planEndpointSlices,
  type Slice,
  type SliceAction,
} from '../../../../src/controllers/endpointSlice/plan.js';
import { TriggerTimes } from '../../../../src/controllers/endpointSlice/triggerTime.js';
import { ago, pod, service } from '../support/objects.js';

type Pods = readonly ReturnType<typeof pod>[];
const up = (name: string, ip: string, more: object = {}) =>
  pod(name, { ready: true, node: 'n1', ip, ...more });
const many = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) =>
    up(`p${from + at}`, `10.1.${(from + at) >> 8}.${(from + at) & 255}`),
  );
const plan = (pods: Pods, slices: readonly Slice[] = [], of = service()) =>
  planEndpointSlices({ service: of, pods, slices, zoneOf: () => undefined });

/** What the server would hold after the actions. */
function apply(slices: readonly Slice[], actions: readonly SliceAction[]): Slice[] {
  let held = [...slices];
  for (const action of actions) {
    if (action.do === 'create') held.push(stored(action.slice, `s${held.length}-${actions.indexOf(action)}`));
    else held = held.filter(({ metadata }) => metadata.name !== action.slice.metadata.name);
    if (action.do === 'update') held.push(action.slice);
  }
  return held;
}

const stored = (slice: V1EndpointSlice, name: string): Slice => ({
  ...slice,
  metadata: { ...slice.metadata, name, uid: name, resourceVersion: '1', creationTimestamp: ago(0) },
});
const sizes = (slices: readonly Slice[]) =>
  slices.map(({ endpoints = [] }) => endpoints.length).sort((a, b) => a - b);

describe('planEndpointSlices', () => {
  test('fills a slice to its last place before it makes another', () => {
    const held = apply([], plan(many(99)));
    expect(sizes(apply(held, plan(many(100), held)))).toEqual([100]);
  });

  test('writes down address, conditions, node, target and ports', () => {
    const [action] = plan([up('a', '10.1.0.1')]);
    expect(action).toMatchObject({
      do: 'create',
      slice: {
        addressType: 'IPv4',
        metadata: {
          generateName: 'web-',
          labels: {
            'kubernetes.io/service-name': 'web',
            'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
          },
          ownerReferences: [{ kind: 'Service', name: 'web', controller: true }],
        },
        ports: [{ name: '', port: 8080, protocol: 'TCP' }],
        endpoints: [
          {
            addresses: ['10.1.0.1'],
            conditions: { ready: true, serving: true, terminating: false },
            nodeName: 'n1',
            targetRef: { kind: 'Pod', namespace: 'default', name: 'a', uid: 'uid-a' },
          },
        ],
      },
    });
  });

  test.each<[string, Parameters<typeof pod>[1], object, object | undefined]>([
    ['not ready', { ip: '10.1.0.1' }, {}, { ready: false, serving: false, terminating: false }],
    [
      'not ready, but published all the same',
      { ip: '10.1.0.1' },
      { publishNotReadyAddresses: true },
      { ready: true, serving: false, terminating: false },
    ],
    [
      'terminating and still serving',
      { ip: '10.1.0.1', ready: true, meta: { labels: { app: 'web' }, deletionTimestamp: ago(1) } },
      {},
      { ready: false, serving: true, terminating: true },
    ],
    ['finished', { ip: '10.1.0.1', phase: 'Succeeded' }, {}, undefined],
    ['without an address', {}, {}, undefined],
  ])('shows a pod that is %s', (_, wish, spec, conditions) => {
    const [action] = plan([pod('a', wish)], [], service(spec));
    expect(action?.slice.endpoints?.[0]?.conditions).toEqual(conditions);
  });

  test('looks named ports up in each pod', () => {
    const named = (name: string, port: number, ip: string) =>
      up(name, ip, { spec: { containers: [{ name: 'm', ports: [{ name: 'http', containerPort: port }] }] } });
    const of = service({ ports: [{ name: 'web', port: 80, targetPort: 'http' }] });
    const actions = plan([named('a', 8080, '10.1.0.1'), named('b', 9090, '10.1.0.2')], [], of);
    expect(actions.map(({ slice }) => slice.ports?.[0]?.port)).toEqual([8080, 9090]);
  });

  test('makes slices of each family', () => {
    const both = pod('a', { ready: true });
    const dual = { ...both, status: { ...both.status, podIPs: [{ ip: '10.1.0.1' }, { ip: 'fd00::1' }] } };
    const actions = plan([dual], [], service({ ipFamilies: ['IPv4', 'IPv6'] }));
    expect(actions.map(({ slice }) => [slice.addressType, slice.endpoints?.[0]?.addresses])).toEqual([
      ['IPv4', ['10.1.0.1']],
      ['IPv6', ['fd00::1']],
    ]);
  });

  test('puts a hundred in a slice', () => {
    expect(sizes(apply([], plan(many(250))))).toEqual([50, 100, 100]);
  });

  test('changes nothing when nothing changed', () => {
    const slices = apply([], plan(many(250)));
    expect(plan(many(250), slices)).toEqual([]);
  });

  test('touches one slice for one pod that came, went or turned', () => {
    const slices = apply([], plan(many(250)));
    const came = plan(many(251), slices);
    expect(came.map((action) => action.do)).toEqual(['update']);
    const went = plan(many(249, 1), slices);
    expect(went.map((action) => action.do)).toEqual(['update']);
    const turned = plan([pod('p0', { ip: '10.1.0.0', node: 'n1' }), ...many(249, 1)], slices);
    expect(turned.map((action) => action.do)).toEqual(['update']);
  });

  test('keeps an endpoint in its slice and fills the slice that changes anyway', () => {
    const slices = apply([], plan(many(200)));
    const next = apply(slices, plan([...many(199, 1), up('new', '10.9.9.9')], slices));
    expect(sizes(next)).toEqual([100, 100]);
  });

  test('says that there are none in one empty slice, and keeps it when pods come', () => {
    const empty = apply([], plan([]));
    expect(empty).toHaveLength(1);
    expect(plan([], empty)).toEqual([]);
    const [action, ...rest] = plan(many(1), empty);
    expect(rest).toEqual([]);
    expect(action).toMatchObject({ do: 'update', slice: { metadata: { name: empty[0]?.metadata.name } } });
    const full = apply(empty, plan(many(1), empty));
    expect(plan([], full).map((each) => each.do)).toEqual(['update']);
  });

  test('marks the slices of headless services', () => {
    const [action] = plan(many(1), [], service({ clusterIP: 'None' }));
    expect(action?.slice.metadata?.labels).toHaveProperty(['service.kubernetes.io/headless'], '');
  });

  test('converges in one round from anything', () => {
    let slices: Slice[] = [];
    for (const [count, from] of [
      [120, 0],
      [90, 60],
      [300, 10],
      [3, 250],
      [0, 0],
      [101, 5],
    ] as const) {
      slices = apply(slices, plan(many(count, from), slices));
      const addresses = slices.flatMap(({ endpoints = [] }) =>
        endpoints.flatMap((endpoint) => endpoint.addresses),
      );
      expect(addresses.sort()).toEqual(
        many(count, from)
          .map(({ status }) => status.podIP)
          .sort(),
      );
      expect(Math.max(...sizes(slices))).toBeLessThanOrEqual(100);
      expect(plan(many(count, from), slices)).toEqual([]);
    }
  });
});

describe('hints', () => {
  const near = (trafficDistribution: string) => {
    const of = service();
    return { ...of, spec: { ...of.spec, trafficDistribution } };
  };
  const hintsOf = (of: ReturnType<typeof service>, ready = true) => {
    const pods = [pod('a', { ready, node: 'n1', ip: '10.1.0.1' })];
    const [action] = planEndpointSlices({ service: of, pods, slices: [], zoneOf: () => 'z1' });
    return action?.slice.endpoints?.[0]?.hints;
  };
  test.each([
    ['PreferClose', { forZones: [{ name: 'z1' }] }],
    ['PreferSameZone', { forZones: [{ name: 'z1' }] }],
    ['PreferSameNode', { forZones: [{ name: 'z1' }], forNodes: [{ name: 'n1' }] }],
    ['Other', undefined],
  ])('%s', (distribution, hints) => {
    expect(hintsOf(near(distribution))).toEqual(hints);
  });
  test('are not given for a pod that is not ready, nor for a Service that does not ask', () => {
    expect(hintsOf(near('PreferClose'), false)).toBeUndefined();
    expect(hintsOf(service())).toBeUndefined();
  });
  test('go when the Service no longer asks', () => {
    const pods = [up('a', '10.1.0.1')];
    const zoneOf = () => 'z1';
    const slices = apply([], planEndpointSlices({ service: near('PreferClose'), pods, slices: [], zoneOf }));
    const [action] = planEndpointSlices({ service: service(), pods, slices, zoneOf });
    expect(action?.slice.endpoints?.[0]).not.toHaveProperty('hints');
  });
});

describe('the time of the change', () => {
  const TRIGGER = 'endpoints.kubernetes.io/last-change-trigger-time';
  const readyAt = (name: string, at: string) => {
    const one = up(name, '10.1.0.1');
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: at }];
    return { ...one, status: { ...one.status, conditions } };
  };
  test('is the earliest of what is new, and is told once', () => {
    const times = new TriggerTimes();
    const of = service();
    const made = Date.parse(of.metadata.creationTimestamp ?? '');
    const later = (seconds: number) => new Date(made + seconds * 1000).toISOString();
    expect(times.next('k', of, [readyAt('a', later(5))])).toBe(later(0));
    expect(times.next('k', of, [readyAt('a', later(5))])).toBeUndefined();
    const changed = [readyAt('a', later(9)), readyAt('b', later(7))];
    expect(times.next('k', of, changed)).toBe(later(7));
    times.forget('k');
    expect(times.next('k', of, changed)).toBe(later(0));
  });
  test('is written with a change, and taken away by a write that answers none', () => {
    const at = '2026-01-01T00:00:00.000Z';
    const observed = { service: service(), zoneOf: () => undefined };
    const pods = [up('a', '10.1.0.1')];
    const slices = apply([], planEndpointSlices({ ...observed, pods, slices: [], triggerTime: at }));
    expect(slices[0]?.metadata.annotations).toEqual({ [TRIGGER]: at });
    const more = [...pods, up('b', '10.1.0.2')];
    const [action] = planEndpointSlices({ ...observed, pods: more, slices });
    expect(action?.slice.metadata?.annotations).toEqual({});
  });
});
