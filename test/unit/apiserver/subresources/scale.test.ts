// Server-side apply on the scale subresource: it owns the number of replicas, and asks for force where another owns it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1Scale } from '../../../../src/api/gen/types.js';
import { DEPLOYMENTS } from '../../../../src/api/resources.js';
import { ApiError } from '../../../../src/api/status.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../../support/securedApiServer.js';

let api: SecuredApiServer;
const name = { namespace: 'default', name: 'web' };
beforeAll(async () => {
  api = await startSecuredApiServer();
  const labels = { app: 'web' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const spec = { selector: { matchLabels: labels }, template };
  await api.client.of(DEPLOYMENTS).create({ metadata: name, spec }, { fieldManager: 'maker' });
}, 60_000);
afterAll(() => api?.close());

const apply = (replicas: number, fieldManager: string, force = false) => {
  const scale: V1Scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: name, spec: { replicas } };
  const options = { subresource: 'scale', fieldManager, force };
  return api.client.of(DEPLOYMENTS).patch(name, 'apply', scale, options) as Promise<V1Scale>;
};
/** `manager/operation/subresource` of those who own the number of replicas. */
const owners = async () => {
  const { metadata } = await api.client.of(DEPLOYMENTS).get(name);
  return (metadata.managedFields ?? [])
    .filter(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes('f:replicas'))
    .map(({ manager, operation, subresource = '' }) => `${manager}/${operation}/${subresource}`);
};

test('takes the number by force, keeps it, and leaves the rest alone', async () => {
  expect(await owners()).toEqual(['maker/Update/']);
  const refusal = await apply(3, 'scaler').catch((error: unknown) => error);
  expect(ApiError.is(refusal, 'Conflict')).toBe(true);
  expect((refusal as ApiError).message).toContain('conflict with "maker" using apps/v1: .spec.replicas');
  expect(await apply(3, 'scaler', true)).toMatchObject({ kind: 'Scale', spec: { replicas: 3 } });
  expect(await owners()).toEqual(['scaler/Apply/scale']);
  expect(await apply(5, 'scaler')).toMatchObject({ spec: { replicas: 5 } });
  const { spec } = await api.client.of(DEPLOYMENTS).get(name);
  expect(spec).toMatchObject({ replicas: 5, template: { spec: { containers: [{ name: 'c' }] } } });
});

test('refuses what is no number of replicas, and who does not say his name', async () => {
  await expect(apply(-1, 'scaler', true)).rejects.toThrow('must be greater than or equal to 0');
  await expect(apply(1, '')).rejects.toThrow('is required for apply patch');
});
