// Quota: what objects use, which quotas speak of them, and reservations that stay right among conflicts.
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/api/object.js';
import { isInScope, missingDemands } from '../../../../src/api/quota/scopes.js';
import { countedTypes, usedBy } from '../../../../src/api/quota/total.js';
import { growth, usageOf } from '../../../../src/api/quota/usage.js';
import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  type ResourceType,
  SERVICES,
} from '../../../../src/api/resources.js';
import { conflict, statusError } from '../../../../src/api/status.js';
import { QUOTA_MANAGER } from '../../../../src/apiserver/admission/quota/recounts.js';
import {
  makeReservations,
  type Quota,
  type QuotaAccess,
} from '../../../../src/apiserver/admission/quota/reservations.js';

const container = (requests: Record<string, string>, limits = {}) => ({
  name: 'c',
  resources: { requests, limits },
});

describe('usage', () => {
  test.each<[string, ResourceType, object, object]>([
    ['a config map', CONFIG_MAPS, {}, { configmaps: '1', 'count/configmaps': '1' }],
    ['a deployment', DEPLOYMENTS, {}, { 'count/deployments.apps': '1' }],
    [
      'a pod',
      PODS,
      { spec: { containers: [container({ cpu: '100m', 'example.com/gpu': '1' }, { memory: '1Gi' })] } },
      {
        'count/pods': '1',
        pods: '1',
        cpu: '100m',
        'requests.cpu': '100m',
        'requests.example.com/gpu': '1',
        'limits.memory': '1Gi',
      },
    ],
    [
      'a pod whose init container asks for more, with overhead',
      PODS,
      {
        spec: {
          containers: [container({ cpu: '1' })],
          initContainers: [container({ cpu: '2' })],
          overhead: { cpu: '10m' },
        },
      },
      { 'count/pods': '1', pods: '1', cpu: '2010m', 'requests.cpu': '2010m' },
    ],
    [
      'a pod that asks as a whole',
      PODS,
      { spec: { containers: [container({ cpu: '1' })], resources: { requests: { cpu: '3' } } } },
      { 'count/pods': '1', pods: '1', cpu: '3', 'requests.cpu': '3' },
    ],
    [
      'a pod that is to have less and still has more',
      PODS,
      {
        spec: { containers: [container({ cpu: '1' }, { cpu: '2' })] },
        status: {
          containerStatuses: [
            {
              name: 'c',
              allocatedResources: { cpu: '1' },
              resources: { requests: { cpu: '4' }, limits: { cpu: '5' } },
            },
          ],
        },
      },
      { 'count/pods': '1', pods: '1', cpu: '4', 'requests.cpu': '4', 'limits.cpu': '5' },
    ],
    [
      'a pod that is done',
      PODS,
      { spec: { containers: [] }, status: { phase: 'Succeeded' } },
      { 'count/pods': '1' },
    ],
    [
      'a service with node ports',
      SERVICES,
      { spec: { type: 'NodePort', ports: [{ port: 1 }, { port: 2 }] } },
      { services: '1', 'count/services': '1', 'services.nodeports': '2' },
    ],
    [
      'a claim of a class',
      PERSISTENT_VOLUME_CLAIMS,
      { spec: { storageClassName: 'gold', resources: { requests: { storage: '1Gi' } } } },
      {
        persistentvolumeclaims: '1',
        'count/persistentvolumeclaims': '1',
        'requests.storage': '1Gi',
        'gold.storageclass.storage.k8s.io/requests.storage': '1Gi',
        'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
      },
    ],
    [
      'a claim whose expansion was taken back after it had begun',
      PERSISTENT_VOLUME_CLAIMS,
      {
        spec: { resources: { requests: { storage: '1Gi' } } },
        status: { allocatedResources: { storage: '2Gi' } },
      },
      { persistentvolumeclaims: '1', 'count/persistentvolumeclaims': '1', 'requests.storage': '2Gi' },
    ],
  ])('of %s', (_, type, object, usage) => expect(usageOf(type, object)).toEqual(usage));
  test('grows by what is more', () => {
    expect(growth({ cpu: '2', pods: '1' }, { cpu: '500m', pods: '1' })).toEqual({ cpu: '1500m' });
  });
  test('is counted from all objects in scope', () => {
    const quota = { spec: { hard: { pods: '5', 'requests.cpu': '2' }, scopes: ['NotTerminating'] } };
    const items = [
      { spec: { containers: [container({ cpu: '1' })] } },
      { spec: { containers: [container({ cpu: '1' })], activeDeadlineSeconds: 5 } },
    ];
    expect(usedBy(quota, [{ type: PODS, items: items as KubeObject[] }])).toEqual({
      pods: '1',
      'requests.cpu': '1',
    });
    expect(countedTypes(['services.nodeports', 'count/configmaps'], [PODS, SERVICES, CONFIG_MAPS])).toEqual([
      SERVICES,
      CONFIG_MAPS,
    ]);
  });
});

