// The stock JavaScript client on custom resources: by object, by group and plural, and by an informer.
import {
  CustomObjectsApi,
  type KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type CustomServer,
  definition,
  GROUP,
  specOf,
  startCustomServer,
  WIDGETS,
} from '../../support/customResources.js';
import { kubeConfigOf } from '../../support/kubeConfig.js';
import { until } from '../../support/until.js';

interface Widget {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace: string; resourceVersion?: string; generation?: number };
  spec: { size?: number; color?: string };
}

const place = { group: GROUP, version: 'v1', namespace: 'default', plural: 'widgets' };
const widgetOf = (name: string, spec: Widget['spec']): Widget => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'Widget',
  metadata: { name, namespace: 'default' },
  spec,
});

describe('@kubernetes/client-node and custom resources', () => {
  let server: CustomServer;
  let config: KubeConfig;
  let custom: CustomObjectsApi;
  beforeAll(async () => {
    server = await startCustomServer();
    config = kubeConfigOf(server.api);
    custom = config.makeApiClient(CustomObjectsApi);
    const schema = specOf({
      size: { type: 'integer', minimum: 0 },
      color: { type: 'string', default: 'blue' },
    });
    // Not by the client: its own type calls the field `_default`, and leaves one called `default` out.
    expect((await server.define({ schema })).status).toBe(201);
  });
  afterAll(() => server?.close());

  test('objects are made, read, patched, replaced, listed and deleted by what they say they are', async () => {
    const objects = KubernetesObjectApi.makeApiClient(config);
    const made = (await objects.create(widgetOf('by-object', { size: 1 }))) as Widget;
    expect(made.spec).toEqual({ size: 1, color: 'blue' });
    const patched = (await objects.patch(
      widgetOf('by-object', { size: 2 }),
      undefined,
      undefined,
      undefined,
      undefined,
      PatchStrategy.MergePatch,
    )) as Widget;
    expect([patched.spec, patched.metadata.generation]).toEqual([{ size: 2, color: 'blue' }, 2]);
    const applied = (await objects.patch(
      widgetOf('applied', { size: 3 }),
      undefined,
      undefined,
      'node',
      true,
      PatchStrategy.ServerSideApply,
    )) as Widget;
    expect(applied.spec).toEqual({ size: 3, color: 'blue' });
    const replaced = (await objects.replace({ ...patched, spec: { color: 'red' } })) as Widget;
    expect(replaced.spec).toEqual({ color: 'red' });
    await expect(objects.replace({ ...patched, spec: { color: 'green' } })).rejects.toMatchObject({
      code: 409,
    });
    const { items } = await objects.list(`${GROUP}/v1`, 'Widget', 'default');
    expect(items.map(({ metadata }) => metadata?.name).sort()).toEqual(['applied', 'by-object']);
    await objects.delete(widgetOf('by-object', {}));
    await expect(
      objects.read({ ...widgetOf('by-object', {}), metadata: { name: 'by-object', namespace: 'default' } }),
    ).rejects.toMatchObject({ code: 404 });
  });

  test('objects are made, patched, refused and deleted by group and plural', async () => {
    await custom.createNamespacedCustomObject({ ...place, body: widgetOf('by-plural', { size: 1 }) });
    const patch = [{ op: 'replace', path: '/spec/size', value: 9 }];
    const type = setHeaderOptions('Content-Type', PatchStrategy.JsonPatch);
    const patched = await custom.patchNamespacedCustomObject(
      { ...place, name: 'by-plural', body: patch },
      type,
    );
    expect((patched as Widget).spec.size).toBe(9);
    await expect(
      custom.createNamespacedCustomObject({ ...place, body: widgetOf('bad', { size: -1 }) }),
    ).rejects.toMatchObject({ code: 422 });
    const listed = await custom.listNamespacedCustomObject({
      ...place,
      fieldSelector: 'metadata.name=by-plural',
    });
    expect((listed as { items: Widget[] }).items.map(({ spec }) => spec.size)).toEqual([9]);
    await custom.deleteNamespacedCustomObject({ ...place, name: 'by-plural' });
    await expect(custom.getNamespacedCustomObject({ ...place, name: 'by-plural' })).rejects.toMatchObject({
      code: 404,
    });
  });

  test('an informer follows them, over a change of their definition too', async () => {
    const held = new Map<string, number | undefined>();
    const informer = makeInformer<Widget>(
      config,
      WIDGETS,
      async () => (await custom.listNamespacedCustomObject(place)) as never,
    );
    for (const event of ['add', 'update'] as const)
      informer.on(event, ({ metadata, spec }) => held.set(metadata.name, spec.size));
    informer.on('delete', ({ metadata }) => held.delete(metadata.name));
    // The watch ends with the definition's change: the informer is to begin again, as programs do.
    informer.on('error', () => void informer.start());
    await informer.start();
    const make = (name: string, size: number) =>
      custom.createNamespacedCustomObject({ ...place, body: widgetOf(name, { size }) });
    await make('before', 1);
    await until(() => expect(held.get('before')).toBe(1));
    const schema = specOf({ size: { type: 'integer' }, color: { type: 'string' }, more: { type: 'string' } });
    const [version] = definition({ schema }).spec.versions;
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${GROUP}`;
    const changed = await server.send(
      'PATCH',
      path,
      { spec: { versions: [version] } },
      { 'content-type': 'application/merge-patch+json' },
    );
    expect(changed.status).toBe(200);
    await make('after', 2);
    await custom.deleteNamespacedCustomObject({ ...place, name: 'before' });
    await until(() => expect([held.get('after'), held.has('before')]).toEqual([2, false]));
    await informer.stop();
  });
});
