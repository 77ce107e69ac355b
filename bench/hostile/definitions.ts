// Definitions of custom kinds, and objects of such kinds, that are meant to hold the server's thread. Pure.
// Guarantees: each body is one that the server reads; what `prepared` holds is accepted and served.
import type { V1JSONSchemaProps } from '../../src/api/gen/types.js';
import type { HostileRequest } from './corpus.js';

type Schema = V1JSONSchemaProps;

const GROUP = 'hostile.example.com';
export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface PreparedKind {
  readonly plural: string;
  readonly schema: Schema;
}

const list = <T>(count: number, part: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => part(index));
const members = (count: number, schema: (index: number) => Schema): Record<string, Schema> =>
  Object.fromEntries(list(count, (index) => [`f${index}`, schema(index)]));
const text: Schema = { type: 'string' };
const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: 'object',
  properties,
  ...more,
});
const spec = (properties: Record<string, Schema>, more: Schema = {}) =>
  object({ spec: object(properties, more) });
const nested = (levels: number, wrap: (inner: Schema) => Schema, last: Schema): Schema =>
  list(levels, () => 0).reduce(wrap, last);

export function definition(plural: string, schema: Schema): object {
  const kind = `${plural.charAt(0).toUpperCase()}${plural.slice(1)}`;
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: { group: GROUP, scope: 'Namespaced', names: { plural, kind }, versions: [version] },
  };
}

export const collectionOf = (plural: string, namespace: string): string =>
  `/apis/${GROUP}/v1/namespaces/${namespace}/${plural}`;

const rule = (source: string): { rule: string }[] => [{ rule: source }];
const withRules = (schema: Schema, ...sources: string[]): Schema => ({
  ...schema,
  'x-kubernetes-validations': sources.flatMap(rule),
});

const BOMB = '(a|b|c){0,900}';
/** What multiplies: a default for each item, with defaults below it. */
const growing = (levels: number): Schema =>
  nested(
    levels,
    (items) => ({
      type: 'object',
      properties: { l: { type: 'array', default: list(20, () => ({})), items } },
    }),
    object({ last: { type: 'string', default: 'x'.repeat(500) } }),
  );

const SCHEMAS: Readonly<Record<string, () => Schema>> = {
  '2,000 patterns': () =>
    spec(members(2000, (i) => ({ ...text, pattern: `^[a-z${i}]([-a-z0-9]*[a-z0-9])?$` }))),
  '300 patterns that repeat': () => spec(members(300, (i) => ({ ...text, pattern: `${BOMB}${i}` }))),
  'patterns of many classes': () =>
    spec(members(20, (i) => ({ ...text, pattern: `${'\\pL'.repeat(3300)}${i}` }))),
  'a pattern that is refused late': () =>
    spec({ a: { ...text, pattern: `${'(a|'.repeat(900)}b${')'.repeat(900)}` } }),
  '35,000 fields': () => spec(members(35_000, () => text)),
  '200 levels': () => spec({ a: nested(200, (a) => object({ a }), text) }),
  'defaults at 200 levels above 20,000 fields': () =>
    spec({ a: nested(200, (a) => object({ a }, { default: {} }), object(members(20_000, () => text))) }),
  'defaults that multiply': () => spec({ a: growing(20) }),
  'an enum of 100,000': () => spec({ a: { ...text, enum: list(100_000, (i) => `v${i}`) } }),
  '100,000 required fields': () =>
    spec({ a: object({ b: text }, { required: list(100_000, (i) => `v${i}`) }) }),
  '20,000 alternatives': () =>
    spec({ a: { ...text, anyOf: list(20_000, (i) => ({ pattern: `^a{${i % 50}}$` })) } }),
  'alternatives in alternatives': () =>
    spec({
      a: object(
        { b: text },
        { anyOf: [nested(150, (one) => ({ anyOf: [one, { required: ['c'] }] }), { required: ['b'] })] },
      ),
    }),
  '5,000 rules': () =>
    spec({ a: withRules(text, ...list(5000, (i) => `self.size() > ${i} || self.startsWith("a")`)) }),
  'rules at 150 levels': () =>
    spec({
      a: nested(
        150,
        (a) => withRules(object({ a, b: text }), 'self.b != "a"'),
        object(members(5000, () => text)),
      ),
    }),
  'a rule of 20,000 characters': () => spec({ a: withRules(text, list(4000, () => 'true').join('&&')) }),
  'a rule of nested loops': () => spec({ a: withRules({ type: 'array', items: text }, nestedLoops(30)) }),
};

function nestedLoops(levels: number): string {
  return list(levels, (i) => `x${i}`).reduce((body, name) => `self.all(${name}, ${body})`, 'true');
}

/** By a user who may make definitions. */
export function definitionRequests(): HostileRequest[] {
  return Object.entries(SCHEMAS).map(([name, schema], index) => ({
    name: `definition: ${name}`,
    method: 'POST',
    path: DEFINITIONS,
    type: 'application/json',
    body: () => Buffer.from(JSON.stringify(definition(`things${index}`, schema()))),
  }));
}

const TYPES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

