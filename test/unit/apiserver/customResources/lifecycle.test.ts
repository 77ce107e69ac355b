import { expect, test } from 'vitest';
import type { V1JSONSchemaProps } from '../../../../src/api/gen/types.js';
import {
  DEFINITIONS,
  definition,
  GROUP,
  OPEN,
  specOf,
  startCustomServer,
  untilTrue,
  WIDGETS,
  widget,
} from '../../../support/customResources.js';
import { perTest } from '../../../support/perTest.js';

const server = perTest(() => startCustomServer());

test('a definition is established and its objects live as any other', async () => {
  const { send, define } = server;
  expect((await define()).status).toBe(201);
  const { body: held } = await send('GET', `${DEFINITIONS}/widgets.${GROUP}`);
  expect(held.status.acceptedNames).toMatchObject({
    plural: 'widgets',
    singular: 'widget',
    listKind: 'WidgetList',
  });
  expect(held.status.storedVersions).toEqual(['v1']);
  expect(
    held.status.conditions.map((one: { type: string; status: string }) => [one.type, one.status]),
  ).toEqual([
    ['NamesAccepted', 'True'],
    ['Established', 'True'],
  ]);

  const made = await send('POST', WIDGETS, widget('one', { spec: { size: 1, color: 'red' } }));
  expect(made.status).toBe(201);
  expect(made.body.spec).toEqual({ size: 1 });
  expect(made.body.metadata.generation).toBe(1);
  expect(made.headers['warning']).toContain('unknown field \\"spec.color\\"');
  const merged = await send(
    'PATCH',
    `${WIDGETS}/one`,
    { spec: { size: 2 } },
    { 'content-type': 'application/merge-patch+json' },
  );
  expect(merged.body.spec).toEqual({ size: 2 });
  expect(merged.body.metadata.generation).toBe(2);
  const strategic = await send(
    'PATCH',
    `${WIDGETS}/one`,
    {},
    { 'content-type': 'application/strategic-merge-patch+json' },
  );
  expect(strategic.status).toBe(415);
  const put = await send('PUT', `${WIDGETS}/one`, { ...merged.body, spec: { size: 3 } });
  expect(put.body.spec).toEqual({ size: 3 });
  const list = await send('GET', `/apis/${GROUP}/v1/widgets`);
  expect(list.body).toMatchObject({ kind: 'WidgetList', apiVersion: `${GROUP}/v1` });
  expect(list.body.items).toHaveLength(1);
  expect((await send('DELETE', `${WIDGETS}/one`)).status).toBe(200);
  expect((await send('GET', `${WIDGETS}/one`)).status).toBe(404);
});

test('a value that the schema does not allow is refused in its words', async () => {
  const { send, define } = server;
  await define();
  const refused = await send('POST', WIDGETS, widget('one', { spec: { size: 'x' } }));
  expect(refused.status).toBe(422);
  expect(refused.body.message).toBe(
    'Widget.example.com "one" is invalid: spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
  );
});

test.each(['9007199254740993', '9223372036854775807', '1e400'])(
  'a number that cannot be kept exactly is refused, however it is sent: %s',
  async (number) => {
    const { send, define } = server;
    await define({ schema: OPEN });
    const text = (value: string) =>
      `{"apiVersion":"${GROUP}/v1","kind":"Widget","metadata":{"name":"one"},"spec":{"big":${value}}}`;
    const as = (type: string) => ({ 'content-type': type });
    const refusals = [
      await send('POST', WIDGETS, text(number)),
      await send('POST', WIDGETS, `kind: Widget\nspec: {big: ${number}}`, as('application/yaml')),
    ];
    const exact = '1000000000000000000';
    const made = await send('POST', WIDGETS, text(exact));
    expect([made.status, made.body.spec]).toEqual([201, { big: Number(exact) }]);
    const held = made.body.metadata.resourceVersion;
    const put = text(number).replace('"one"', `"one","resourceVersion":"${held}"`);
    const one = `${WIDGETS}/one`;
    refusals.push(
      await send('PUT', one, put),
      await send('PATCH', one, `{"spec":{"big":${number}}}`, as('application/merge-patch+json')),
      await send(
        'PATCH',
        one,
        `[{"op":"add","path":"/spec/big","value":${number}}]`,
        as('application/json-patch+json'),
      ),
      await send(
        'PATCH',
        `${one}?fieldManager=m&force=true`,
        text(number),
        as('application/apply-patch+yaml'),
      ),
    );
    for (const { status, body } of refusals)
      expect([status, body.message]).toEqual([400, expect.stringContaining('cannot be kept exactly')]);
    expect((await send('GET', one)).body.metadata.resourceVersion).toBe(held);
  },
);

