// The shapes of Crossplane's Composition and CompositeResourceDefinition: lists with keys, embedded objects of any kind,
// schemas as data, rules about what may not change.
// Guarantees: each rule is met by an object that breaks it.
import { type CustomShape, conditions, list, object, type Schema, text } from './shape.js';

const immutable = (name: string) => [{ rule: 'self == oldSelf', message: `${name} cannot change` }];
const typeRef = (more: Schema = {}) =>
  object(
    { apiVersion: text('Group and version.'), kind: text('The kind.') },
    { required: ['apiVersion', 'kind'], ...more },
  );
const keyed = (items: Schema, keys: string[], more: Schema = {}) =>
  list(items, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys, ...more });

const credentials = keyed(
  object(
    {
      name: text('By which the function knows them.', { maxLength: 63 }),
      source: text('Where they are.', { enum: ['None', 'Secret'] }),
      secretRef: object(
        { name: text('Of it.'), namespace: text('Of it.') },
        { required: ['name', 'namespace'] },
      ),
    },
    {
      required: ['name', 'source'],
      'x-kubernetes-validations': [
        { rule: "self.source != 'Secret' || has(self.secretRef)", message: 'a Secret needs its secretRef' },
      ],
    },
  ),
  ['name'],
  { maxItems: 20 },
);

const step = object(
  {
    step: text('Its name, of which there is one.', { maxLength: 63 }),
    functionRef: object({ name: text('Of the function.') }, { required: ['name'] }),
    input: {
      type: 'object',
      description: 'An object of the kind that the function takes.',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    },
    credentials,
  },
  { required: ['step', 'functionRef'] },
);

export const composition: CustomShape = {
  group: 'apiextensions.example.io',
  plural: 'compositions',
  kind: 'Composition',
  scope: 'Cluster',
  schema: object({
    spec: object(
      {
        compositeTypeRef: typeRef({ 'x-kubernetes-validations': immutable('compositeTypeRef') }),
        mode: text('How it is composed.', {
          default: 'Pipeline',
          enum: ['Pipeline', 'Resources'],
          maxLength: 9,
        }),
        pipeline: keyed(step, ['step'], { maxItems: 99 }),
        writeConnectionSecretsToNamespace: text('For secrets.'),
      },
      {
        required: ['compositeTypeRef'],
        'x-kubernetes-validations': [
          { rule: "self.mode != 'Pipeline' || has(self.pipeline)", message: 'a pipeline must be given' },
          {
            rule: '!has(self.pipeline) || size(self.pipeline) < 9',
            messageExpression: "'at most 8 steps, not ' + string(size(self.pipeline))",
            reason: 'FieldValueForbidden',
            fieldPath: '.pipeline',
          },
        ],
      },
    ),
  }),
  good: {
    spec: {
      compositeTypeRef: { apiVersion: 'db.example.io/v1', kind: 'XDatabase' },
      pipeline: [
        {
          step: 'compose',
          functionRef: { name: 'patch' },
          input: {
            apiVersion: 'pt.example.io/v1',
            kind: 'Resources',
            resources: [{ base: { deep: [null] } }],
          },
          credentials: [{ name: 'cloud', source: 'Secret', secretRef: { name: 's', namespace: 'n' } }],
        },
      ],
    },
  },
  refused: [
    {
      spec: { compositeTypeRef: { apiVersion: 'a/v1', kind: 'X' } },
      words: 'spec: Invalid value: a pipeline must be given',
    },
    {
      spec: {
        compositeTypeRef: { apiVersion: 'a/v1', kind: 'X' },
        pipeline: [{ step: 'a', functionRef: { name: 'f' }, credentials: [{ name: 'c', source: 'Secret' }] }],
      },
      words: 'spec.pipeline[0].credentials[0]: Invalid value: a Secret needs its secretRef',
    },
    {
      spec: {
        compositeTypeRef: { apiVersion: 'a/v1', kind: 'X' },
        pipeline: ['a', 'a'].map((name) => ({ step: name, functionRef: { name: 'f' } })),
      },
      words: 'spec.pipeline[1]: Duplicate value: {"step":"a"}',
    },
    {
      spec: {
        compositeTypeRef: { apiVersion: 'a/v1', kind: 'X' },
        pipeline: Array.from({ length: 9 }, (_, i) => ({ step: `s${i}`, functionRef: { name: 'f' } })),
      },
      words: 'spec.pipeline: Forbidden: at most 8 steps, not 9',
    },
    {
      spec: {
        compositeTypeRef: { apiVersion: 'a/v1', kind: 'X' },
        pipeline: [{ step: 'a', functionRef: { name: 'f' }, input: { kind: 'Resources' } }],
      },
      words: 'spec.pipeline[0].input.apiVersion: Required value',
    },
  ],
  refusedChange: {
    patch: { spec: { compositeTypeRef: { kind: 'Other' } } },
    words: 'spec.compositeTypeRef: Invalid value: compositeTypeRef cannot change',
  },
  explained: ['spec.pipeline.credentials.source', 'Where they are'],
};

