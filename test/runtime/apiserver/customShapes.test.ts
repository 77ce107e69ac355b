// Definitions of the shapes of Cilium, multus and Crossplane, through the life of each, by the stock kubectl.
import { expect, test } from 'vitest';
import { customServerWithKubectl } from '../../support/customKubectl.js';
import { DEFINITIONS, definition } from '../../support/customResources.js';
import { networkPolicy } from '../../support/customShapes/cilium.js';
import { compositeDefinition, composition } from '../../support/customShapes/crossplane.js';
import { networkAttachment } from '../../support/customShapes/multus.js';
import type { CustomShape } from '../../support/customShapes/shape.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

const APPLY_ALL = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
const MERGE = { 'content-type': 'application/merge-patch+json' };
const shapes = [networkPolicy, networkAttachment, composition, compositeDefinition];

/** The next release: another stored version, with one field more. */
function upgraded({ schema, version, ...shape }: CustomShape) {
  const { spec, ...others } = schema.properties ?? {};
  const more = { ...spec, properties: { ...spec?.properties, note: { type: 'string' } } };
  const newer = { ...schema, properties: { ...others, spec: more } };
  return definition({
    ...shape,
    versions: [
      { name: 'v1', schema: { openAPIV3Schema: schema }, ...version },
      { name: 'v2', storage: true, schema: { openAPIV3Schema: newer as never }, ...version },
    ],
  });
}

describeWith({ tools: ['kubectl'] }, 'kubectl and the definitions of', () => {
  const opened = customServerWithKubectl();

  test.each(shapes.map((shape) => [shape.kind, shape] as const))('%s', async (_, shape) => {
    const { server, kubectl } = opened();
    const { group, plural, kind, scope } = shape;
    const resource = `${plural}.${group}`;
    const folder = `/apis/${group}/v1${scope === 'Cluster' ? '' : '/namespaces/default'}/${plural}`;
    const objectOf = (name: string, more: object, version = 'v1') => {
      const namespace = scope === 'Cluster' ? {} : { namespace: 'default' };
      return JSON.stringify({
        apiVersion: `${group}/${version}`,
        kind,
        metadata: { name, ...namespace },
        ...more,
      });
    };
    const done = async (input: string, ...words: string[]) => {
      const { code, stderr } = await kubectl.input(input, ...words);
      expect(stderr).toBe('');
      expect(code).toBe(0);
    };

    // Not by a plain apply: what it notes in an annotation may be too large, as with the projects' own.
    await done(JSON.stringify(definition(shape)), ...APPLY_ALL);
    await kubectl('wait', '--for=condition=Established', `crd/${resource}`);
    await until(() => done(objectOf('one', shape.good), 'create', '--dry-run=server', '-f', '-'));
    await done(objectOf('one', shape.good), 'apply', '-f', '-');
    await done(objectOf('one', shape.good), ...APPLY_ALL);
    expect((await server.send('GET', `${folder}/one`)).body).toMatchObject(shape.good);

    for (const { spec, words } of shape.refused) {
      const refused = await server.send('POST', folder, objectOf('bad', { spec }));
      expect(refused.status).toBe(422);
      expect(refused.body.message).toContain(words);
    }
    if (shape.refusedChange !== undefined) {
      const { patch, words } = shape.refusedChange;
      const refused = await server.send('PATCH', `${folder}/one`, patch, MERGE);
      expect(refused.body.message).toContain(words);
    }
    const [field, said] = shape.explained;
    expect((await kubectl('explain', `${plural}.${field}`, `--api-version=${group}/v1`)).stdout).toContain(
      said,
    );

    await done(JSON.stringify(upgraded(shape)), ...APPLY_ALL);
    await until(() => done(objectOf('two', shape.good, 'v2'), 'create', '-f', '-'));
    await done(objectOf('one', { spec: { note: 'newer' } }, 'v2'), ...APPLY_ALL, '--field-manager=another');
    for (const version of ['v1', 'v2']) {
      const { body } = await server.send('GET', folder.replace('/v1', `/${version}`));
      expect(body.items).toHaveLength(2);
      for (const item of body.items) expect(item).toMatchObject(shape.good);
    }
    const { body } = await server.send('GET', `${DEFINITIONS}/${resource}`);
    expect(body.status.storedVersions).toEqual(['v1', 'v2']);
    expect(await kubectl('delete', 'crd', resource, '--timeout=30s')).toMatchObject({ code: 0 });
  });

  test('a policy whose definition has hundreds of kilobytes', () => {
    expect(JSON.stringify(definition(networkPolicy)).length).toBeGreaterThan(200_000);
  });
});
