// --runtime-config: what is served after it, and what is refused.
import { describe, expect, test } from 'vitest';
import { readRuntimeConfig } from '../../../../src/cli/apiserver/runtimeConfig.js';

const place = (group: string, version: string, resource: string) => ({ group, version, resource });
const KNOWN = [
  place('', 'v1', 'pods'),
  place('', 'v1', 'secrets'),
  place('apps', 'v1', 'deployments'),
  place('autoscaling', 'v1', 'horizontalpodautoscalers'),
  place('autoscaling', 'v2', 'horizontalpodautoscalers'),
  place('odd.example', 'v1beta1', 'odds'),
];
const served = (text: string) => {
  const isServed = readRuntimeConfig(text, KNOWN);
  return KNOWN.filter(isServed).map(({ group, version, resource }) => `${group}/${version}/${resource}`);
};
const ALL = served('');

describe('what is served', () => {
  test.each([
    ['', ALL],
    ['api/all=true', ALL],
    ['autoscaling/v1=false', ALL.filter((name) => !name.startsWith('autoscaling/v1/'))],
    ['apps/v1/deployments=false', ALL.filter((name) => !name.startsWith('apps'))],
    ['v1/secrets=false', ALL.filter((name) => name !== '/v1/secrets')],
    ['api/v1/secrets=false', ALL.filter((name) => name !== '/v1/secrets')],
    ['api/all=false,v1=true', ['/v1/pods', '/v1/secrets']],
    ['api/all=false,api/ga=true,v1/pods=0', ALL.filter((name) => !/pods|odds/.test(name))],
    ['api/beta=false', ALL.filter((name) => !name.includes('beta'))],
    ['api/beta=false,odd.example/v1beta1', ALL],
    ['api/legacy', ALL],
  ])('after %s', (text, expected) => {
    expect(served(text)).toEqual(expected);
  });

  test('what is not of the kinds stays', () => {
    expect(readRuntimeConfig('api/all=false', KNOWN)(place('metrics.k8s.io', 'v1beta1', 'pods'))).toBe(true);
  });
});

test.each([
  ['batch/v2alpha1=true', '--runtime-config: batch/v2alpha1 is not served here; there are v1, apps/v1'],
  ['apps/v1/pods=false', 'apps/v1/pods is not served here; there are'],
  ['apps/v1=perhaps', 'apps/v1: "perhaps" is neither true nor false'],
  ['api/alpha=true', 'api/alpha=true: no such version is served here'],
  ['apps', 'apps is not served here'],
])('%s is refused', (text, message) => {
  expect(() => readRuntimeConfig(text, KNOWN)).toThrow(message);
});
