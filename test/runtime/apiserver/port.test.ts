// A port that is taken: the refusal says which one and what to do.
import { expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { openApiServer } from '../../../src/apiserver/server.js';
import { startTestApiServer } from '../../support/testApiServer.js';

test('a second server on the same port is refused in words that help', async () => {
  const api = await startTestApiServer();
  const { port } = api.server;
  const second = openApiServer({
    store: api.store,
    kinds: [],
    listen: { host: '127.0.0.1', port },
    tls: { ...(await api.pki.server()), clientCa: api.pki.ca },
    log: silentLog,
    parts: () => ({
      authenticator: { authenticate: async () => undefined },
      authorizer: { authorize: () => ({ verdict: 'deny', reason: '' }) },
    }),
  });
  await expect(second).rejects.toMatchObject({
    code: 'PORT_IN_USE',
    message: `port ${port} on 127.0.0.1 is in use by another process; stop it or choose another port with --secure-port`,
  });
  await api.close();
});