/** Against the definitions that the requests above made: as large as the server takes. */
export function definitionPatches(): HostileRequest[] {
  const as = (name: string, type: keyof typeof TYPES, patch: unknown): HostileRequest[] => {
    const plural = `things${Object.keys(SCHEMAS).indexOf(name)}`;
    return [
      {
        name: `definition: ${type} patch of ${name}`,
        method: 'PATCH',
        path: `${DEFINITIONS}/${plural}.${GROUP}${type === 'apply' ? '?fieldManager=a&force=true' : ''}`,
        type: TYPES[type],
        body: () =>
          Buffer.from(JSON.stringify(type === 'apply' ? definition(plural, SCHEMAS[name]?.() ?? {}) : patch)),
      },
    ];
  };
  const metadata = { annotations: { a: 'b' } };
  return ['35,000 fields', '100,000 required fields', 'rules at 150 levels'].flatMap((name) => [
    ...as(name, 'json', [{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }]),
    ...as(name, 'merge', { metadata }),
    ...as(name, 'strategic', { metadata: { annotations: { a: 'c' } } }),
    ...as(name, 'apply', undefined),
  ]);
}

const alternatives = (count: number): Schema[] => list(count, (i) => ({ required: [`f${i}`] }));

/** Kinds that an administrator made and that an ordinary user writes objects of. */
export const prepared: readonly PreparedKind[] = [
  {
    plural: 'patterns',
    schema: spec(members(1000, (i) => ({ ...text, pattern: `^[a-z${i}]([-a-z0-9]*[a-z0-9])?$` }))),
  },
  { plural: 'bombs', schema: spec(members(100, (i) => ({ ...text, pattern: `${BOMB}${i}` }))) },
  {
    plural: 'choices',
    schema: spec({ l: { type: 'array', items: object({ a: text }, { anyOf: alternatives(1000) }) } }),
  },
  {
    plural: 'demands',
    schema: spec({
      l: { type: 'array', items: object({ a: text }, { required: list(10_000, (i) => `f${i}`) }) },
    }),
  },
  { plural: 'records', schema: spec(members(35_000, () => text)) },
  { plural: 'growths', schema: spec({ a: growing(8) }) },
  {
    plural: 'fillings',
    schema: spec({ l: { type: 'array', items: object({ a: { ...text, default: 'x'.repeat(100_000) } }) } }),
  },
  {
    plural: 'rulings',
    schema: spec(
      {
        l: withRules(
          { type: 'array', maxItems: 700, items: { ...text, maxLength: 20 } },
          'self.all(x, self.exists(y, y == x) || self.size() > 0)',
        ),
        m: { ...text, maxLength: 100_000 },
        p: { ...text, maxLength: 60 },
      },
      { 'x-kubernetes-validations': rule('!has(self.m) || !has(self.p) || self.m.matches(self.p) || true') },
    ),
  },
];

/** By a user who may write objects of these kinds. */
export function instanceRequests(namespace: string): HostileRequest[] {
  const as = (plural: string, name: string, specOf: () => object): HostileRequest => ({
    name: `custom object: ${name}`,
    method: 'POST',
    path: collectionOf(plural, namespace),
    type: 'application/json',
    body: () => {
      const kind = `${plural.charAt(0).toUpperCase()}${plural.slice(1)}`;
      const head = { apiVersion: `${GROUP}/v1`, kind, metadata: { generateName: 'hostile-' } };
      return Buffer.from(JSON.stringify({ ...head, spec: specOf() }));
    },
  });
  const fields = (count: number, value: string) =>
    Object.fromEntries(list(count, (index) => [`f${index}`, value]));
  return [
    as('patterns', 'a first value for each of 1,000 patterns', () => fields(1000, 'abc')),
    as('patterns', 'the same again', () => fields(1000, 'abc')),
    as('patterns', 'a long text for each of 100 patterns', () => fields(100, `${'a-'.repeat(10_000)}a`)),
    as('bombs', 'a text for each of 100 patterns that repeat', () => fields(100, 'abc'.repeat(300))),
    as('bombs', 'a long text and a pattern that repeats', () => fields(1, 'abcx'.repeat(500_000))),
    as('choices', '7,000 items and 1,000 alternatives', () => ({ l: list(7000, () => ({ a: 'b' })) })),
    as('demands', '7,000 items and 10,000 required fields', () => ({ l: list(7000, () => ({})) })),
    as('records', 'a first value for one of 35,000 fields', () => fields(1, 'a')),
    as('records', '30,000 fields', () => fields(30_000, 'a')),
    as('growths', 'defaults that multiply', () => ({ a: {} })),
    as('fillings', '10,000 items and a default of 100 KB', () => ({ l: list(10_000, () => ({})) })),
    as('rulings', '700 items, each compared with each', () => ({ l: list(700, (i) => `v${i}`) })),
    as('rulings', 'a pattern of the object itself that repeats', () => ({
      m: 'ab'.repeat(50_000),
      p: '(a|b|ab|ba){0,900}(a|b|ab|ba){0,900}x',
    })),
    as('rulings', 'a pattern of the object itself that is slow', () => ({
      m: 'a'.repeat(100_000),
      p: '(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*b',
    })),
  ];
}
