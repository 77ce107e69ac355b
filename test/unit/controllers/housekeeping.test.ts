// Plans that keep house: what every namespace has, what an emptied one says, which pods nobody will finish.
import { describe, expect, test } from 'vitest';
import { namespaceConditions } from '../../../src/controllers/namespace/conditions.js';
import { deletionOrder } from '../../../src/controllers/namespace/controller.js';
import { planRootCa, planServiceAccount } from '../../../src/controllers/perNamespace.js';
import { planPodGc } from '../../../src/controllers/podGc.js';
import { ago, NOW, node, pod } from './support/objects.js';

const metadata = { name: 'x', uid: 'u', resourceVersion: '1', creationTimestamp: ago(0) };

describe('what every namespace has', () => {
  test('makes the default service account once', () => {
    expect(planServiceAccount('ns', undefined)).toMatchObject([
      { do: 'create', object: { metadata: { name: 'default', namespace: 'ns' } } },
    ]);
    expect(planServiceAccount('ns', { metadata })).toEqual([]);
  });

  test.each<[string, Record<string, string> | undefined, string[]]>([
    ['leaves the right certificate', { 'ca.crt': 'PEM' }, []],
    ['renews another one', { 'ca.crt': 'OLD' }, ['update']],
    ['removes what was added', { 'ca.crt': 'PEM', more: 'x' }, ['update']],
    ['fills in what was emptied', undefined, ['update']],
  ])('%s', (_, data, wanted) => {
    const wishes = planRootCa('ns', { metadata, ...(data === undefined ? {} : { data }) }, 'PEM');
    expect(wishes.map((wish) => wish.do)).toEqual(wanted);
    for (const { object } of wishes) expect(object.data).toEqual({ 'ca.crt': 'PEM' });
  });
});

describe('a namespace that is being emptied', () => {
  const type = (resource: string, verbs = ['list', 'delete'], namespaced = true) => ({
    group: '',
    version: 'v1',
    resource,
    kind: resource,
    namespaced,
    verbs,
  });

  test('loses its pods first, and only what lives in it and can be deleted', () => {
    const served = [
      type('secrets'),
      type('pods'),
      type('nodes', undefined, false),
      type('bindings', ['create']),
    ];
    const order = deletionOrder(served).map((stage) => stage.map(({ resource }) => resource));
    expect(order).toEqual([['pods'], ['secrets']]);
  });

  test('says what remains and which finalizers it waits for', () => {
    const objects = new Map([['pods.', 2]]);
    const finalizers = new Map([['example.com/hold', 1]]);
    const conditions = namespaceConditions([], { objects, finalizers }, NOW);
    expect(
      conditions.filter(({ status }) => status === 'True').map(({ reason, message }) => [reason, message]),
    ).toEqual([
      ['SomeResourcesRemain', 'Some resources are remaining: pods. has 2 resource instances'],
      [
        'SomeFinalizersRemain',
        'Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
      ],
    ]);
    expect(conditions).toHaveLength(5);
    const later = namespaceConditions(conditions, { objects, finalizers }, NOW + 60_000);
    expect(later).toEqual(conditions);
  });
});

describe('planPodGc', () => {
  const out = node('out', 'Unknown', {
    spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] },
  });
  const going = { deletionTimestamp: ago(1) };
  const pods = [
    pod('kept', { node: 'here' }),
    pod('waiting', { phase: 'Pending' }),
    pod('lost', { node: 'gone' }),
    pod('never-placed', { phase: 'Pending', meta: going }),
    pod('leaving', { node: 'here', meta: going }),
    pod('stranded', { node: 'out', meta: going }),
    pod('done-old', { phase: 'Succeeded', node: 'here', meta: { creationTimestamp: ago(900) } }),
    pod('done-new', { phase: 'Failed', node: 'here', meta: { creationTimestamp: ago(10) } }),
  ];
  const plan = (finishedLimit: number) =>
    planPodGc({
      pods,
      nodeOf: (name) => ({ here: node('here', 'True'), out })[name],
      gone: new Set(['gone']),
      finishedLimit,
    }).map(({ pod: { metadata: named } }) => named.name);

  test('takes pods of nodes that are gone or out of service, and pods that never had one', () => {
    expect(plan(12_500)).toEqual(['lost', 'never-placed', 'stranded']);
  });

  test('takes the oldest finished pods beyond the limit', () => {
    expect(plan(1)).toEqual(['lost', 'never-placed', 'stranded', 'done-old']);
    expect(plan(0)).toHaveLength(3);
  });
});