describe('scopes', () => {
  const plain = { spec: { containers: [{ name: 'c' }] } };
  test.each<[string, object, object, boolean]>([
    ['BestEffort', { scopes: ['BestEffort'] }, plain, true],
    ['NotBestEffort', { scopes: ['NotBestEffort'] }, plain, false],
    ['Terminating', { scopes: ['Terminating'] }, { spec: { ...plain.spec, activeDeadlineSeconds: 0 } }, true],
    [
      'PriorityClass In',
      {
        scopeSelector: {
          matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }],
        },
      },
      { spec: { ...plain.spec, priorityClassName: 'high' } },
      true,
    ],
    [
      'PriorityClass DoesNotExist',
      { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'DoesNotExist' }] } },
      plain,
      true,
    ],
    ['unknown', { scopes: ['Whatever'] }, plain, false],
  ])('%s', (_, spec, pod, expected) => expect(isInScope(spec, PODS, pod)).toBe(expected));
  test('speak of pods alone', () => {
    expect(isInScope({ scopes: ['NotTerminating'] }, SERVICES, {})).toBe(false);
    expect(isInScope({ scopes: ['NotTerminating'] }, PERSISTENT_VOLUME_CLAIMS, {})).toBe(false);
  });
  const silver = { spec: { volumeAttributesClassName: 'silver' } };
  const leavingGold = { ...silver, status: { currentVolumeAttributesClassName: 'gold' } };
  const onTheWay = {
    status: { modifyVolumeStatus: { status: 'Pending', targetVolumeAttributesClassName: 'gold' } },
  };
  test.each<[string, string, string[], object, boolean]>([
    ['its class is listed', 'In', ['silver'], silver, true],
    ['another is listed', 'In', ['gold'], silver, false],
    ['the class it still has is listed', 'In', ['gold'], leavingGold, true],
    ['the class it is on the way to is listed', 'In', ['gold'], onTheWay, true],
    ['none is listed, it has none', 'In', ['gold'], {}, false],
    ['another is excluded', 'NotIn', ['gold'], silver, true],
    ['one is excluded, it has none', 'NotIn', ['gold'], {}, true],
    ['it has one', 'Exists', [], silver, true],
    ['it has none', 'Exists', [], {}, false],
    ['it must have none', 'DoesNotExist', [], {}, true],
  ])('count a claim by the class of its attributes: %s', (_, operator, values, claim, expected) => {
    const matchExpressions = [{ scopeName: 'VolumeAttributesClass', operator, values }];
    const spec = { scopeSelector: { matchExpressions } };
    expect(isInScope(spec, PERSISTENT_VOLUME_CLAIMS, claim)).toBe(expected);
    expect(isInScope(spec, PODS, claim)).toBe(false);
  });
  test('demand that containers say what is counted', () => {
    const pod = { spec: { containers: [container({ cpu: '1' }), { name: 'b' }] } };
    const spec = { hard: { 'limits.memory': '1', 'requests.cpu': '1', pods: '1' } };
    expect(missingDemands(spec, pod)).toEqual(['limits.memory for: b,c', 'requests.cpu for: b']);
  });
});

