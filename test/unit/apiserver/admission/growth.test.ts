// Plugins that look at other objects: claims that grow, pods that get their node's zone, pods that outgrow their node.
import { describe, expect, test } from 'vitest';
import type { V1Node, V1StorageClass } from '../../../../src/api/gen/types.js';
import type { Draft } from '../../../../src/api/kind.js';
import type { KubeObject, Stored } from '../../../../src/api/object.js';
import { PERSISTENT_VOLUME_CLAIMS, PODS, type ResourceType } from '../../../../src/api/resources.js';
import { alwaysDeny } from '../../../../src/apiserver/admission/always.js';
import { makeClaimResize } from '../../../../src/apiserver/admission/claimResize.js';
import { makeNodeDeclaredFeatures } from '../../../../src/apiserver/admission/nodeDeclaredFeatures.js';
import { makePodResizeValidator } from '../../../../src/apiserver/admission/podResize.js';
import { makePodTopologyLabels } from '../../../../src/apiserver/admission/podTopologyLabels.js';
import type { AdmissionRequest } from '../../../../src/apiserver/admission.js';

const request = (type: ResourceType, changes: Partial<AdmissionRequest>): AdmissionRequest => ({
  operation: 'create',
  type,
  subresource: '',
  namespace: 'live',
  name: 'x',
  user: { name: 'jane', groups: [] },
  dryRun: false,
  ...changes,
});

describe('PersistentVolumeClaimResize', () => {
  const storageClass = (name: string, allowVolumeExpansion?: boolean) =>
    ({ metadata: { name }, provisioner: 'p', allowVolumeExpansion }) as unknown as Stored<V1StorageClass>;
  const plugin = makeClaimResize({
    storageClasses: () => [storageClass('fixed'), storageClass('no', false), storageClass('elastic', true)],
  });
  const claim = (storage: string, storageClassName?: string, phase = 'Bound') => ({
    metadata: { name: 'x' },
    spec: { storageClassName, resources: { requests: { storage } } },
    status: { phase },
  });
  const resize = (from: object, to: object) =>
    plugin.validate?.(
      request(PERSISTENT_VOLUME_CLAIMS, {
        operation: 'update',
        old: from as KubeObject,
        object: to as Draft<KubeObject>,
      }),
    );
  const NOT_BOUND = 'Only bound persistent volume claims can be expanded';
  const NOT_ALLOWED =
    'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';

  test.each<[string, object, object, string | undefined]>([
    ['a class that allows it', claim('1Gi', 'elastic'), claim('2Gi', 'elastic'), undefined],
    ['no growth', claim('1Gi', 'fixed'), claim('1024Mi', 'fixed'), undefined],
    ['a class that says nothing', claim('1Gi', 'fixed'), claim('2Gi', 'fixed'), NOT_ALLOWED],
    ['a class that says no', claim('1Gi', 'no'), claim('2Gi', 'no'), NOT_ALLOWED],
    ['a class that is gone', claim('1Gi', 'gone'), claim('2Gi', 'gone'), NOT_ALLOWED],
    ['no class', claim('1Gi'), claim('2Gi'), NOT_ALLOWED],
    ['an unbound claim', claim('1Gi', 'elastic', 'Pending'), claim('2Gi', 'elastic'), NOT_BOUND],
  ])('%s', (_, from, to, why) => {
    if (why === undefined) expect(() => resize(from, to)).not.toThrow();
    else expect(() => resize(from, to)).toThrow(`persistentvolumeclaims "x" is forbidden: ${why}`);
  });
});

const node = {
  metadata: {
    name: 'n1',
    labels: { 'topology.kubernetes.io/zone': 'z', 'topology.kubernetes.io/region': 'r', other: 'o' },
  },
  status: { allocatable: { cpu: '2', memory: '1Gi' } },
} as unknown as Stored<V1Node>;
const lookups = { node: async ({ name }: { name: string }) => (name === 'n1' ? node : undefined) };

