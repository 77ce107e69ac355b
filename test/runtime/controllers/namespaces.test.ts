// A namespace with much in it, deleted through the real apiserver while the controllers are restarted.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, PODS, SERVICE_ACCOUNTS } from '../../../src/api/resources.js';
import { until } from '../../support/until.js';
import { openWorld, type World } from './support/world.js';

let world: World;
beforeAll(async () => {
  world = await openWorld(['n0']);
});
afterAll(() => world.close());

test('goes with everything in it, pods first', async () => {
  const { client } = world;
  await client.of(NAMESPACES).create({ metadata: { name: 'team' } });
  await until(
    async () => void (await client.of(SERVICE_ACCOUNTS).get({ name: 'default', namespace: 'team' })),
  );
  await client.of(DEPLOYMENTS).create({
    metadata: { name: 'web', namespace: 'team' },
    spec: {
      replicas: 5,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'm', image: 'i' }] } },
    },
  });
  for (let number = 0; number < 300; number++)
    await client.of(CONFIG_MAPS).create({ metadata: { name: `c${number}`, namespace: 'team' } });
  await until(async () => expect((await client.of(PODS).list({ namespace: 'team' })).items).toHaveLength(5));
  await client.of(NAMESPACES).delete({ name: 'team' });
  await world.restart();
  await until(async () => {
    const { items } = await client.of(NAMESPACES).list();
    expect(items.map(({ metadata }) => metadata.name)).not.toContain('team');
  });
  expect((await client.of(CONFIG_MAPS).list({ namespace: 'team' })).items).toEqual([]);
});
