// What the controllers find of kinds that came with definitions.
import { expect, test } from 'vitest';
import { openClient } from '../../../src/client/typedClient.js';
import { discover } from '../../../src/controllers/discovery.js';
import { startCustomServer } from '../../support/customResources.js';

test('discovery finds kinds that are served only in versions that their group does not prefer', async () => {
  const server = await startCustomServer();
  try {
    await server.define();
    await server.define({ plural: 'oldies', kind: 'Oldie', versions: [{ name: 'v1alpha1', storage: true }] });
    const client = openClient(server.api.server.inProcess({ name: 'x', groups: ['system:masters'] }));
    const { served } = await discover(client);
    const found = served.filter(({ group }) => group === 'example.com');
    expect(found.map(({ version, resource }) => `${version} ${resource}`)).toEqual([
      'v1 widgets',
      'v1alpha1 oldies',
    ]);
  } finally {
    await server.close();
  }
});
