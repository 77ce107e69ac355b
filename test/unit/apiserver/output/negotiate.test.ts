// The Accept headers of kubectl, client-go and others, and what each is given.
import { describe, expect, test } from 'vitest';
import { negotiate, requireObject } from '../../../../src/apiserver/output/negotiate.js';

describe('what is answered to', () => {
  const json = { media: 'application/json', form: 'object' };
  const cases: [string, string | undefined, object][] = [
    ['no header', undefined, json],
    ['anything', '*/*', json],
    ['yaml', 'application/yaml', { media: 'application/yaml', form: 'object' }],
    [
      'kubectl get',
      'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json',
      { media: 'application/json', form: 'table', version: 'v1' },
    ],
    [
      'a Go component',
      'application/vnd.kubernetes.protobuf, */*',
      { media: 'application/vnd.kubernetes.protobuf', form: 'object' },
    ],
    [
      'a Go watch',
      'application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch',
      { media: 'application/vnd.kubernetes.protobuf', form: 'object' },
    ],
    ['a table of an unknown group', 'application/json;as=Table;v=v1;g=example.org, application/json', json],
    [
      'a metadata client',
      'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
      { media: 'application/vnd.kubernetes.protobuf', form: 'partial', version: 'v1' },
    ],
    [
      'aggregated discovery',
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json',
      { form: 'aggregatedDiscovery', version: 'v2' },
    ],
    ['the better quality first', 'application/yaml;q=0.5,application/json;q=0.9', json],
  ];
  test.each(cases)('%s', (_name, accept, expected) => {
    expect(negotiate(accept)).toMatchObject(expected);
  });
});

test.each([
  ['application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io'],
  ['text/html'],
  ['application/json;q=0'],
])('%s alone is not acceptable', (accept) => {
  expect(() => negotiate(accept)).toThrow(/only the following media types/);
});

test('what has no table is refused to whoever reads nothing else', () => {
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  expect(() => requireObject(table)).toThrow('only the following media types are accepted');
  for (const accept of [undefined, '', '*/*', 'application/json', `${table},application/json`])
    requireObject(accept);
});