const names = object(
  {
    plural: text('In paths.'),
    singular: text('In commands.'),
    kind: text('In manifests.'),
    listKind: text('Of lists.'),
    shortNames: list(text('Shorter.')),
    categories: list(text('Of commands.')),
  },
  { required: ['plural', 'kind'] },
);

export const compositeDefinition: CustomShape = {
  group: 'apiextensions.example.io',
  plural: 'compositeresourcedefinitions',
  kind: 'CompositeResourceDefinition',
  scope: 'Cluster',
  schema: object({
    spec: object(
      {
        group: text('Of the kind.', { maxLength: 253, 'x-kubernetes-validations': immutable('group') }),
        scope: text('Of its objects.', { default: 'Namespaced', enum: ['Namespaced', 'Cluster'] }),
        names: { ...names, 'x-kubernetes-validations': immutable('names') },
        claimNames: names,
        connectionSecretKeys: list(text('One of the keys.'), { 'x-kubernetes-list-type': 'set' }),
        versions: keyed(
          object(
            {
              name: text('Of the version.', {
                maxLength: 63,
                pattern: '^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$',
              }),
              served: { type: 'boolean' },
              referenceable: { type: 'boolean' },
              schema: object({
                openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              }),
            },
            { required: ['name', 'served', 'referenceable'] },
          ),
          ['name'],
          { maxItems: 16 },
        ),
      },
      {
        required: ['group', 'names', 'versions'],
        'x-kubernetes-validations': [
          {
            rule: 'self.versions.exists_one(v, v.referenceable)',
            message: 'one version must be referenceable',
          },
        ],
      },
    ),
    status: object({ conditions, controllers: object({ compositeResourceType: typeRef() }) }),
  }),
  good: {
    spec: {
      group: 'db.example.io',
      names: { plural: 'xdatabases', kind: 'XDatabase' },
      connectionSecretKeys: ['user', 'password'],
      versions: [
        {
          name: 'v1',
          served: true,
          referenceable: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } },
        },
      ],
    },
  },
  refused: [
    {
      spec: { group: 'g', names: { plural: 'x', kind: 'X' }, versions: [] },
      words: 'spec: Invalid value: one version must be referenceable',
    },
    {
      spec: {
        group: 'g',
        names: { plural: 'x' },
        versions: [{ name: 'v1', served: true, referenceable: true }],
      },
      words: 'spec.names.kind: Required value',
    },
    {
      spec: {
        group: 'g',
        names: { plural: 'x', kind: 'X' },
        connectionSecretKeys: ['a', 'a'],
        versions: [{ name: 'v1', served: true, referenceable: true }],
      },
      words: 'spec.connectionSecretKeys[1]: Duplicate value: "a"',
    },
  ],
  refusedChange: {
    patch: { spec: { group: 'other.example.io' } },
    words: 'spec.group: Invalid value: "other.example.io": group cannot change',
  },
  explained: ['spec.versions.schema', 'openAPIV3Schema'],
};
