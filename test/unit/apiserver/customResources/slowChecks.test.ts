import { expect, test } from 'vitest';
import type { V1JSONSchemaProps } from '../../../../src/api/gen/types.js';
import {
  DEFINITIONS,
  definition,
  specOf,
  startCustomServer,
  WIDGETS,
  widget,
} from '../../../support/customResources.js';
import { perTest } from '../../../support/perTest.js';

const server = perTest(() => startCustomServer());

const fields = (count: number, schema: (index: number) => V1JSONSchemaProps) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, schema(index)]));
const repeating = (index: number): V1JSONSchemaProps => ({
  type: 'string',
  pattern: `^(a|b|c){0,900}${index}$`,
});

test('definitions and objects whose check takes long are judged as any other', async () => {
  const { send, define } = server;
  expect((await define({ schema: specOf(fields(5, repeating)) })).status).toBe(201);
  expect((await send('POST', WIDGETS, widget('good', { spec: { f0: 'abc0' } }))).status).toBe(201);
  const refused = await send('POST', WIDGETS, widget('bad', { spec: { f0: 'abc0', f3: 'abc' } }));
  expect(refused.status).toBe(422);
  expect(refused.body.message).toContain("spec.f3 in body should match '^(a|b|c){0,900}3$'");
  const patched = await send(
    'PATCH',
    `${WIDGETS}/good`,
    { spec: { f1: 'ab' } },
    { 'content-type': 'application/merge-patch+json' },
  );
  expect(patched.body.message).toContain('spec.f1 in body should match');

  const wrong = specOf({ ...fields(5, repeating), last: { type: 'string', pattern: '(' } });
  const other = await send(
    'POST',
    DEFINITIONS,
    definition({ plural: 'others', kind: 'Other', schema: wrong }),
  );
  expect(other.status).toBe(422);
  expect(other.body.message).toContain('properties[last].pattern: Invalid value');
});

test('an object is judged by the definition as it is now', async () => {
  const { send, define } = server;
  await define({ schema: specOf(fields(3, repeating)) });
  expect((await send('POST', WIDGETS, widget('one', { spec: { f0: 'x0' } }))).status).toBe(422);
  const path = `${DEFINITIONS}/widgets.example.com`;
  const { body: held } = await send('GET', path);
  held.spec.versions[0].schema.openAPIV3Schema = specOf(
    fields(3, (index) => ({ type: 'string', pattern: `^(x|b|c){0,900}${index}$` })),
  );
  expect((await send('PUT', path, held)).status).toBe(200);
  await expect
    .poll(async () => (await send('POST', WIDGETS, widget('one', { spec: { f0: 'x0' } }))).status)
    .toBe(201);
  expect((await send('POST', WIDGETS, widget('two', { spec: { f0: 'a0' } }))).status).toBe(422);
});

test('defaults that multiply make an object too large instead of filling the memory', async () => {
  const { send, define } = server;
  const growing = (levels: number): V1JSONSchemaProps =>
    levels === 0
      ? { type: 'object', properties: { last: { type: 'string', default: 'x'.repeat(100) } } }
      : {
          type: 'object',
          properties: { l: { type: 'array', default: [{}, {}, {}, {}], items: growing(levels - 1) } },
        };
  await define({ schema: specOf({ a: growing(14) }) });
  const refused = await send('POST', WIDGETS, widget('one', { spec: { a: {} } }));
  expect(refused.status).toBe(413);
  expect((await send('POST', WIDGETS, widget('two', { spec: {} }))).status).toBe(201);
});
