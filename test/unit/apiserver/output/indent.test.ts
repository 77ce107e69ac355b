// Answers indented for people: the same as JSON.stringify makes them, in whatever pieces they come.
import { describe, expect, test } from 'vitest';
import { jsonResponse, textResponse } from '../../../../src/apiserver/exchange.js';
import { Indenter, indented, wantsIndent } from '../../../../src/apiserver/output/indent.js';

const value = {
  kind: 'Pod',
  empty: {},
  none: [],
  texts: ['a{b}', 'c"d', '\\', '[,]:', 'ü語'],
  deep: { list: [1, -2.5, true, null, { a: [[]] }] },
};
const wanted = JSON.stringify(value, undefined, 2);

test.each([1, 2, 3, 7, 1000])('in pieces of %d bytes', (size) => {
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
  const indenter = new Indenter();
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) out.push(indenter.take(bytes.subarray(at, at + size)));
  expect(Buffer.concat(out).toString()).toBe(wanted);
});

test('numbers stay as they are written', () => {
  expect(new Indenter().take(Buffer.from('{"a":9223372036854775807,"b":1e3}')).toString()).toBe(
    '{\n  "a": 9223372036854775807,\n  "b": 1e3\n}',
  );
});

describe('an answer', () => {
  test('that is large is indented as it is read', async () => {
    const large = { items: Array.from({ length: 20_000 }, (_, at) => ({ at })) };
    const { body, headers, ends } = indented(jsonResponse(200, large));
    const pieces: Uint8Array[] = [];
    for await (const piece of body as AsyncIterable<Uint8Array>) pieces.push(piece);
    expect([pieces.length > 1, ends, headers['content-length']]).toEqual([true, true, undefined]);
    expect(Buffer.concat(pieces).toString()).toBe(JSON.stringify(large, undefined, 2));
  });
  test('that is no JSON, or has no end, stays', async () => {
    const text = textResponse(200, '{}');
    expect(indented(text)).toBe(text);
    const watch = { ...jsonResponse(200, {}), body: (async function* () {})() };
    expect(indented(watch)).toBe(watch);
  });
});

test.each<[string, string, string | undefined, boolean]>([
  ['a client', '/api', 'kubectl/v1.36.0', false],
  ['nobody', '/api', undefined, false],
  ['curl', '/api', 'curl/8.1', true],
  ['wget', '/api?a=b', 'Wget/1.21', true],
  ['a browser', '/api', 'Mozilla/5.0 (X11)', true],
  ['curl that says no', '/api?pretty=0', 'curl/8.1', false],
  ['a client that says yes', '/api?limit=1&pretty=true', 'kubectl', true],
  ['a client that says nonsense', '/api?pretty=maybe', 'curl/8', false],
  ['a client that says nothing', '/api?pretty=', 'curl/8', true],
])('%s', (_, url, agent, wants) => {
  expect(wantsIndent({ url, headers: { 'user-agent': agent } })).toBe(wants);
});
