// Which change could help a pod that was refused: only then is it woken.
import { describe, expect, test } from 'vitest';
import { type ClusterEvent, type EventKind, onlyReports } from '../../../src/scheduler/events.js';
import type { Plugin } from '../../../src/scheduler/plugin.js';
import { interPodAffinity } from '../../../src/scheduler/plugins/interPodAffinity.js';
import { nodeAffinity } from '../../../src/scheduler/plugins/nodeAffinity.js';
import { nodePorts } from '../../../src/scheduler/plugins/nodePorts.js';
import { nodeResourcesFit } from '../../../src/scheduler/plugins/nodeResourcesFit.js';
import { podTopologySpread } from '../../../src/scheduler/plugins/podTopologySpread.js';
import { taintToleration } from '../../../src/scheduler/plugins/taintToleration.js';
import { podInfoOf } from '../../../src/scheduler/podInfo.js';
import { type Filled, makeNode, makePod, requesting, snapshotOf } from './support.js';

type Pod = ReturnType<typeof makePod>;
const helps = (plugin: Plugin, pod: Pod, event: ClusterEvent, ...filled: Filled[]) =>
  plugin.wokenBy.includes(event.kind) &&
  (plugin.helps === undefined || plugin.helps(event, podInfoOf(pod), snapshotOf(...filled)));
const about = (kind: EventKind, pod: Pod): ClusterEvent => ({ kind, pod: podInfoOf(pod) });
const labelled = (name: string, app: string, spec = {}): Pod => {
  const pod = makePod(name, spec);
  return { ...pod, metadata: { ...pod.metadata, labels: { app } } };
};
const small = makeNode('a', { allocatable: { cpu: '1' } });
const gone = (cpu: string) => about('pod removed', requesting('q', { cpu }, { nodeName: 'a' }));
const term = { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'web' } } };
const near = { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
const far = { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
const spread = {
  topologySpreadConstraints: [{ ...term, maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' }],
};
const port = (hostPort: number) => ({ containers: [{ name: 'c', ports: [{ containerPort: 1, hostPort }] }] });

describe('a change helps', () => {
  test.each<readonly [string, boolean, boolean]>([
    [
      'when a pod leaves enough room',
      helps(nodeResourcesFit(), requesting('p', { cpu: '1' }), gone('1'), [small]),
      true,
    ],
    [
      'not when it leaves too little',
      helps(nodeResourcesFit(), requesting('p', { cpu: '2' }), gone('1'), [small]),
      false,
    ],
    [
      'not when others still fill the node',
      helps(nodeResourcesFit(), requesting('p', { cpu: '1' }), gone('100m'), [
        small,
        requesting('r', { cpu: '900m' }),
      ]),
      false,
    ],
    [
      'when a new node is big enough',
      helps(nodeResourcesFit(), requesting('p', { cpu: '1' }), { kind: 'node added', node: small }, [small]),
      true,
    ],
    [
      'not when labels change and room is what lacks',
      helps(nodeResourcesFit(), requesting('p', { cpu: '1' }), { kind: 'node labels', node: small }, [small]),
      false,
    ],
    [
      'when the port is given back',
      helps(nodePorts, makePod('p', port(80)), about('pod removed', makePod('q', port(80)))),
      true,
    ],
    [
      'not when another port is',
      helps(nodePorts, makePod('p', port(80)), about('pod removed', makePod('q', port(81)))),
      false,
    ],
    [
      'when a node has no taints',
      helps(taintToleration, makePod('p'), { kind: 'node taints', node: small }),
      true,
    ],
    [
      'not when it has others',
      helps(taintToleration, makePod('p'), {
        kind: 'node taints',
        node: makeNode('a', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }),
      }),
      false,
    ],
    [
      'when a node gets the label',
      helps(nodeAffinity(), makePod('p', { nodeSelector: { k: 'v' } }), {
        kind: 'node labels',
        node: makeNode('a', { labels: { k: 'v' } }),
      }),
      true,
    ],
    [
      'not when it gets another',
      helps(nodeAffinity(), makePod('p', { nodeSelector: { k: 'v' } }), {
        kind: 'node labels',
        node: makeNode('a', { labels: { k: 'w' } }),
      }),
      false,
    ],
    [
      'when the company comes',
      helps(interPodAffinity(), makePod('p', near), about('pod added', labelled('q', 'web'))),
      true,
    ],
    [
      'not when other company comes',
      helps(interPodAffinity(), makePod('p', near), about('pod added', labelled('q', 'db'))),
      false,
    ],
    [
      'when the foe goes',
      helps(interPodAffinity(), makePod('p', far), about('pod removed', labelled('q', 'web'))),
      true,
    ],
    [
      'when one goes that wanted it away',
      helps(interPodAffinity(), labelled('p', 'web'), about('pod removed', makePod('q', far))),
      true,
    ],
    [
      'not when a stranger goes',
      helps(interPodAffinity(), makePod('p', far), about('pod removed', labelled('q', 'db'))),
      false,
    ],
    [
      'when a counted pod goes',
      helps(podTopologySpread(), labelled('p', 'web', spread), about('pod removed', labelled('q', 'web'))),
      true,
    ],
    [
      'not when another goes',
      helps(podTopologySpread(), labelled('p', 'web', spread), about('pod removed', labelled('q', 'db'))),
      false,
    ],
  ])('%s', (_, actual, expected) => expect(actual).toBe(expected));
});

describe('a bound pod only reports', () => {
  const containers = [{ name: 'c', resources: { requests: { cpu: '1' } } }];
  const has = (cpu: string) => ({
    containerStatuses: [{ name: 'c', resources: { requests: { cpu } }, allocatedResources: { cpu: '1' } }],
  });
  const pod = (meta: object, rest: object = {}) => {
    const made = makePod('p', { nodeName: 'a', containers });
    return { ...made, metadata: { ...made.metadata, generation: 1, labels: { app: 'x' }, ...meta }, ...rest };
  };
  test.each([
    ['when its status changes', pod({}, { status: { phase: 'Running' } }), true],
    ['when it has what it asks for', pod({}, { status: has('1000m') }), true],
    ['not when it holds more than it asks for', pod({}, { status: has('2') }), false],
    ['not when it has ended', pod({}, { status: { phase: 'Failed' } }), false],
    ['not when its spec changed', pod({ generation: 2 }), false],
    ['not when its labels did', pod({ labels: { app: 'y' } }), false],
    ['not when it is told to go', pod({ deletionTimestamp: 'now' }), false],
    ['not when nobody counts changes', pod({ generation: undefined }), false],
  ])('%s', (_, newer, expected) => {
    expect(onlyReports(newer as Pod, pod({}) as Pod)).toBe(expected);
  });
});
