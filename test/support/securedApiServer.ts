// An apiserver with its whole security and its Service hooks, on a loopback port and a memory store.
// Guarantees: everything it opened is closed by close(); the default policy is in place when it resolves.
import { generateKeyPairSync } from 'node:crypto';
import { KINDS } from '../../src/api/kinds/index.js';
import { silentLog } from '../../src/api/log.js';
import { reconcileBootstrapPolicy } from '../../src/apiserver/auth/bootstrapPolicy.js';
import { makeSecurity, type SecurityOptions } from '../../src/apiserver/auth/security.js';
import { bootstrap } from '../../src/apiserver/bootstrap.js';
import type { UserInfo } from '../../src/apiserver/identity.js';
import { type ApiServer, type ApiServerOptions, openApiServer } from '../../src/apiserver/server.js';
import { makeServiceHooks, type ServiceHooksOptions } from '../../src/apiserver/services/serviceHooks.js';
import type { Client } from '../../src/client/client.js';
import type { Informers } from '../../src/client/informer.js';
import { openInformers } from '../../src/client/sharedInformers.js';
import { openClient } from '../../src/client/typedClient.js';
import type { Store } from '../../src/store/store.js';
import { MemoryStore } from './memoryStore.js';
import { makeTestPki, type TestPki } from './testPki.js';

const SERVICE_CIDR = '10.96.0.0/16';
const ADMIN: UserInfo = { name: 'system:apiserver', groups: ['system:masters'] };

export interface SecuredApiServer {
  readonly server: ApiServer;
  readonly pki: TestPki;
  readonly url: string;
  /** As system:masters, in process. */
  readonly client: Client;
  readonly informers: Informers;
  as(user: UserInfo): Client;
  /** As a service account of kube-system. */
  asAccount(name: string): Client;
  close(): Promise<void>;
}

interface SecuredOptions {
  readonly security?: Partial<SecurityOptions>;
  /** Closed with the server; one in memory by default. */
  readonly store?: Store;
  readonly services?: Partial<Pick<ServiceHooksOptions, 'serviceCidrs' | 'nodePortRange'>>;
  readonly server?: Pick<ApiServerOptions, 'audit' | 'load' | 'insecure'>;
}

export function accountUser(name: string): UserInfo {
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'];
  return { name: `system:serviceaccount:kube-system:${name}`, groups };
}

export async function startSecuredApiServer(options: SecuredOptions = {}): Promise<SecuredApiServer> {
  const store = options.store ?? new MemoryStore();
  const services = { serviceCidrs: [SERVICE_CIDR], ...options.services };
  const pki = await makeTestPki();
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  let opened: { client: Client; informers: Informers } | undefined;
  const server = await openApiServer({
    store,
    kinds: KINDS,
    listen: { host: '127.0.0.1', port: 0 },
    tls: { ...(await pki.server()), clientCa: pki.ca },
    log: silentLog,
    ...options.server,
    parts: (inProcess) => {
      const client = openClient(inProcess(ADMIN));
      const informers = openInformers(client);
      opened = { client, informers };
      const security = makeSecurity({
        client,
        informers,
        serviceAccountKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        issuer: 'https://kubernetes.default.svc.cluster.local',
        ...options.security,
      });
      return {
        ...security,
        hooks: new Map([['services', makeServiceHooks({ client, ...services })]]),
      };
    },
  });
  if (opened === undefined) throw new Error('the server was opened without its parts');
  const { client, informers } = opened;
  await server.ready();
  await bootstrap(client, {
    address: '192.0.2.1',
    port: server.port,
    serviceCidrs: services.serviceCidrs,
    clientCa: pki.ca,
  });
  await reconcileBootstrapPolicy(client);
  return {
    server,
    pki,
    client,
    informers,
    url: `https://127.0.0.1:${server.port}`,
    as: (user) => openClient(server.inProcess(user)),
    asAccount: (name) => openClient(server.inProcess(accountUser(name))),
    async close() {
      informers.stop();
      client.close();
      await server.close();
      await store.close();
    },
  };
}
