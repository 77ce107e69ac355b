// Each plugin as a table: what it fills in, what it refuses, in whose words.
import { describe, expect, test } from 'vitest';
import type { V1Pod } from '../../../../src/api/gen/types.js';
import type { Draft } from '../../../../src/api/kind.js';
import type { KubeObject } from '../../../../src/api/object.js';
import { NAMESPACES, NODES, PODS, type ResourceType } from '../../../../src/api/resources.js';
import type { AdmissionLookups } from '../../../../src/apiserver/admission/lookups.js';
import { makeAdmission } from '../../../../src/apiserver/admission/plugins.js';
import { makeServiceAccount } from '../../../../src/apiserver/admission/serviceAccount.js';
import type { AdmissionRequest } from '../../../../src/apiserver/admission.js';
import { admissionRequest } from '../../../support/admissionRequest.js';
import { FakeApi } from '../../../support/fakeApi.js';

type DraftObject = Draft<KubeObject>;
const objects: Record<string, unknown> = {
  'namespace/live': { metadata: { name: 'live' }, status: { phase: 'Active' } },
  'namespace/going': {
    metadata: { name: 'going', deletionTimestamp: 'now' },
    status: { phase: 'Terminating' },
  },
  'account/live/default': { metadata: { name: 'default' }, imagePullSecrets: [{ name: 'pull' }] },
  'account/live/quiet': { metadata: { name: 'quiet' }, automountServiceAccountToken: false },
};
const find =
  (kind: string) =>
  async ({ namespace, name }: { namespace?: string | undefined; name: string }) =>
    objects[[kind, namespace, name].filter((part) => part !== undefined).join('/')] as never;
const lookups: AdmissionLookups = {
  namespace: find('namespace'),
  serviceAccount: find('account'),
  pod: find('pod'),
  node: find('node'),
  secret: find('secret'),
  priorityClass: find('priority'),
  runtimeClass: find('runtime'),
  priorityClasses: () => [],
  storageClasses: () => [],
  ingressClasses: () => [],
  limitRanges: () => [],
  resourceQuotas: () => [],
  claim: find('claim'),
  volume: find('volume'),
  csiDriver: find('driver'),
  podsOf: async () => [],
  placedPod: find('pod'),
};
const plugins = makeAdmission({
  lookups,
  client: new FakeApi(),
  kinds: [],
  authorizer: { authorize: () => ({ verdict: 'no opinion', reason: '' }) },
});

const request = (type: ResourceType, changes: Partial<AdmissionRequest> = {}) =>
  admissionRequest({ type, namespace: type.namespaced ? 'live' : '', ...changes });
async function admit(asked: AdmissionRequest) {
  for (const plugin of plugins) await plugin.mutate?.(asked);
  for (const plugin of plugins) await plugin.validate?.(asked);
}
async function admitPod(spec: object, changes: Partial<AdmissionRequest> = {}): Promise<Draft<V1Pod>> {
  const object = { metadata: { name: 'x' }, spec: { containers: [{ name: 'c' }], ...spec } };
  await admit(request(PODS, { object, ...changes }));
  return object as Draft<V1Pod>;
}

describe('NamespaceLifecycle', () => {
  test.each([
    ['a missing namespace', 'nowhere', 'namespaces "nowhere" not found', 404],
    [
      'a namespace that is going',
      'going',
      'pods "x" is forbidden: unable to create new content in namespace going because it is being terminated',
      403,
    ],
  ])('refuses %s', async (_, namespace, message, code) => {
    await expect(admitPod({}, { namespace })).rejects.toMatchObject({ message, code });
  });
  test('lets things in a going namespace be changed and deleted', async () => {
    const deleted = request(PODS, { operation: 'delete', namespace: 'going' });
    const changed = request(PODS, { operation: 'update', namespace: 'going', object: {}, old: {} });
    await expect(admit(deleted)).resolves.toBeUndefined();
    await expect(admit(changed)).resolves.toBeUndefined();
  });
  test.each(['default', 'kube-system', 'kube-public'])('keeps %s', async (name) => {
    const asked = request(NAMESPACES, { operation: 'delete', name });
    await expect(admit(asked)).rejects.toThrow(
      `namespaces "${name}" is forbidden: this namespace may not be deleted`,
    );
  });
});

