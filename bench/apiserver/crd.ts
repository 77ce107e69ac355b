// Custom objects beside ConfigMaps of the same size, and what definitions cost: time until served, memory, validation.
// Guarantees: both kinds are measured in turns on one server, by the same lean client.

import type { V1CustomResourceDefinition } from '../../src/api/gen/types.js';
import { customKinds } from '../../src/api/structural/customKind.js';
import type { JsonSchema } from '../../src/api/structural/schema.js';
import { provideSchemaRules } from '../../src/api/structural/schemaRules.js';
import { checkRules } from '../../src/cel/rules/checkRules.js';
import { makeValidator } from '../../src/cel/rules/validator.js';
import { inTurns } from '../lib/compare.js';
import { againstLimit, againstPeer, type Figure, worstAgainstLimit } from '../lib/figure.js';
import { runsOf, scaled } from '../lib/options.js';
import { MB } from '../lib/process.js';
import { readyApiServer } from './ready.js';
import { makePlace } from './testbed.js';
import { drive, get, post, type Wire } from './wire.js';

const RUNS = 5;
const COUNT = scaled(2_000);
const GETS = scaled(8_000);
const LISTED = scaled(5_000);
const FIELDS = 50;
const LARGE_FIELDS = 500;
const OTHERS = scaled(500);
const MOST_DEFINITIONS = scaled(1_000);
const GROUP = 'bench.example.com';
const WIDGETS = `/apis/${GROUP}/v1/namespaces/default/widgets`;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export async function crd(): Promise<Figure[]> {
  const place = await makePlace();
  try {
    const { server, wires } = await readyApiServer(place);
    const [wire] = wires as [Wire];
    await define(wire, 'widgets', 'Widget', schemaOf(FIELDS));
    let round = 0;
    const creates = await inTurns(
      runsOf(RUNS),
      () => create(wires, WIDGETS, widget, `c${round++}`, COUNT),
      () => create(wires, CONFIG_MAPS, configMap, `c${round++}`, COUNT),
    );
    const gets = await inTurns(
      runsOf(RUNS),
      () => drive(wires, GETS, () => get(`${WIDGETS}/c0-7`)),
      () => drive(wires, GETS, () => get(`${CONFIG_MAPS}/c1-7`)),
    );
    const have = runsOf(RUNS) * COUNT;
    if (have < LISTED) {
      await create(wires, WIDGETS, widget, 'l', LISTED - have);
      await create(wires, CONFIG_MAPS, configMap, 'l', LISTED - have);
    }
    const lists = await inTurns(
      runsOf(RUNS),
      async () => (await drive([wire], 1, () => get(`${WIDGETS}?limit=${LISTED}`))) / 1000,
      async () => (await drive([wire], 1, () => get(`${CONFIG_MAPS}?limit=${LISTED}`))) / 1000,
    );
    const before = await server.memory({ collect: true });
    for (let i = 0; i < OTHERS; i += 1)
      await define(wire, `others${i}`, `Other${i}`, schemaOf(FIELDS), false);
    const served: number[] = [];
    for (let i = 0; i < 10; i += 1)
      served.push(await define(wire, `timed${i}`, `Timed${i}`, schemaOf(FIELDS)));
    for (let i = OTHERS; i < MOST_DEFINITIONS; i += 1)
      await define(wire, `others${i}`, `Other${i}`, schemaOf(FIELDS), i === MOST_DEFINITIONS - 1);
    const after = await server.memory({ collect: true });
    for (const one of wires) one.close();
    const beside = (
      name: string,
      unit: string,
      [ours, peers]: readonly [readonly number[], readonly number[]],
      most: number,
    ) => againstPeer({ name, unit, samples: ours, peer: 'ConfigMaps', peerSamples: peers }, most);
    return [
      beside('create a custom object', 'µs', creates, 1 / 0.8),
      beside('GET a custom object', 'µs', gets, 1 / 0.8),
      beside(`LIST ${LISTED} custom objects`, 'ms', lists, 1),
      worstAgainstLimit(
        { name: `a definition is served, with ${OTHERS} others`, unit: 'ms', samples: served },
        300,
      ),
      againstLimit(
        { name: `${MOST_DEFINITIONS} definitions`, unit: 'MB', samples: [(after.rss - before.rss) / MB] },
        100,
      ),
      againstLimit(
        { name: 'validate 100 KB by 500 fields and 5 rules', unit: 'ms', samples: validations() },
        5,
      ),
    ];
  } finally {
    await place.clean();
  }
}