describe('PodTopologyLabels', () => {
  const plugin = makePodTopologyLabels(lookups);
  const labelled = async (object: object, subresource = '') => {
    await plugin.mutate?.(request(PODS, { subresource, object: object as Draft<KubeObject> }));
    return (object as { metadata: { labels?: object } }).metadata.labels;
  };
  const zone = { 'topology.kubernetes.io/zone': 'z', 'topology.kubernetes.io/region': 'r' };
  test('a binding carries the zone and region of the node, over what it said', async () => {
    const labels = { 'topology.kubernetes.io/zone': 'lie', mine: 'm' };
    const binding = { metadata: { labels }, target: { kind: 'Node', name: 'n1' } };
    expect(await labelled(binding, 'binding')).toEqual({ ...zone, mine: 'm' });
  });
  test('a pod that is made with its node gets them too', async () => {
    expect(await labelled({ metadata: {}, spec: { nodeName: 'n1' } })).toEqual(zone);
  });
  test.each<[string, object, string]>([
    ['a pod without a node', { metadata: {}, spec: {} }, ''],
    ['an unknown node', { metadata: {}, spec: { nodeName: 'n2' } }, ''],
    ['a binding to something else', { metadata: {}, target: { kind: 'Rack', name: 'n1' } }, 'binding'],
    ['an eviction', { metadata: {}, spec: { nodeName: 'n1' } }, 'eviction'],
  ])('%s gets none', async (_, object, subresource) => {
    expect(await labelled(object, subresource)).toBeUndefined();
  });
});

describe('PodResizeValidator', () => {
  const plugin = makePodResizeValidator(lookups);
  const pod = (cpu: string, nodeName = 'n1') =>
    ({
      metadata: { name: 'x' },
      spec: { nodeName, containers: [{ name: 'c', resources: { requests: { cpu } } }] },
    }) as object;
  const resize = async (object: object, subresource = 'resize') =>
    plugin.validate?.(
      request(PODS, {
        operation: 'update',
        subresource,
        object: object as Draft<KubeObject>,
        old: pod('1') as KubeObject,
      }),
    );
  test('refuses what the node does not have, with the cause', async () => {
    await expect(resize(pod('3'))).rejects.toMatchObject({
      message: `pods "x" is forbidden: node didn't have enough allocatable resources: cpu, requested: 3000, allocatable: 2000`,
      status: { details: { causes: [{ reason: 'NodeCapacity' }] } },
    });
  });
  test('refuses a node that is gone', async () => {
    await expect(resize(pod('2', 'n2'))).rejects.toThrow('node "n2" not found');
  });
  test.each([
    ['what fits', pod('2'), 'resize'],
    ['what stays', pod('1'), 'resize'],
    ['a pod without a node', pod('3', ''), 'resize'],
    ['another part of the pod', pod('3'), 'status'],
  ])('lets %s pass', async (_, object, part) => {
    await expect(resize(object, part)).resolves.toBeUndefined();
  });
});

describe('NodeDeclaredFeatureValidator', () => {
  const pod = (cpu?: string, nodeName = 'n1') =>
    ({
      spec: { nodeName, containers: [], ...(cpu === undefined ? {} : { resources: { requests: { cpu } } }) },
    }) as object;
  const change = async (features: readonly string[], object: object) => {
    const declaring = { ...node, status: { declaredFeatures: features } } as unknown as Stored<V1Node>;
    const plugin = makeNodeDeclaredFeatures({ node: async () => declaring });
    return plugin.validate?.(
      request(PODS, {
        operation: 'update',
        subresource: 'resize',
        object: object as Draft<KubeObject>,
        old: pod('1') as KubeObject,
      }),
    );
  };
  const FEATURE = 'InPlacePodLevelResourcesVerticalScaling';
  test('refuses what the node does not declare', async () => {
    await expect(change([], pod('2'))).rejects.toThrow(
      `pods "x" is forbidden: pod update requires features ${FEATURE} which are not available on node "n1"`,
    );
  });
  test.each<[string, readonly string[], object]>([
    ['what it declares', [FEATURE], pod('2')],
    ['what needs nothing', [], pod('1')],
    ['a pod without a node', [], pod('2', '')],
  ])('lets %s pass', async (_, features, object) => {
    await expect(change(features, object)).resolves.toBeUndefined();
  });
});

test('AlwaysDeny refuses everybody but the server itself, which must start', () => {
  const asked = (name: string) => () => alwaysDeny.mutate?.(request(PODS, { user: { name, groups: [] } }));
  expect(asked('jane')).toThrow('pods "x" is forbidden: admission control is denying all modifications');
  expect(asked('system:apiserver')).not.toThrow();
});
