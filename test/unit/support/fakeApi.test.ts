// The fake API that tests write to, beside the real server.
// Guarantees: both keep the same contract, so that a test on the fake says something of the server.
import { NAMESPACES } from '../../../src/api/resources.js';
import { openClient } from '../../../src/client/typedClient.js';
import { objectsContract } from '../../support/contracts/objects.js';
import { FakeApi } from '../../support/fakeApi.js';
import { startTestApiServer } from '../../support/testApiServer.js';

objectsContract('the fake API', async () => ({ client: new FakeApi(), close: async () => {} }));

objectsContract('the real server', async () => {
  const api = await startTestApiServer();
  const client = openClient(api.transport);
  await client.of(NAMESPACES).create({ metadata: { name: 'default' } });
  return {
    client,
    close: async () => {
      client.close();
      await api.close();
    },
  };
});
