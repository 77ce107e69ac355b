// Every filter as a table: which pod fits which node, and the words of a refusal.
import { describe, expect, test } from 'vitest';
import type { V1Node, V1NodeSelectorTerm, V1Pod, V1Taint, V1Toleration } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { defaultProfile } from '../../../src/scheduler/configuration/profiles.js';
import type { Plugin } from '../../../src/scheduler/plugin.js';
import { dynamicResources } from '../../../src/scheduler/plugins/dynamicResources.js';
import { nodeAffinity } from '../../../src/scheduler/plugins/nodeAffinity.js';
import { nodeDeclaredFeatures } from '../../../src/scheduler/plugins/nodeDeclaredFeatures.js';
import { nodeName } from '../../../src/scheduler/plugins/nodeName.js';
import { nodePorts } from '../../../src/scheduler/plugins/nodePorts.js';
import { nodeResourcesFit } from '../../../src/scheduler/plugins/nodeResourcesFit.js';
import { nodeUnschedulable } from '../../../src/scheduler/plugins/nodeUnschedulable.js';
import { taintToleration } from '../../../src/scheduler/plugins/taintToleration.js';
import { makeNode, makePod, refusalsOf, requesting, snapshotOf } from './support.js';

type Case = readonly [
  name: string,
  pod: Stored<V1Pod>,
  node: Stored<V1Node>,
  held: Stored<V1Pod>[],
  reasons: string[],
];
function table(plugin: Plugin, cases: readonly Case[]): void {
  describe(plugin.name, () => {
    test.each(cases)('%s', (_, pod, node, held, reasons) => {
      expect(refusalsOf(plugin, pod, snapshotOf([node, ...held]))).toEqual(reasons);
    });
  });
}
const plain = makePod('p');
const node = makeNode('n1', { labels: { zone: 'a', size: '5' } });

const cordoned = makeNode('n1', { spec: { unschedulable: true } });
table(nodeUnschedulable, [
  ['an open node', plain, node, [], []],
  ['a cordoned node', plain, cordoned, [], ['node(s) were unschedulable']],
  [
    'a cordoned node and a pod that tolerates it',
    makePod('p', { tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }] }),
    cordoned,
    [],
    [],
  ],
]);

const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [3] } }];
const restarting = makePod('p', { containers: [{ name: 'c', restartPolicyRules: rules }] });
const mapped = makePod('p', { hostNetwork: true, hostUsers: false });
const declaring = (...declaredFeatures: string[]) => ({
  ...node,
  status: { ...node.status, declaredFeatures },
});
const UNDECLARED = ["node(s) didn't match Pod's required features"];
table(nodeDeclaredFeatures, [
  ['a pod that needs nothing new', plain, node, [], []],
  ['a rule that restarts all, and a node that says nothing', restarting, node, [], UNDECLARED],
  [
    'a rule that restarts all, and a node that can',
    restarting,
    declaring('ExtendWebSocketsToKubelet', 'RestartAllContainersOnContainerExits'),
    [],
    [],
  ],
  [
    'users of its own in the network of the node',
    mapped,
    declaring('RestartAllContainersOnContainerExits'),
    [],
    UNDECLARED,
  ],
]);

const claiming = makePod('p', { resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] });
table(dynamicResources, [
  ['a pod without claims', plain, node, [], []],
  ['a pod that claims devices', claiming, node, [], ['cannot allocate all claims']],
]);

test('a pod that claims devices fits nowhere by default', () => {
  expect(defaultProfile().filters.map(({ name }) => name)).toContain(dynamicResources.name);
});

const shrinking = {
  ...requesting('held', { cpu: '1' }),
  status: {
    containerStatuses: [
      {
        name: 'c',
        image: '',
        imageID: '',
        ready: true,
        restartCount: 0,
        resources: { requests: { cpu: '3' } },
        allocatedResources: { cpu: '1' },
      },
    ],
  },
};
table(nodeResourcesFit(), [
  ['room beside one that is to have less', requesting('p', { cpu: '1' }), node, [shrinking], []],
  [
    'what one that is to have less has not let go of yet',
    requesting('p', { cpu: '2' }),
    node,
    [shrinking],
    ['Insufficient cpu'],
  ],
]);