test('server-side apply merges lists by the keys of the schema', async () => {
  const { send, define } = server;
  const item = {
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string' }, value: { type: 'string' } },
  };
  await define({
    schema: specOf({
      ports: {
        type: 'array',
        items: item,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
    }),
  });
  const apply = (manager: string, ports: object[]) =>
    send('PATCH', `${WIDGETS}/one?fieldManager=${manager}`, widget('one', { spec: { ports } }), {
      'content-type': 'application/apply-patch+yaml',
    });
  expect((await apply('a', [{ name: 'x', value: '1' }])).status).toBe(201);
  const both = await apply('b', [{ name: 'y', value: '2' }]);
  expect(both.body.spec.ports).toEqual([
    { name: 'x', value: '1' },
    { name: 'y', value: '2' },
  ]);
  expect((await apply('b', [{ name: 'x', value: '3' }])).status).toBe(409);
});

test('a strict apply names what the schema does not declare, and the line of what is written twice', async () => {
  const { send, define } = server;
  const template: V1JSONSchemaProps = { ...OPEN, 'x-kubernetes-embedded-resource': true };
  await define({ schema: specOf({ size: { type: 'integer' }, template, open: OPEN }) });
  const apply = async (text: string) => {
    const { status, body } = await send(
      'PATCH',
      `${WIDGETS}/one?fieldManager=a&fieldValidation=Strict`,
      text,
      {
        'content-type': 'application/apply-patch+yaml',
      },
    );
    return [status, body.message];
  };
  const head = `\napiVersion: ${GROUP}/v1\nkind: Widget\nmetadata:\n  name: one\n`;
  const refused = 'failed to create typed patch object (default/one; example.com/v1, Kind=Widget): ';
  expect(await apply(`${head}extra: 1\nspec:\n  size: 1`)).toEqual([
    400,
    `${refused}.extra: field not declared in schema`,
  ]);
  const embedded = '  template: {apiVersion: v1, kind: X, metadata: {name: x, nope: 1}}';
  expect(await apply(`${head}  nonsense: 1\nspec:\n${embedded}`)).toEqual([
    400,
    `${refused}errors:\n  .metadata.nonsense: field not declared in schema\n  .spec.template.metadata.nope: field not declared in schema`,
  ]);
  expect(await apply(`${head}spec:\n  open:\n    foo: 1\n    foo: 2`)).toEqual([
    400,
    'error strict decoding YAML: yaml: unmarshal errors: line 9: key "foo" already set in map',
  ]);
  expect(await apply(`${head}spec:\n  size: 1`)).toEqual([201, undefined]);
});

test('names that another definition of the group has are not given', async () => {
  const { send, define } = server;
  await define({ names: { shortNames: ['wd'] } });
  await send(
    'POST',
    DEFINITIONS,
    definition({ plural: 'wedges', kind: 'Wedge', names: { shortNames: ['wd'] } }),
  );
  const state = async () => {
    const { body } = await send('GET', `${DEFINITIONS}/wedges.${GROUP}`);
    return (body.status.conditions ?? []).map(
      (one: { type: string; reason: string }) => `${one.type} ${one.reason}`,
    );
  };
  await untilTrue('the conflict is told', async () =>
    (await state()).includes('NamesAccepted ShortNamesConflict'),
  );
  await send('DELETE', `${DEFINITIONS}/widgets.${GROUP}`);
  await untilTrue('the names are given', async () =>
    (await state()).includes('Established InitialNamesAccepted'),
  );
});

test('a definition that is deleted takes its objects with it, and waits for those that are held', async () => {
  const { send, define } = server;
  await define();
  await send(
    'POST',
    WIDGETS,
    widget('held', { metadata: { name: 'held', finalizers: ['example.com/hold'] } }),
  );
  await send('POST', WIDGETS, widget('free'));
  const marked = await send('DELETE', `${DEFINITIONS}/widgets.${GROUP}`);
  expect(marked.body.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
  await untilTrue('the free one is gone', async () => (await send('GET', `${WIDGETS}/free`)).status === 404);
  const late = await send('POST', WIDGETS, widget('late'));
  expect(late.status).toBe(405);
  await send(
    'PATCH',
    `${WIDGETS}/held`,
    { metadata: { finalizers: null } },
    { 'content-type': 'application/merge-patch+json' },
  );
  await untilTrue(
    'the definition is gone',
    async () => (await send('GET', `${DEFINITIONS}/widgets.${GROUP}`)).status === 404,
  );
  expect((await send('GET', `/apis/${GROUP}/v1/widgets`)).status).toBe(404);
  expect((await send('GET', `/apis/${GROUP}`)).status).toBe(404);
});

test('what is asked in protobuf is answered in JSON where that is asked too, and refused where not', async () => {
  const { send, define } = server;
  await define();
  const protobuf = 'application/vnd.kubernetes.protobuf';
  expect((await send('GET', WIDGETS, undefined, { accept: protobuf })).status).toBe(406);
  expect((await send('GET', WIDGETS, undefined, { accept: `${protobuf},application/json` })).status).toBe(
    200,
  );
  expect((await send('POST', WIDGETS, 'k8s', { 'content-type': protobuf })).status).toBe(415);
});

test('strict field validation refuses unknown and doubled fields at every depth, also of embedded metadata', async () => {
  const { send, define } = server;
  const template = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } },
  };
  await define({ schema: specOf({ template }) });
  const body = widget('one', {
    spec: {
      extra: 1,
      template: { apiVersion: 'v1', kind: 'X', metadata: { name: 'x', nonsense: 1 }, spec: { b: 1 } },
    },
  });
  const refused = await send('POST', `${WIDGETS}?fieldValidation=Strict`, body);
  expect(refused.status).toBe(400);
  for (const path of ['spec.extra', 'spec.template.metadata.nonsense', 'spec.template.spec.b'])
    expect(refused.body.message).toContain(`unknown field "${path}"`);
  const doubled = JSON.stringify(widget('two')).replace('{"name"', '{"name":"x","name"');
  const twice = await send('POST', `${WIDGETS}?fieldValidation=Strict`, doubled);
  expect(twice.body.message).toContain('duplicate field "metadata.name"');
  const kept = await send('POST', `${WIDGETS}?fieldValidation=Ignore`, body);
  expect(kept.body.spec).toEqual({
    template: { apiVersion: 'v1', kind: 'X', metadata: { name: 'x' }, spec: {} },
  });
  const wrong = widget('three', { spec: { template: { kind: 'X', metadata: { labels: { '-': 'x' } } } } });
  const causes = (await send('POST', WIDGETS, wrong)).body.details.causes.map(
    ({ field }: { field: string }) => field,
  );
  expect(causes).toEqual(['spec.template.apiVersion', 'spec.template.metadata.labels']);
});