/** A book that others write too: each `interfere` makes the next write a conflict. */
class FakeQuotas implements QuotaAccess {
  interfere = 0;
  writes = 0;
  version = 1;
  manager = 'controller';
  constructor(
    readonly hard: Record<string, string>,
    public used: Record<string, string>,
    readonly name = 'q',
  ) {}
  get quota(): Quota {
    return {
      metadata: {
        name: this.name,
        namespace: 'ns',
        uid: this.name,
        resourceVersion: String(this.version),
        managedFields: [{ manager: this.manager, fieldsV1: { 'f:status': { 'f:used': { 'f:pods': {} } } } }],
      },
      spec: { hard: this.hard },
      status: { hard: this.hard, used: { ...this.used } },
    } as never;
  }
  async read() {
    return [this.quota];
  }
  /** What the controller does. */
  count(used: Record<string, string>) {
    this.used = used;
    this.version += 1;
    this.manager = 'controller';
  }
  async write(quota: Quota) {
    await null;
    if (this.interfere > 0) {
      this.interfere -= 1;
      this.version += 1;
    }
    if (quota.metadata.resourceVersion !== String(this.version))
      throw conflict({ group: '', resource: 'resourcequotas' }, 'q', 'changed');
    this.version += 1;
    this.writes += 1;
    this.manager = QUOTA_MANAGER;
    this.used = { ...(quota.status?.used as Record<string, string>) };
    return this.quota;
  }
}
const one = () => ({ pods: '1' });
const refuse = (why: string) => statusError('Forbidden', why);

describe('the reservations', () => {
  test('admits exactly the limit of a hundred at once, in few writes', async () => {
    const book = new FakeQuotas({ pods: '10' }, { pods: '0' });
    const reservations = makeReservations(book);
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, () => reservations.reserve('ns', one, refuse)),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(book.used).toEqual({ pods: '10' });
    expect(book.writes).toBeLessThan(5);
  });
  test('judges again what met a newer version', async () => {
    const book = new FakeQuotas({ pods: '1' }, { pods: '0' });
    book.interfere = 3;
    await makeReservations(book).reserve('ns', one, refuse);
    expect(book.used).toEqual({ pods: '1' });
  });
  test('says what was asked, used and allowed', async () => {
    const book = new FakeQuotas({ pods: '2' }, { pods: '2' });
    await expect(makeReservations(book).reserve('ns', one, refuse)).rejects.toThrow(
      'exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2',
    );
  });
  test('takes back what a failed write had reserved', async () => {
    const book = new FakeQuotas({ pods: '2' }, { pods: '0' });
    const undo = await makeReservations(book).reserve('ns', one, refuse);
    await undo();
    expect(book.used).toEqual({ pods: '0' });
  });
  test('takes nothing back after somebody has counted again', async () => {
    const book = new FakeQuotas({ pods: '2' }, { pods: '0' });
    const undo = await makeReservations(book).reserve('ns', one, refuse);
    book.count({ pods: '1' });
    await undo();
    expect(book.used).toEqual({ pods: '1' });
  });
  test('takes back all of many failed writes at once', async () => {
    const book = new FakeQuotas({ pods: '50' }, { pods: '1' });
    const reservations = makeReservations(book);
    const fail = async () => (await reservations.reserve('ns', one, refuse))();
    await Promise.all(Array.from({ length: 25 }, fail));
    expect(book.used).toEqual({ pods: '1' });
  });
  test('takes back all of what failed on two servers, whose several write between each other', async () => {
    const book = new FakeQuotas({ pods: '100' }, { pods: '0' });
    const several = [makeReservations(book), makeReservations(book)];
    const write = async (at: number) => {
      const undo = await several[at % 2]?.reserve('ns', one, refuse);
      if (at % 4 > 1) await undo?.();
    };
    await Promise.all(Array.from({ length: 40 }, (_, at) => write(at)));
    expect(book.used).toEqual({ pods: '20' });
  });
  test('takes from all quotas or from none', async () => {
    const books = [
      new FakeQuotas({ pods: '5' }, { pods: '0' }, 'wide'),
      new FakeQuotas({ pods: '1' }, { pods: '1' }, 'full'),
    ];
    const reservations = makeReservations({
      read: async () => books.map(({ quota }) => quota),
      write: (quota) => (books.find(({ name }) => name === quota.metadata.name) as FakeQuotas).write(quota),
    });
    await expect(reservations.reserve('ns', one, refuse)).rejects.toThrow('exceeded quota: full');
    expect(books[0]?.used).toEqual({ pods: '0' });
  });
  test('a dry run writes nothing', async () => {
    const book = new FakeQuotas({ pods: '1' }, { pods: '0' });
    await makeReservations(book).check('ns', one, refuse);
    expect(book.writes).toBe(0);
  });
});