table(nodeName, [
  ['no node named', plain, node, [], []],
  ['this node named', makePod('p', { nodeName: 'n1' }), node, [], []],
  [
    'another node named',
    makePod('p', { nodeName: 'n2' }),
    node,
    [],
    ["node(s) didn't match the requested node name"],
  ],
]);

const taint = (changes: Partial<V1Taint> = {}): V1Taint => ({
  key: 'k',
  value: 'v',
  effect: 'NoSchedule',
  ...changes,
});
const tainted = (...taints: V1Taint[]) => makeNode('n1', { spec: { taints } });
const tolerating = (...tolerations: V1Toleration[]) => makePod('p', { tolerations });
const kept = ['node(s) had untolerated taint(s)'];
table(taintToleration, [
  ['no taint', plain, node, [], []],
  ['a taint', plain, tainted(taint()), [], kept],
  ['a taint that evicts', plain, tainted(taint({ effect: 'NoExecute' })), [], kept],
  ['a taint that only asks', plain, tainted(taint({ effect: 'PreferNoSchedule' })), [], []],
  [
    'tolerated by value',
    tolerating({ key: 'k', operator: 'Equal', value: 'v', effect: 'NoSchedule' }),
    tainted(taint()),
    [],
    [],
  ],
  ['tolerated by value, operator left out', tolerating({ key: 'k', value: 'v' }), tainted(taint()), [], []],
  ['another value', tolerating({ key: 'k', value: 'w' }), tainted(taint()), [], kept],
  [
    'another effect',
    tolerating({ key: 'k', operator: 'Exists', effect: 'NoExecute' }),
    tainted(taint()),
    [],
    kept,
  ],
  ['tolerated by existence', tolerating({ key: 'k', operator: 'Exists' }), tainted(taint()), [], []],
  [
    'everything tolerated',
    tolerating({ operator: 'Exists' }),
    tainted(taint(), taint({ key: 'other' })),
    [],
    [],
  ],
  ['no key and no Exists tolerates nothing', tolerating({ value: 'v' }), tainted(taint()), [], kept],
  [
    'one of two tolerated',
    tolerating({ key: 'k', operator: 'Exists' }),
    tainted(taint(), taint({ key: 'other' })),
    [],
    kept,
  ],
]);

const term = (key: string, operator: string, ...values: string[]): V1NodeSelectorTerm => ({
  matchExpressions: [{ key, operator, values }],
});
const requiring = (...nodeSelectorTerms: V1NodeSelectorTerm[]) =>
  makePod('p', {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
  });
