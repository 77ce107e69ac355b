// Plugins that look a class up, and those that look at nothing else: each as a table.
import { describe, expect, test } from 'vitest';
import {
  INGRESSES,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  PRIORITY_CLASSES,
  type ResourceType,
} from '../../../../src/api/resources.js';
import { alwaysDeny, alwaysPullImages } from '../../../../src/apiserver/admission/always.js';
import {
  makeDefaultIngressClass,
  makeDefaultStorageClass,
} from '../../../../src/apiserver/admission/defaultClass.js';
import { makePriority } from '../../../../src/apiserver/admission/priority.js';
import { makeRuntimeClass } from '../../../../src/apiserver/admission/runtimeClass.js';
import { storageObjectInUseProtection } from '../../../../src/apiserver/admission/storageObjectInUseProtection.js';
import type { AdmissionPlugin } from '../../../../src/apiserver/admission.js';
import { admissionRequest } from '../../../support/admissionRequest.js';

async function through<T>(plugin: AdmissionPlugin, type: ResourceType, object: T, changes = {}): Promise<T> {
  const request = admissionRequest({ type, object, ...changes });
  await plugin.mutate?.(request);
  await plugin.validate?.(request);
  return object;
}
const marked = (name: string, mark: string, created: string) =>
  ({ metadata: { name, annotations: { [mark]: 'true' }, creationTimestamp: created } }) as never;

describe('DefaultStorageClass', () => {
  const mark = 'storageclass.kubernetes.io/is-default-class';
  const plugin = makeDefaultStorageClass({
    storageClasses: () => [
      marked('old', mark, '2020-01-01T00:00:00Z'),
      marked('new', mark, '2021-01-01T00:00:00Z'),
    ],
  });
  test.each([
    ['a claim without a class gets the newest', {}, 'new'],
    ['an empty name is kept', { storageClassName: '' }, ''],
    ['a name is kept', { storageClassName: 'own' }, 'own'],
  ])('%s', async (_, spec, expected) => {
    const claim = await through(plugin, PERSISTENT_VOLUME_CLAIMS, {
      spec: spec as { storageClassName?: string },
    });
    expect(claim.spec.storageClassName).toBe(expected);
  });
});

describe('DefaultIngressClass', () => {
  const mark = 'ingressclass.kubernetes.io/is-default-class';
  const classes = (...names: string[]) =>
    makeDefaultIngressClass({
      ingressClasses: () => names.map((name) => marked(name, mark, '2020-01-01T00:00:00Z')),
    });
  test('gives the only default', async () => {
    expect(await through(classes('a'), INGRESSES, { spec: {} })).toEqual({ spec: { ingressClassName: 'a' } });
  });
  test('refuses to choose', async () => {
    await expect(through(classes('a', 'b'), INGRESSES, { spec: {} })).rejects.toThrow(
      'ingresses.networking.k8s.io "x" is forbidden: 2 default IngressClasses were found, only 1 allowed',
    );
  });
  test('leaves what names one', async () => {
    const ingress = { spec: { ingressClassName: 'own' } };
    expect(await through(classes('a'), INGRESSES, ingress)).toEqual({ spec: { ingressClassName: 'own' } });
  });
});

describe('RuntimeClass', () => {
  const plugin = makeRuntimeClass({
    runtimeClass: async ({ name }) =>
      name === 'kata'
        ? ({
            metadata: { name },
            overhead: { podFixed: { cpu: '250m' } },
            scheduling: { nodeSelector: { kata: 'yes' }, tolerations: [{ key: 'kata', operator: 'Exists' }] },
          } as never)
        : undefined,
  });
  const pod = (spec: object) => ({ spec: { containers: [], ...spec } as Record<string, unknown> });
  test('adds overhead and scheduling', async () => {
    const { spec } = await through(plugin, PODS, pod({ runtimeClassName: 'kata', nodeSelector: { a: 'b' } }));
    expect(spec).toMatchObject({
      overhead: { cpu: '250m' },
      nodeSelector: { a: 'b', kata: 'yes' },
      tolerations: [{ key: 'kata', operator: 'Exists' }],
    });
  });
  test.each([
    ['a class that is not there', { runtimeClassName: 'x' }, /RuntimeClass "x" not found/],
    ['overhead without a class', { overhead: { cpu: '1' } }, /Pod Overhead set without/],
    ['another overhead', { runtimeClassName: 'kata', overhead: { cpu: '1' } }, /doesn't match RuntimeClass/],
    ['another selector', { runtimeClassName: 'kata', nodeSelector: { kata: 'no' } }, /conflict/],
  ])('refuses %s', async (_, spec, message) => {
    await expect(through(plugin, PODS, pod(spec))).rejects.toThrow(message);
  });
});

describe('Priority', () => {
  const classes = [
    { metadata: { name: 'base' }, value: 10, globalDefault: true, preemptionPolicy: 'Never' },
    { metadata: { name: 'high' }, value: 1000 },
  ];
  const plugin = makePriority({
    priorityClass: async ({ name }) => classes.find(({ metadata }) => metadata.name === name) as never,
    priorityClasses: () => classes as never,
  });
  test.each([
    [
      'no name takes the global default',
      {},
      { priorityClassName: 'base', priority: 10, preemptionPolicy: 'Never' },
    ],
    ['a name', { priorityClassName: 'high' }, { priority: 1000, preemptionPolicy: 'PreemptLowerPriority' }],
    ['a built-in name', { priorityClassName: 'system-node-critical' }, { priority: 2_000_001_000 }],
  ])('%s', async (_, spec, expected) => {
    expect((await through(plugin, PODS, { spec })).spec).toMatchObject(expected);
  });
  test('takes the lowest of several global defaults', async () => {
    const lower = { metadata: { name: 'lower' }, value: 5, globalDefault: true };
    const several = makePriority({
      priorityClass: async () => lower as never,
      priorityClasses: () => [...classes, lower, { ...lower, value: 7 }] as never,
    });
    expect((await through(several, PODS, { spec: {} })).spec).toMatchObject({ priority: 5 });
  });
  test('refuses a second global default', async () => {
    await expect(through(plugin, PRIORITY_CLASSES, { value: 1, globalDefault: true })).rejects.toThrow(
      'PriorityClass base is already marked as default. Only one default can exist',
    );
  });
});

describe('the plain ones', () => {
  test('AlwaysPullImages', async () => {
    const pod = { spec: { containers: [{ name: 'c', image: 'a', imagePullPolicy: 'Never' }] } };
    expect((await through(alwaysPullImages, PODS, pod)).spec.containers[0]?.imagePullPolicy).toBe('Always');
  });
  test('AlwaysDeny', async () => {
    await expect(through(alwaysDeny, PODS, {})).rejects.toMatchObject({ code: 403 });
  });
  test('StorageObjectInUseProtection', async () => {
    expect(await through(storageObjectInUseProtection, PERSISTENT_VOLUME_CLAIMS, { metadata: {} })).toEqual({
      metadata: { finalizers: ['kubernetes.io/pvc-protection'] },
    });
  });
});
