// The plugins that look at other pods, and those that score, as tables.
import { describe, expect, test } from 'vitest';
import type { V1PodAffinityTerm, V1PodSpec, V1TopologySpreadConstraint } from '../../../src/api/gen/types.js';
import { imageLocality } from '../../../src/scheduler/plugins/imageLocality.js';
import { interPodAffinity } from '../../../src/scheduler/plugins/interPodAffinity.js';
import { nodeLabel } from '../../../src/scheduler/plugins/nodeLabel.js';
import { nodeResourcesFit } from '../../../src/scheduler/plugins/nodeResourcesFit.js';
import { podTopologySpread } from '../../../src/scheduler/plugins/podTopologySpread.js';
import type { Snapshot } from '../../../src/scheduler/snapshot/snapshot.js';
import { makeNode, makePod, refusalsOf, requesting, scoresOf, snapshotOf } from './support.js';

const ZONE = 'topology.kubernetes.io/zone';
const zoned = (name: string, zone?: string) =>
  makeNode(name, zone === undefined ? {} : { labels: { [ZONE]: zone } });
const labelled = (name: string, app: string, spec: Partial<V1PodSpec> = {}, namespace = 'ns') => {
  const pod = makePod(name, spec);
  return { ...pod, metadata: { ...pod.metadata, namespace, labels: { app } } };
};
const term = (app: string, extra: Partial<V1PodAffinityTerm> = {}): V1PodAffinityTerm => ({
  labelSelector: { matchLabels: { app } },
  topologyKey: ZONE,
  ...extra,
});
const near = (...terms: V1PodAffinityTerm[]) => ({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
});
const far = (...terms: V1PodAffinityTerm[]) => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
});

describe('InterPodAffinity', () => {
  const plugin = interPodAffinity();
  const noFriends = ["node(s) didn't match pod affinity rules"];
  const foes = ["node(s) didn't match pod anti-affinity rules"];
  const unwanted = ["node(s) didn't satisfy existing pods anti-affinity rules"];
  const web = labelled('web', 'web');
  const two = (...onA: ReturnType<typeof labelled>[]) =>
    snapshotOf([zoned('a', 'one'), ...onA], [zoned('b', 'one')], [zoned('c', 'two')], [zoned('d')]);

  test.each([
    ['near a pod: its node', near(term('web')), two(web), 'a', []],
    ['near a pod: its zone', near(term('web')), two(web), 'b', []],
    ['near a pod: another zone', near(term('web')), two(web), 'c', noFriends],
    ['near a pod: no zone at all', near(term('web')), two(web), 'd', noFriends],
    ['near nobody', near(term('web')), two(), 'a', noFriends],
    ['near its like, and it is the first', near(term('p')), two(), 'a', []],
    ['near its like, the first, where there is no zone', near(term('p')), two(), 'd', noFriends],
    [
      'near a pod of another namespace',
      near(term('web')),
      two(labelled('web', 'web', {}, 'x')),
      'a',
      noFriends,
    ],
    [
      'near a pod of a namespace it names',
      near(term('web', { namespaces: ['x'] })),
      two(labelled('web', 'web', {}, 'x')),
      'a',
      [],
    ],
    [
      'near a pod of any namespace',
      near(term('web', { namespaceSelector: {} })),
      two(labelled('web', 'web', {}, 'x')),
      'b',
      [],
    ],
    ['near two, of which one is there', near(term('web'), term('db')), two(web), 'a', noFriends],
    ['far from a pod: its zone', far(term('web')), two(web), 'b', foes],
    ['far from a pod: another zone', far(term('web')), two(web), 'c', []],
    ['far from a pod: no zone at all', far(term('web')), two(web), 'd', []],
    ['a placed pod that wants to be far from it', {}, two(labelled('q', 'q', far(term('p')))), 'b', unwanted],
    ['a placed pod that wants to be far from others', {}, two(labelled('q', 'q', far(term('z')))), 'b', []],
    [
      'a selector that cannot be read',
      near({ topologyKey: ZONE, labelSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } }),
      two(web),
      'a',
      noFriends,
    ],
  ] as [string, Partial<V1PodSpec>, Snapshot, string, string[]][])(
    '%s',
    (_, spec, snapshot, node, reasons) => {
      expect(refusalsOf(plugin, labelled('p', 'p', spec), snapshot, node)).toEqual(reasons);
    },
  );

  test('forgets a pod that is gone', () => {
    const snapshot = two(labelled('q', 'q', far(term('p'))), web);
    const pod = labelled('p', 'p', near(term('web')));
    expect(refusalsOf(plugin, pod, snapshot, 'a')).toEqual(unwanted);
    snapshot.removePod('ns/q');
    expect(refusalsOf(plugin, pod, snapshot, 'a')).toEqual([]);
    snapshot.removePod('ns/web');
    expect(refusalsOf(plugin, pod, snapshot, 'a')).toEqual(noFriends);
  });
  test('follows the labels of a namespace', () => {
    const snapshot = two(labelled('web', 'web', {}, 'x'));
    const pod = labelled('p', 'p', near(term('web', { namespaceSelector: { matchLabels: { team: 'a' } } })));
    expect(refusalsOf(plugin, pod, snapshot, 'a')).toEqual(noFriends);
    snapshot.classes.setNamespace('x', { team: 'a' });
    expect(refusalsOf(plugin, pod, snapshot, 'a')).toEqual([]);
    snapshot.classes.setNamespace('x', {});
    expect(refusalsOf(plugin, pod, snapshot, 'a')).toEqual(noFriends);
  });
  test('scores wishes of both sides', () => {
    const wish = (side: 'podAffinity' | 'podAntiAffinity', app: string, weight: number) => ({
      affinity: {
        [side]: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight, podAffinityTerm: term(app) }] },
      },
    });
    const snapshot = snapshotOf(
      [zoned('a', 'one'), web],
      [zoned('b', 'two'), labelled('shy', 'shy', wish('podAntiAffinity', 'p', 30))],
      [zoned('c', 'three')],
    );
    expect(scoresOf(plugin, labelled('p', 'p', wish('podAffinity', 'web', 10)), snapshot)).toEqual({
      a: 100,
      b: 0,
      c: 75,
    });
    expect(scoresOf(plugin, labelled('z', 'z'), snapshot)).toBeUndefined();
  });
});