const mismatch = ["node(s) didn't match Pod's node affinity/selector"];
table(nodeAffinity(), [
  ['nothing asked', plain, node, [], []],
  ['selector met', makePod('p', { nodeSelector: { zone: 'a' } }), node, [], []],
  ['selector not met', makePod('p', { nodeSelector: { zone: 'b' } }), node, [], mismatch],
  ['In', requiring(term('zone', 'In', 'a', 'b')), node, [], []],
  ['In of an absent label', requiring(term('x', 'In', '')), node, [], mismatch],
  ['NotIn of an absent label', requiring(term('x', 'NotIn', 'a')), node, [], []],
  ['NotIn of the value', requiring(term('zone', 'NotIn', 'a')), node, [], mismatch],
  ['Exists', requiring(term('zone', 'Exists')), node, [], []],
  ['DoesNotExist', requiring(term('zone', 'DoesNotExist')), node, [], mismatch],
  ['Gt', requiring(term('size', 'Gt', '4')), node, [], []],
  ['Gt of an equal', requiring(term('size', 'Gt', '5')), node, [], mismatch],
  ['Lt', requiring(term('size', 'Lt', '6')), node, [], []],
  ['Lt of an equal', requiring(term('size', 'Lt', '5')), node, [], mismatch],
  ['Lt of a word', requiring(term('zone', 'Lt', '6')), node, [], mismatch],
  ['an operator that is none', requiring(term('zone', 'Like', 'a')), node, [], mismatch],
  ['a label named like a method of objects', requiring(term('constructor', 'Exists')), node, [], mismatch],
  ['one of two terms', requiring(term('zone', 'In', 'b'), term('zone', 'In', 'a')), node, [], []],
  ['an empty term', requiring({}), node, [], mismatch],
  ['no terms', requiring(), node, [], mismatch],
  [
    'by field',
    requiring({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }),
    node,
    [],
    [],
  ],
  [
    'by another field',
    requiring({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n2'] }] }),
    node,
    [],
    mismatch,
  ],
]);

const porting = (name: string, hostPort: number, extra = {}) =>
  makePod(name, { containers: [{ name: 'c', ports: [{ containerPort: 1, hostPort, ...extra }] }] });
const noPorts = ["node(s) didn't have free ports for the requested pod ports"];
table(nodePorts, [
  ['a free port', porting('p', 80), node, [porting('q', 81)], []],
  ['a taken port', porting('p', 80), node, [porting('q', 80)], noPorts],
  ['the other protocol', porting('p', 80, { protocol: 'UDP' }), node, [porting('q', 80)], []],
  [
    'two addresses',
    porting('p', 80, { hostIP: '10.0.0.1' }),
    node,
    [porting('q', 80, { hostIP: '10.0.0.2' })],
    [],
  ],
  [
    'one address and every address',
    porting('p', 80, { hostIP: '10.0.0.1' }),
    node,
    [porting('q', 80)],
    noPorts,
  ],
  [
    'every address and one address',
    porting('p', 80),
    node,
    [porting('q', 80, { hostIP: '10.0.0.1' })],
    noPorts,
  ],
  ['no port asked', plain, node, [porting('q', 80)], []],
]);

const small = makeNode('n1', { allocatable: { cpu: '1', memory: '1Gi', pods: '2', 'example.com/gpu': '1' } });
const init = (requests: Record<string, string>, restartPolicy?: string) => ({
  name: 'i',
  resources: { requests },
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
});
table(nodeResourcesFit(), [
  ['all of it', requesting('p', { cpu: '1', memory: '1Gi' }), small, [], []],
  ['a thousandth too much', requesting('p', { cpu: '1001m' }), small, [], ['Insufficient cpu']],
  [
    'what another has',
    requesting('p', { cpu: '500m' }),
    small,
    [requesting('q', { cpu: '501m' })],
    ['Insufficient cpu'],
  ],
  [
    'cpu and memory',
    requesting('p', { cpu: '2', memory: '2Gi' }),
    small,
    [],
    ['Insufficient cpu', 'Insufficient memory'],
  ],
  ['a third pod', plain, small, [makePod('q'), makePod('r')], ['Too many pods']],
  ['nothing asked on a node that is full', plain, small, [requesting('q', { cpu: '1' })], []],
  ['a device', requesting('p', { 'example.com/gpu': '1' }), small, [], []],
  [
    'a device that is taken',
    requesting('p', { 'example.com/gpu': '1' }),
    small,
    [requesting('q', { 'example.com/gpu': '1' })],
    ['Insufficient example.com/gpu'],
  ],
  [
    'a device that the node has not',
    requesting('p', { 'example.com/tpu': '1' }),
    small,
    [],
    ['Insufficient example.com/tpu'],
  ],
  [
    'an init container that is larger',
    requesting('p', { cpu: '1' }, { initContainers: [init({ cpu: '2' })] }),
    small,
    [],
    ['Insufficient cpu'],
  ],
  [
    'init containers that are not added up',
    requesting('p', { cpu: '1' }, { initContainers: [init({ cpu: '1' }), init({ cpu: '1' })] }),
    small,
    [],
    [],
  ],
  [
    'a sidecar that is added',
    requesting('p', { cpu: '1' }, { initContainers: [init({ cpu: '1m' }, 'Always')] }),
    small,
    [],
    ['Insufficient cpu'],
  ],
  [
    'a sidecar beside a later init container',
    makePod('p', { initContainers: [init({ cpu: '600m' }, 'Always'), init({ cpu: '600m' })] }),
    small,
    [],
    ['Insufficient cpu'],
  ],
  ['overhead', requesting('p', { cpu: '1' }, { overhead: { cpu: '1m' } }), small, [], ['Insufficient cpu']],
  [
    'requests of the pod as a whole',
    requesting('p', { cpu: '2' }, { resources: { requests: { cpu: '1' } } }),
    small,
    [],
    [],
  ],
  ['an amount that is none', requesting('p', { cpu: 'much' }), small, [], ['Insufficient cpu']],
  [
    'a node whose amount is none',
    requesting('p', { cpu: '1m' }),
    makeNode('n1', { allocatable: { cpu: 'much' } }),
    [],
    ['Insufficient cpu'],
  ],
]);
