// The OpenAPI documents of all kinds: whole, consistent between versions, and with the texts that explain prints.
import { describe, expect, test } from 'vitest';
import { descriptions } from '../../../../src/api/gen/descriptions.js';
import { schemas } from '../../../../src/api/gen/schemas.js';
import { KINDS } from '../../../../src/api/kinds/index.js';
import { enumFields } from '../../../../src/apiserver/discovery/enums.js';
import { modelNames } from '../../../../src/apiserver/discovery/modelNames.js';
import { openApiDocument, openApiIndex } from '../../../../src/apiserver/discovery/openapi.js';
import { openApiV2, openApiV2Protobuf } from '../../../../src/apiserver/discovery/openapiV2.js';
import { bytesOf, wireFields } from '../../../../src/apiserver/protobuf/wire.js';

const options = { kinds: KINDS, version: 'v1.36.0', descriptions };
const v2 = openApiV2(options);
const paths = Object.keys((openApiIndex(KINDS) as { paths: object }).paths);
const refsIn = (document: object) =>
  [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]*)"/g)].map(([, ref = '']) => ref);

interface V3Schema {
  readonly properties: Record<string, object>;
}

interface V3 {
  readonly components: { readonly schemas: Readonly<Record<string, V3Schema>> };
}

/** 65 of them, from SIGABRT to SIGXFSZ. */
const isOfSignals = (names: readonly string[]) =>
  names.length === 65 && names[0] === 'SIGABRT' && names[64] === 'SIGXFSZ' && names.includes('SIGRTMAX-14');

describe('OpenAPI', () => {
  test.each(paths)('every reference in %s leads somewhere', (path) => {
    const document = openApiDocument(options, path) as V3;
    const known = new Set(
      Object.keys(document.components.schemas).map((name) => `components/schemas/${name}`),
    );
    expect(refsIn(document).filter((ref) => !known.has(ref))).toEqual([]);
  });

  test('every reference in v2 leads somewhere', () => {
    const known = new Set(Object.keys(v2.definitions).map((name) => `definitions/${name}`));
    expect(refsIn(v2).filter((ref) => !known.has(ref))).toEqual([]);
  });

  test('no two models share a name', () => {
    const names = [...modelNames(KINDS).values()];
    expect(new Set(names).size).toBe(names.length);
  });

  test('names, texts and merge keys are those of Kubernetes', () => {
    const { components } = openApiDocument(options, 'api/v1') as V3;
    const spec = components.schemas['io.k8s.api.core.v1.PodSpec'];
    expect(spec?.properties['containers']).toMatchObject({
      description: expect.stringMatching(/^List of containers belonging to the pod\./),
      type: 'array',
      items: { allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.Container' }] },
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-patch-merge-key': 'name',
      'x-kubernetes-patch-strategy': 'merge',
    });
    expect(components.schemas['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta']).toBeDefined();
  });

  test('what a schema of a definition holds as a value may be of any type', () => {
    const name = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps';
    const { components } = openApiDocument(options, 'apis/apiextensions.k8s.io/v1') as V3;
    for (const { properties } of [v2.definitions[name], components.schemas[name]] as V3Schema[]) {
      expect(properties['default']).not.toHaveProperty('type');
      expect(properties['enum']).toMatchObject({ type: 'array', items: {} });
      expect(properties['items']).not.toHaveProperty('type');
      expect(properties['maxItems']).toHaveProperty('type', 'integer');
    }
  });

  test('fields with few values tell them, in both versions', () => {
    const { components } = openApiDocument(options, 'api/v1') as V3;
    const field = (model: string, name: string) =>
      components.schemas[`io.k8s.api.core.v1.${model}`]?.properties[name];
    expect(field('PodSpec', 'restartPolicy')).toMatchObject({
      type: 'string',
      enum: ['Always', 'Never', 'OnFailure'],
    });
    expect(field('PersistentVolumeClaimSpec', 'accessModes')).toMatchObject({
      items: { enum: ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'] },
    });
    expect(field('Lifecycle', 'stopSignal')).toMatchObject({ enum: expect.toSatisfy(isOfSignals) });
    expect(v2.definitions['io.k8s.api.core.v1.ContainerPort']).toMatchObject({
      properties: { protocol: { enum: ['SCTP', 'TCP', 'UDP'] } },
    });
    expect(openApiV2Protobuf(v2).includes('PreferDualStack')).toBe(true);
  });

  test('every field that is said to have few values is one of the schemas, and a text', () => {
    const codes = enumFields.map((field) => {
      const [model = '', name = ''] = field.split('.');
      return schemas[model]?.[name]?.replace(/^!?(\[\]|\{\})?/, '');
    });
    expect(new Set(codes)).toEqual(new Set(['s']));
  });

  test('there is no document for a group that is not served', () => {
    expect(openApiDocument(options, 'apis/nobody.example/v1')).toBeUndefined();
  });

  test('the protobuf form holds every definition and every path', () => {
    const counts = new Map<number, number>();
    for (const { number, value } of wireFields(openApiV2Protobuf(v2))) {
      if (number === 8 || number === 9) counts.set(number, [...wireFields(bytesOf(value))].length);
    }
    expect(counts.get(9)).toBe(Object.keys(v2.definitions).length);
    expect(counts.get(8)).toBe(KINDS.length);
  });
});