describe('PodTopologySpread', () => {
  const plugin = podTopologySpread();
  const uneven = ["node(s) didn't match pod topology spread constraints"];
  const unlabelled = ["node(s) didn't match pod topology spread constraints (missing required label)"];
  const spread = (extra: Partial<V1TopologySpreadConstraint> = {}) => ({
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: ZONE,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'p' } },
        ...extra,
      },
    ],
  });
  const cluster = () =>
    snapshotOf(
      [zoned('a', 'one'), labelled('p1', 'p'), labelled('p2', 'p')],
      [zoned('b', 'two'), labelled('p3', 'p')],
      [zoned('c')],
    );
  test.each([
    ['the fuller zone', spread(), 'a', uneven],
    ['the emptier zone', spread(), 'b', []],
    ['no zone at all', spread(), 'c', unlabelled],
    ['a greater skew', spread({ maxSkew: 2 }), 'a', []],
    ['others are counted, not it', spread({ labelSelector: { matchLabels: { app: 'z' } } }), 'a', []],
    ['more domains than there are', spread({ maxSkew: 2, minDomains: 3 }), 'b', []],
    ['more domains than there are, in the fuller', spread({ maxSkew: 2, minDomains: 3 }), 'a', uneven],
    ['nodes that it cannot use do not count', { ...spread(), nodeSelector: { [ZONE]: 'one' } }, 'a', []],
    [
      'unless it says so',
      { ...spread({ nodeAffinityPolicy: 'Ignore' }), nodeSelector: { [ZONE]: 'one' } },
      'a',
      uneven,
    ],
  ] as [string, Partial<V1PodSpec>, string, string[]][])('%s', (_, spec, node, reasons) => {
    expect(refusalsOf(plugin, labelled('p', 'p', spec), cluster(), node)).toEqual(reasons);
  });
  test('does not count pods that are being deleted', () => {
    const snapshot = cluster();
    const going = labelled('p1', 'p', { nodeName: 'a' });
    snapshot.setPod({ ...going, metadata: { ...going.metadata, deletionTimestamp: 'now' } });
    expect(refusalsOf(plugin, labelled('p', 'p', spread()), snapshot, 'a')).toEqual([]);
  });
  test('as a wish prefers the emptier zone, and nodes with all labels', () => {
    const pod = labelled('p', 'p', spread({ whenUnsatisfiable: 'ScheduleAnyway' }));
    expect(scoresOf(plugin, pod, cluster())).toEqual({ a: 33, b: 100, c: 0 });
  });
});