function schemaOf(fields: number): JsonSchema {
  const properties = Object.fromEntries(
    Array.from({ length: fields }, (_, i): [string, JsonSchema] => [
      `field${i}`,
      i % 3 === 0
        ? { type: 'string', maxLength: 64, pattern: '^[a-z0-9 ]*$', description: 'A text of some length.' }
        : i % 3 === 1
          ? { type: 'integer', minimum: 0, description: 'A number.' }
          : {
              type: 'array',
              maxItems: 100,
              items: { type: 'string', maxLength: 64 },
              description: 'Some texts.',
            },
    ]),
  );
  const spec: JsonSchema = {
    type: 'object',
    properties,
    'x-kubernetes-validations': RULES.map((rule) => ({ rule })),
  };
  return { type: 'object', properties: { spec } };
}

/** A comparison, a comparison of two fields, a text, a length, and a look at each item. */
const RULES = [
  '!has(self.field1) || self.field1 < 1000000',
  '!has(self.field1) || !has(self.field4) || self.field1 <= self.field4',
  "!has(self.field0) || self.field0.startsWith('value')",
  '!has(self.field2) || self.field2.size() <= 90',
  '!has(self.field5) || self.field5.all(text, text.size() < 60)',
];

const fieldValue = (i: number) => (i % 3 === 0 ? `value ${i}` : i % 3 === 1 ? i : [`one ${i}`, `two ${i}`]);
const specOf = (fields: number) =>
  Object.fromEntries(Array.from({ length: fields }, (_, i) => [`field${i}`, fieldValue(i)]));

const widget = (name: string) =>
  Buffer.from(
    JSON.stringify({ apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata: { name }, spec: specOf(FIELDS) }),
  );

/** As many fields, and as many bytes. */
const configMap = (name: string) =>
  Buffer.from(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      data: Object.fromEntries(
        Object.entries(specOf(FIELDS)).map(([key, value]) => [key, JSON.stringify(value)]),
      ),
    }),
  );

function create(
  wires: readonly Wire[],
  path: string,
  body: (name: string) => Buffer,
  prefix: string,
  count: number,
): Promise<number> {
  const requests = Array.from({ length: count }, (_, i) => post(path, body(`${prefix}-${i}`)));
  return drive(wires, count, (i) => requests[i] as Buffer, 201);
}

const definitionOf = (plural: string, kind: string, schema: JsonSchema): V1CustomResourceDefinition => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural, kind },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
});

/** Milliseconds from the answer to the create until its objects can be listed. */
async function define(
  wire: Wire,
  plural: string,
  kind: string,
  schema: JsonSchema,
  isAwaited = true,
): Promise<number> {
  const body = Buffer.from(JSON.stringify(definitionOf(plural, kind, schema)));
  const { status } = await wire.ask(post(DEFINITIONS, body));
  if (status !== 201) throw new Error(`a definition was answered with ${status}`);
  const start = performance.now();
  while (isAwaited && (await wire.ask(get(`/apis/${GROUP}/v1/${plural}`))).status !== 200);
  return performance.now() - start;
}

/** All that a write checks of an object, rules too. */
function validations(): number[] {
  provideSchemaRules({ check: checkRules, compile: makeValidator });
  const kind = customKinds(definitionOf('large', 'Large', schemaOf(LARGE_FIELDS)), { since: 0 }).kinds.get(
    'v1',
  );
  const spec = specOf(LARGE_FIELDS) as Record<string, unknown>;
  for (let i = 2; i < LARGE_FIELDS; i += 3)
    spec[`field${i}`] = Array.from({ length: 45 }, (_, at) => `text ${at}`);
  const object = { apiVersion: `${GROUP}/v1`, kind: 'Large', metadata: { name: 'large' }, spec };
  const validate = () => {
    const start = performance.now();
    if ((kind?.validate?.(object as never, undefined) ?? ['nothing']).length > 0)
      throw new Error('the object is not valid');
    return performance.now() - start;
  };
  for (let i = 0; i < 20; i += 1) validate();
  return Array.from({ length: 20 }, validate);
}
