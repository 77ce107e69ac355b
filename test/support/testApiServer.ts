// An apiserver on a loopback port with a memory store, for tests that talk to it as clients do.
// Guarantees: everything it opened is closed by close(); system:masters may do everything, others what `allow` says.

import type { PemPair } from '../../src/api/certificates/keyPair.js';
import { KINDS } from '../../src/api/kinds/index.js';
import { silentLog } from '../../src/api/log.js';
import { clientCertificate } from '../../src/apiserver/auth/clientCertificate.js';
import { makeUnionAuthenticator } from '../../src/apiserver/auth/union.js';
import type { Attributes } from '../../src/apiserver/identity.js';
import {
  type ApiServer,
  type ApiServerOptions,
  openApiServer,
  type ServerParts,
} from '../../src/apiserver/server.js';
import { openHttps } from '../../src/client/httpTransport.js';
import type { Transport } from '../../src/client/transport.js';
import type { Store } from '../../src/store/store.js';
import { MemoryStore } from './memoryStore.js';
import { makeTestPki, type TestPki } from './testPki.js';

export interface TestApiServer {
  readonly server: ApiServer;
  readonly store: Store;
  readonly pki: TestPki;
  readonly admin: PemPair;
  readonly url: string;
  /** As system:masters, over HTTPS. */
  readonly transport: Transport;
  close(): Promise<void>;
}

export interface TestApiServerOptions {
  readonly store?: Store;
  readonly kubelet?: ApiServerOptions['kubelet'];
  readonly pki?: TestPki;
  readonly parts?: Partial<ServerParts>;
  allow?(attributes: Attributes): boolean;
}

export async function startTestApiServer(options: TestApiServerOptions = {}): Promise<TestApiServer> {
  const store = options.store ?? new MemoryStore();
  const pki = options.pki ?? (await makeTestPki());
  const admin = await pki.client('admin', 'system:masters');
  const server = await openApiServer({
    store,
    kinds: KINDS,
    listen: { host: '127.0.0.1', port: 0 },
    tls: { ...(await pki.server()), clientCa: pki.ca },
    log: silentLog,
    ...(options.kubelet === undefined ? {} : { kubelet: options.kubelet }),
    parts: () => ({
      authenticator: makeUnionAuthenticator({ authenticators: [clientCertificate], allowAnonymous: true }),
      authorizer: {
        authorize: (attributes) => {
          const allowed =
            attributes.user.groups.includes('system:masters') || options.allow?.(attributes) === true;
          return { verdict: allowed ? 'allow' : 'no opinion', reason: '' };
        },
      },
      ...options.parts,
    }),
  });
  const url = `https://127.0.0.1:${server.port}`;
  const transport = openHttps({ server: url, ca: pki.ca, ...admin });
  return {
    server,
    store,
    pki,
    admin,
    url,
    transport,
    async close() {
      transport.close();
      await server.close();
      await store.close();
    },
  };
}
