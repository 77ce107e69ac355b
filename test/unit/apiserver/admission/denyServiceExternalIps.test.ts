// New external IPs are refused; those that a Service has may stay or go.
import { expect, test } from 'vitest';
import { SERVICES } from '../../../../src/api/resources.js';
import { chosenPlugins } from '../../../../src/apiserver/admission/choice.js';
import { denyServiceExternalIps } from '../../../../src/apiserver/admission/denyServiceExternalIps.js';
import type { AdmissionRequest } from '../../../../src/apiserver/admission.js';

const service = (externalIPs?: readonly string[]) => ({ metadata: { name: 'web' }, spec: { externalIPs } });
const judge = (object: object, old?: object, subresource = '') =>
  denyServiceExternalIps.validate?.({
    type: SERVICES,
    name: 'web',
    namespace: 'default',
    subresource,
    object,
    old,
    operation: old === undefined ? 'create' : 'update',
    user: { name: 'jane', groups: [] },
  } as unknown as AdmissionRequest);

test.each([
  ['a Service without any', service(), undefined],
  ['one that keeps its own', service(['192.0.2.1']), service(['192.0.2.1', '192.0.2.2'])],
  ['one that gives them up', service([]), service(['192.0.2.1'])],
])('%s is taken', (_, object, old) => {
  expect(() => judge(object, old)).not.toThrow();
});

test.each([
  ['a new one with some', service(['192.0.2.1']), undefined],
  ['one that gets another', service(['192.0.2.1', '192.0.2.9']), service(['192.0.2.1'])],
])('%s is refused', (_, object, old) => {
  expect(() => judge(object, old)).toThrow('Use of external IPs is denied by admission control');
});

test('looks at no subresource, and runs only where it is enabled', () => {
  expect(() => judge(service(['192.0.2.1']), service(), 'status')).not.toThrow();
  expect(chosenPlugins({})).not.toContain('DenyServiceExternalIPs');
  expect(chosenPlugins({ enable: ['DenyServiceExternalIPs'] })).toContain('DenyServiceExternalIPs');
});
