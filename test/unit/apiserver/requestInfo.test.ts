// What URLs ask for, as a table.
import { describe, expect, test } from 'vitest';
import { parseRequest } from '../../../src/apiserver/requestInfo.js';

function parse(method: string, url: string) {
  const { pathname, searchParams } = new URL(url, 'http://server');
  return parseRequest(method, pathname, searchParams);
}

describe('a request names', () => {
  const cases: [string, string, string, object][] = [
    [
      'a list in a namespace',
      'GET',
      '/api/v1/namespaces/default/pods',
      { verb: 'list', resource: 'pods', namespace: 'default', name: '' },
    ],
    ['a list over all namespaces', 'GET', '/api/v1/pods', { verb: 'list', resource: 'pods', namespace: '' }],
    ['a watch', 'GET', '/api/v1/pods?watch=true', { verb: 'watch', resource: 'pods' }],
    ['a watch that is refused by its value', 'GET', '/api/v1/pods?watch=0', { verb: 'list' }],
    [
      'a list of one name',
      'GET',
      '/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dweb',
      { verb: 'list', name: 'web' },
    ],
    [
      'an object',
      'GET',
      '/apis/apps/v1/namespaces/a/deployments/web',
      { verb: 'get', group: 'apps', version: 'v1', resource: 'deployments', name: 'web' },
    ],
    [
      'a method without a verb',
      'OPTIONS',
      '/api/v1/namespaces/a/pods/web/proxy/x',
      { verb: '', subresource: 'proxy', name: 'web' },
    ],
    [
      'a subresource',
      'PATCH',
      '/apis/apps/v1/namespaces/a/deployments/web/scale',
      { verb: 'patch', subresource: 'scale', name: 'web' },
    ],
    [
      'a namespace',
      'GET',
      '/api/v1/namespaces/a',
      { verb: 'get', resource: 'namespaces', name: 'a', namespace: 'a' },
    ],
    [
      'a part of a namespace',
      'PUT',
      '/api/v1/namespaces/a/finalize',
      { verb: 'update', resource: 'namespaces', name: 'a', subresource: 'finalize' },
    ],
    [
      'all of a namespace',
      'DELETE',
      '/api/v1/namespaces/a/pods',
      { verb: 'deletecollection', resource: 'pods', namespace: 'a' },
    ],
    [
      'an object to delete',
      'DELETE',
      '/api/v1/nodes/n',
      { verb: 'delete', resource: 'nodes', name: 'n', namespace: '' },
    ],
    [
      'the rest of a proxied path',
      'GET',
      '/api/v1/nodes/n/proxy/a/b',
      { subresource: 'proxy', rest: ['a', 'b'] },
    ],
    [
      'an escaped name',
      'GET',
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
      { name: 'system:node' },
    ],
    ['an empty segment as if it were not there', 'GET', '/api/v1//pods', { verb: 'list', resource: 'pods' }],
    ['no resource', 'GET', '/version', { isResource: false, verb: 'get', path: '/version' }],
    ['a group', 'GET', '/apis/apps/v1', { isResource: false, path: '/apis/apps/v1' }],
    ['no resource, by POST', 'POST', '/healthz', { isResource: false, verb: 'post' }],
  ];
  test.each(cases)('%s', (_name, method, url, expected) => {
    expect(parse(method, url)).toMatchObject(expected);
  });
});

test.each([['/api/v1/pods/%2e%2e'], ['/api/v1/pods/a%2Fb'], ['/api/v1/pods/%00'], ['/api/v1/pods/%zz']])(
  '%s is refused',
  (pathname) => {
    expect(() => parseRequest('GET', pathname, new URLSearchParams())).toThrow(/invalid/);
  },
);
