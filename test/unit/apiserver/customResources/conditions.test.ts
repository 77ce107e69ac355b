import { expect, test } from 'vitest';
import {
  type CustomServer,
  causesOf,
  DEFINITIONS,
  definition,
  GROUP,
  startCustomServer,
  untilTrue,
} from '../../../support/customResources.js';
import { MemoryStore } from '../../../support/memoryStore.js';
import { perTest } from '../../../support/perTest.js';

const MERGE = { 'content-type': 'application/merge-patch+json' };
const APPROVED = 'api-approved.kubernetes.io';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

const server = perTest(() => startCustomServer());

async function conditionOf(
  { send }: CustomServer,
  name: string,
  type: string,
): Promise<Condition | undefined> {
  const { body } = await send('GET', `${DEFINITIONS}/${name}`);
  return (body.status?.conditions as Condition[] | undefined)?.find((one) => one.type === type);
}

test('a group of Kubernetes needs an approval, or says that it has none', async () => {
  const { send } = server;
  const made = (plural: string, annotation?: string) => {
    const wanted = definition({ plural, kind: plural, group: 'rocks.k8s.io' });
    const annotations = annotation === undefined ? {} : { annotations: { [APPROVED]: annotation } };
    return send('POST', DEFINITIONS, { ...wanted, metadata: { ...wanted.metadata, ...annotations } });
  };
  const field = `metadata.annotations[${APPROVED}]`;
  expect(causesOf(await made('none'))).toEqual([
    `${field}: Required value: protected groups must have approval annotation "${APPROVED}", see https://github.com/kubernetes/enhancements/pull/1111`,
  ]);
  expect(causesOf(await made('wrong', 'yes'))[0]).toContain(
    `${field}: Invalid value: "yes": protected groups`,
  );
  expect((await made('tests', 'unapproved, a test')).status).toBe(201);
  expect((await made('goods', 'https://github.com/kubernetes/kubernetes/pull/1')).status).toBe(201);
  const type = 'KubernetesAPIApprovalPolicyConformant';
  await untilTrue(
    'both are judged',
    async () => (await conditionOf(server, 'goods.rocks.k8s.io', type)) !== undefined,
  );
  expect(await conditionOf(server, 'tests.rocks.k8s.io', type)).toMatchObject({
    status: 'False',
    reason: 'UnapprovedAnnotation',
    message: 'not approved: "unapproved, a test"',
  });
  expect(await conditionOf(server, 'goods.rocks.k8s.io', type)).toMatchObject({
    status: 'True',
    reason: 'ApprovedAnnotation',
    message: 'approved in https://github.com/kubernetes/kubernetes/pull/1',
  });
});

test('a schema that is not structural, from an older server, is told until it is mended', async () => {
  const store = new MemoryStore();
  const made = definition({ schema: { type: 'object', properties: { spec: { properties: { a: {} } } } } });
  const name = `widgets.${GROUP}`;
  const stored = {
    ...made,
    metadata: { ...made.metadata, uid: 'u', generation: 1, creationTimestamp: '2024-01-01T00:00:00Z' },
    status: { storedVersions: ['v1'], conditions: [{ type: 'Established', status: 'True' }] },
  };
  await store.create(
    `/registry/customresourcedefinitions.apiextensions.k8s.io/${name}`,
    Buffer.from(JSON.stringify(stored)),
  );
  const second = await startCustomServer({ store });
  const type = 'NonStructuralSchema';
  await untilTrue('it is told', async () => (await conditionOf(second, name, type)) !== undefined);
  const path = 'spec.versions[0].schema.openAPIV3Schema';
  expect(await conditionOf(second, name, type)).toMatchObject({
    status: 'True',
    reason: 'Violations',
    message: `[${path}.properties[spec].properties[a].type: Required value: must not be empty for specified object fields, ${path}.properties[spec].type: Required value: must not be empty for specified object fields]`,
  });
  const { body } = await second.send('GET', `${DEFINITIONS}/${name}`);
  body.spec.versions[0].schema.openAPIV3Schema = { type: 'object' };
  expect((await second.send('PUT', `${DEFINITIONS}/${name}`, body)).status).toBe(200);
  await untilTrue('it is told no more', async () => (await conditionOf(second, name, type)) === undefined);
  await second.close();
});

test('what a definition is about never changes', async () => {
  const { send, define } = server;
  await define();
  const changed = async (spec: object) =>
    causesOf(await send('PATCH', `${DEFINITIONS}/widgets.${GROUP}`, { spec }, MERGE));
  expect(await changed({ scope: 'Cluster' })).toEqual([
    'spec.scope: Invalid value: "Cluster": field is immutable',
  ]);
  expect(await changed({ group: 'other.com' })).toContain(
    'spec.group: Invalid value: "other.com": field is immutable',
  );
  expect(await changed({ names: { plural: 'gadgets' } })).toContain(
    'spec.names.plural: Invalid value: "gadgets": field is immutable',
  );
  expect(await changed({ names: { kind: 'Gadget' } })).toEqual([
    'spec.names.kind: Invalid value: "Gadget": field is immutable',
  ]);
});

test('while finalizers hold objects of a definition that goes, it says so and takes no new ones', async () => {
  const { send, define } = server;
  await define();
  const widgets = `/apis/${GROUP}/v1/namespaces/default/widgets`;
  const held = { apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata: { name: 'a', finalizers: ['a.b/c'] } };
  await send('POST', widgets, held);
  await send('DELETE', `${DEFINITIONS}/widgets.${GROUP}`);
  const name = `widgets.${GROUP}`;
  await untilTrue('it is told', async () => (await conditionOf(server, name, 'Terminating')) !== undefined);
  expect(await conditionOf(server, name, 'Terminating')).toMatchObject({
    status: 'True',
    reason: 'InstanceDeletionInProgress',
    message: 'CustomResource deletion is in progress',
  });
  const refused = await send('POST', widgets, { ...held, metadata: { name: 'b' } });
  expect([refused.status, refused.body.message]).toEqual([
    405,
    'create not allowed while custom resource definition is terminating',
  ]);
});