describe('NodeResourcesFit scores', () => {
  const snapshot = () =>
    snapshotOf([makeNode('empty')], [makeNode('half'), requesting('q', { cpu: '2', memory: '4Gi' })]);
  const pod = requesting('p', { cpu: '1', memory: '2Gi' });
  const shape = [
    { utilization: 0, score: 0 },
    { utilization: 100, score: 10 },
  ];
  test.each([
    ['least allocated', {}, { empty: 75, half: 25 }],
    ['most allocated', { strategy: 'MostAllocated' }, { empty: 25, half: 75 }],
    ['along a shape', { strategy: 'RequestedToCapacityRatio', shape }, { empty: 25, half: 75 }],
    [
      'cpu three times as much as memory',
      {
        resources: [
          { name: 'cpu', weight: 3 },
          { name: 'memory', weight: 1 },
        ],
      },
      { empty: 75, half: 25 },
    ],
  ] as [string, Parameters<typeof nodeResourcesFit>[0], object][])('%s', (_, args, scores) => {
    expect(scoresOf(nodeResourcesFit(args), pod, snapshot())).toEqual(scores);
  });
  test('leaves out what it is told to ignore', () => {
    const wants = requesting('p', { 'example.com/gpu': '1', cpu: '1' });
    const ignoring = nodeResourcesFit({ ignoredResourceGroups: ['example.com'] });
    expect(refusalsOf(nodeResourcesFit(), wants, snapshot())).toEqual(['Insufficient example.com/gpu']);
    expect(refusalsOf(ignoring, wants, snapshot())).toEqual([]);
  });
});

test('ImageLocality prefers a node that has the image, and more so when others have it too', () => {
  const MB = 1024 * 1024;
  const having = (name: string, ...names: string[]) => {
    const node = makeNode(name);
    return {
      ...node,
      status: { ...node.status, images: names.map((image) => ({ names: [image], sizeBytes: 500 * MB })) },
    };
  };
  const pod = makePod('p', { containers: [{ name: 'c', image: 'app' }] });
  const lonely = scoresOf(imageLocality, pod, snapshotOf([having('a', 'app:latest')], [having('b')]));
  const shared = scoresOf(
    imageLocality,
    pod,
    snapshotOf([having('a', 'app:latest')], [having('b', 'app:latest')]),
  );
  expect([lonely, shared]).toEqual([
    { a: 23, b: 0 },
    { a: 48, b: 48 },
  ]);
});

test('NodeLabel keeps pods to nodes with a label, and likes others', () => {
  const plugin = nodeLabel({
    presentLabels: [ZONE],
    presentLabelsPreference: ['disk'],
    absentLabelsPreference: ['old'],
  });
  const snapshot = snapshotOf(
    [makeNode('a', { labels: { [ZONE]: 'one', disk: 'ssd' } })],
    [makeNode('b', { labels: { old: 'yes' } })],
  );
  expect(refusalsOf(plugin, makePod('p'), snapshot, 'a')).toEqual([]);
  expect(refusalsOf(plugin, makePod('p'), snapshot, 'b')).toEqual([
    "node(s) didn't have the requested labels",
  ]);
  expect(scoresOf(plugin, makePod('p'), snapshot)).toEqual({ a: 100, b: 0 });
});