describe('ServiceAccount', () => {
  test('gives a pod the default account, its token and its pull secrets', async () => {
    const { spec } = await admitPod({ initContainers: [{ name: 'i' }] });
    const name = spec?.volumes?.[0]?.name ?? '';
    expect(name).toMatch(/^kube-api-access-[a-z0-9]{5}$/);
    expect(spec).toMatchObject({
      serviceAccountName: 'default',
      serviceAccount: 'default',
      imagePullSecrets: [{ name: 'pull' }],
    });
    const mount = { name, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true };
    expect(spec?.containers[0]?.volumeMounts).toEqual([mount]);
    expect(spec?.initContainers?.[0]?.volumeMounts).toEqual([mount]);
    expect(spec?.volumes).toEqual([
      {
        name,
        projected: {
          defaultMode: 420,
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
            { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            {
              downwardAPI: {
                items: [
                  { path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } },
                ],
              },
            },
          ],
        },
      },
    ]);
  });
  test.each([
    ['the pod says no', { automountServiceAccountToken: false }],
    ['the account says no', { serviceAccountName: 'quiet' }],
    [
      'every container has something there',
      {
        containers: [
          {
            name: 'c',
            volumeMounts: [{ name: 'own', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }],
          },
        ],
      },
    ],
  ])('mounts nothing when %s', async (_, spec) => {
    expect((await admitPod(spec)).spec?.volumes).toBeUndefined();
  });
  test('refuses an account that is not there', async () => {
    await expect(admitPod({ serviceAccountName: 'none' })).rejects.toThrow(
      'pods "x" is forbidden: error looking up service account live/none: serviceaccount "none" not found',
    );
  });
  test.each<[string, object, string]>([
    ['an account', { serviceAccountName: 'default' }, 'service accounts'],
    ['a Secret', { volumes: [{ name: 'v', secret: { secretName: 's' } }] }, 'secrets'],
    [
      'a token',
      {
        volumes: [
          {
            name: 'v',
            projected: { sources: [{ downwardAPI: {} }, { serviceAccountToken: { path: 't' } }] },
          },
        ],
      },
      'ServiceAccountToken volume projections',
    ],
  ])('gives a mirror pod nothing, and refuses it with %s, whoever makes it', async (_, more, what) => {
    const metadata = { name: 'x', annotations: { 'kubernetes.io/config.mirror': 'h' } };
    const mirror = (spec: object) => ({ metadata, spec: { containers: [{ name: 'c' }], ...spec } });
    const plain = mirror({});
    await admit(request(PODS, { object: plain }));
    expect(plain.spec).not.toHaveProperty('serviceAccountName');
    expect(plain.spec).not.toHaveProperty('volumes');
    await expect(admit(request(PODS, { object: mirror(more) }))).rejects.toThrow(
      new RegExp(`a mirror pod may not (reference|use) ${what}`),
    );
  });
  test('waits for the default account of a new namespace', async () => {
    let tries = 0;
    const plugin = makeServiceAccount({
      lookups: {
        serviceAccount: async () => (++tries < 3 ? undefined : ({ metadata: { name: 'default' } } as never)),
      },
      pause: async () => {},
    });
    await plugin.mutate?.(request(PODS, { object: { spec: { containers: [] } } as DraftObject }));
    expect(tries).toBe(3);
  });
});

describe('DefaultTolerationSeconds', () => {
  const keys = async (tolerations?: object[]) =>
    (await admitPod(tolerations === undefined ? {} : { tolerations })).spec?.tolerations
      ?.filter(({ tolerationSeconds }) => tolerationSeconds === 300)
      .map(({ key }) => key) ?? [];
  test.each([
    ['both', undefined, ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']],
    [
      'the one that is missing',
      [
        {
          key: 'node.kubernetes.io/not-ready',
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 5,
        },
      ],
      ['node.kubernetes.io/unreachable'],
    ],
    ['none when all is tolerated', [{ operator: 'Exists' }], []],
    [
      'both when the toleration has another effect',
      [{ operator: 'Exists', effect: 'NoSchedule' }],
      ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'],
    ],
  ])('adds %s', async (_, tolerations, expected) => {
    expect(await keys(tolerations)).toEqual(expected);
  });
});

describe('Priority', () => {
  test.each([
    ['', 0],
    ['system-node-critical', 2000001000],
    ['system-cluster-critical', 2000000000],
  ])('of class %j is %i', async (priorityClassName, priority) => {
    expect((await admitPod({ priorityClassName })).spec).toMatchObject({
      priority,
      preemptionPolicy: 'PreemptLowerPriority',
    });
  });
  test('refuses an unknown class, and a number of the user’s own', async () => {
    await expect(admitPod({ priorityClassName: 'high' })).rejects.toThrow(
      'no PriorityClass with name high was found',
    );
    await expect(admitPod({ priority: 7 })).rejects.toThrow(
      'the integer value of priority (7) must not be provided in pod spec',
    );
  });
  test('is kept by an update that leaves it out', async () => {
    const old = { spec: { priority: 5, preemptionPolicy: 'Never' } } as DraftObject;
    expect((await admitPod({}, { operation: 'update', old })).spec).toMatchObject({
      priority: 5,
      preemptionPolicy: 'Never',
    });
  });
});

describe('TaintNodesByCondition', () => {
  test('taints a new node, once', async () => {
    const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
    for (const spec of [undefined, { taints: [taint] }]) {
      const object = { metadata: { name: 'x' }, ...(spec === undefined ? {} : { spec }) } as {
        spec?: object;
      };
      await admit(request(NODES, { object: object as DraftObject }));
      expect(object.spec).toEqual({ taints: [taint] });
    }
  });
});
