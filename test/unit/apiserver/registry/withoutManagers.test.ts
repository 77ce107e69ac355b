// Only the metadata's own list goes, whatever the texts and members around it look like.
import { expect, test } from 'vitest';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { CONFIG_MAPS } from '../../../../src/api/resources.js';
import { encodeForStore, withRevision } from '../../../../src/apiserver/registry/encode.js';
import { withoutManagers } from '../../../../src/apiserver/registry/withoutManagers.js';

const kind = { type: CONFIG_MAPS } as unknown as KindDefinition;
const managedFields = [
  {
    manager: 'a "quoted" ]} name\\',
    fieldsV1: { 'f:data': { '.': {}, 'f:x]},"': {}, 'v:[{"a":"}]"}]': {}, 'f:\\': {} } },
  },
  { manager: 'another', time: '2026-01-01T00:00:00Z', fieldsV1: {} },
];

test.each([
  [
    'an object with much beside them',
    {
      name: 'ü',
      labels: { a: '{[' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: '1' }],
    },
    {},
  ],
  ['an object with nothing beside them', {}, {}],
  [
    'texts that look like them',
    { annotations: { a: ',"managedFields":[{}]', '\\"': '"}' } },
    { data: { b: ']}' } },
  ],
  [
    'a template that has some of its own',
    { name: 'a' },
    { spec: { template: { metadata: { z: 1, managedFields } } } },
  ],
])('%s: they go, and nothing else', (_, metadata, rest) => {
  const textOf = (managers: object) =>
    withRevision(encodeForStore(kind, { metadata: { ...metadata, ...managers }, ...rest }), 7).toString();
  expect(JSON.parse(withoutManagers(textOf({ managedFields })))).toEqual(JSON.parse(textOf({})));
  expect(withoutManagers(textOf({}))).toBe(textOf({}));
});

test.each([
  [
    'among the other members',
    '{"metadata":{"a":"b","managedFields":[{"c":["]"]}],"name":"n"},"data":{}}',
    ',"name":"n"},"data":{}}',
  ],
  ['in an owner', '{"metadata":{"owners":[{"a":1,"managedFields":[1]}],"name":"n"}}', undefined],
  ['behind the metadata', '{"metadata":{"name":"n"},"managedFields":[1]}', undefined],
  ['cut off', '{"metadata":{"name":"n","managedFields":[{"a":"\\', undefined],
])('a list that stands %s', (_, text, end) => {
  expect(withoutManagers(text)).toBe(end === undefined ? text : `{"metadata":{"a":"b"${end}`);
});
