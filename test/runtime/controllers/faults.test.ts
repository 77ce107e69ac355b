// Controllers and scheduler behind a bad network: delays, refusals, lost answers, watches that are cut or fall silent.
// Everything comes to where it should; nothing is made twice but where the maker was not told; nothing is made in a loop.
// TRELLIS_FUZZ_SEED=S repeats what went wrong, as far as requests come in the same order.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { controllerOf } from '../../../src/api/object.js';
import * as kinds from '../../../src/api/resources.js';
import { Faults } from '../../support/faultyTransport.js';
import { until } from '../../support/until.js';
import { openWorld, type World } from './support/world.js';

const { DAEMON_SETS, DEPLOYMENTS, ENDPOINT_SLICES, JOBS, PODS, REPLICA_SETS, SERVICES, STATEFUL_SETS } =
  kinds;
const NODES = ['n1', 'n2', 'n3'];
const faults = new Faults();
let world: World;
beforeAll(async () => {
  world = await openWorld(NODES, { through: (transport) => faults.between(transport), schedules: true });
  for (const node of NODES)
    await world.client.of(kinds.NODES).patch({ name: node }, 'merge', { spec: { taints: null } });
  const addresses = new Map<string, string>();
  world.address = ({ metadata: { uid } }) => {
    const address = addresses.get(uid) ?? `10.1.0.${addresses.size + 1}`;
    addresses.set(uid, address);
    return address;
  };
  world.fate = ({ metadata }) => (metadata.labels?.['app'] === 'sum' ? 'succeeded' : 'ready');
}, 60_000);
afterAll(() => world?.close());

const named = (name: string) => ({ name, namespace: 'default' });
const wish = (app: string, image = 'v1') => ({
  selector: { matchLabels: { app } },
  template: {
    metadata: { labels: { app } },
    spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image }] },
  },
});
const podsOf = async (app: string) =>
  (await world.all(PODS)).filter(
    ({ metadata }) => metadata.labels?.['app'] === app && metadata.deletionTimestamp === undefined,
  );
/** More of them than wanted were made only where the maker was not told of the first. */
const atMost = (resource: string, wanted: number) =>
  expect(faults.made.get(resource) ?? 0, resource).toBeLessThanOrEqual(
    wanted + (faults.lost.get(resource) ?? 0),
  );

test(`workloads come up, are updated and go behind a bad network (seed ${faults.seed})`, async () => {
  const { client } = world;
  await client.of(SERVICES).create({
    metadata: named('web'),
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  });
  await client.of(DEPLOYMENTS).create({ metadata: named('web'), spec: { replicas: 5, ...wish('web') } });
  await client.of(STATEFUL_SETS).create({
    metadata: named('db'),
    spec: { replicas: 3, serviceName: 'db', ...wish('db') },
  });
  await client.of(DAEMON_SETS).create({ metadata: named('agent'), spec: wish('agent') });
  const { template } = wish('sum');
  await client.of(JOBS).create({
    metadata: named('sum'),
    spec: {
      completions: 6,
      parallelism: 3,
      template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } },
    },
  });
  const status = async () => {
    const [web] = await world.all(DEPLOYMENTS);
    const [db] = await world.all(STATEFUL_SETS);
    const [agent] = await world.all(DAEMON_SETS);
    const [sum] = await world.all(JOBS);
    return {
      web: [
        web?.status?.observedGeneration === web?.metadata.generation,
        web?.status?.availableReplicas,
        web?.status?.updatedReplicas,
        web?.status?.replicas,
      ],
      db: db?.status?.readyReplicas,
      agent: agent?.status?.numberReady,
      sum: sum?.status?.succeeded,
      done: sum?.status?.conditions?.some((one) => one.type === 'Complete' && one.status === 'True') === true,
    };
  };
  const whole = { web: [true, 5, 5, 5], db: 3, agent: 3, sum: 6, done: true };
  await until(async () => expect(await status()).toEqual(whole));
  await client.of(DEPLOYMENTS).patch(named('web'), 'merge', { spec: wish('web', 'v2') });
  await until(async () => expect(await status()).toEqual(whole));
  await until(async () => {
    const pods = await podsOf('web');
    expect(pods.map(({ spec }) => spec.containers[0]?.image)).toEqual(new Array(5).fill('v2'));
    const slices = (await world.all(ENDPOINT_SLICES)).filter(
      ({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'web',
    );
    expect(
      slices.flatMap(({ endpoints = [] }) => endpoints.map(({ targetRef }) => targetRef?.uid)).sort(),
    ).toEqual(pods.map(({ metadata }) => metadata.uid).sort());
  });
  // Two sets of five, three members, one a node, six pieces of work.
  atMost('pods', 2 * 5 + 3 + 3 + 6);
  atMost('replicasets', 2);
  atMost('controllerrevisions', 2);
  atMost('endpointslices', 2);
  expect(faults.writes).toBeLessThan(2_000);

  for (const [type, name] of [
    [DEPLOYMENTS, 'web'],
    [STATEFUL_SETS, 'db'],
    [DAEMON_SETS, 'agent'],
    [JOBS, 'sum'],
  ] as const)
    await client.of(type as kinds.ResourceType).delete(named(name), { propagationPolicy: 'Background' });
  await until(async () => {
    expect(await world.all(REPLICA_SETS)).toEqual([]);
    expect((await world.all(PODS)).filter((pod) => controllerOf(pod) !== undefined)).toEqual([]);
  });
}, 120_000);
