// A server in a process of its own, so that the client's work is not counted as its: ours, or the floor.
// usage: node serve.js apiserver|floor <folder>. Tells its port by a message; answers "memory" and "collect".
import { readFileSync } from 'node:fs';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { KINDS } from '../../src/api/kinds/index.js';
import { silentLog } from '../../src/api/log.js';
import { reconcileBootstrapPolicy } from '../../src/apiserver/auth/bootstrapPolicy.js';
import { bootstrap } from '../../src/apiserver/bootstrap.js';
import { APISERVER_USER, clusterParts } from '../../src/apiserver/clusterParts.js';
import { openApiServer } from '../../src/apiserver/server.js';
import { openClient } from '../../src/client/typedClient.js';
import { keepIdleMemorySmall, releaseUnused } from '../../src/kernel/idleMemory.js';
import { openLmdbStore } from '../../src/store/lmdb/store.js';

const [what = '', folder = ''] = process.argv.slice(2);
const file = (name: string) => readFileSync(path.join(folder, name), 'utf8');
const listen = { host: '127.0.0.1', port: 0 };

async function apiserver(): Promise<number> {
  // As the commands that serve do.
  keepIdleMemorySmall();
  const store = await openLmdbStore({ path: path.join(folder, 'store') });
  const server = await openApiServer({
    store,
    kinds: KINDS,
    listen,
    tls: { cert: file('server.crt'), key: file('server.key'), clientCa: file('ca.crt') },
    parts: clusterParts({
      serviceAccountKeyPem: file('sa.key'),
      issuer: 'https://kubernetes.default.svc.cluster.local',
      serviceCidrs: ['10.96.0.0/12'],
      log: silentLog,
    }),
    log: silentLog,
  });
  await server.ready();
  const client = openClient(server.inProcess(APISERVER_USER));
  await bootstrap(client, { address: '127.0.0.1', port: server.port, serviceCidrs: ['10.96.0.0/12'] });
  await reconcileBootstrapPolicy(client);
  return server.port;
}

/** Sends ready buffers: what Node itself can do over TLS. */
async function floor(): Promise<number> {
  const answers = new Map(
    ['one', 'list'].map((name) => [`/${name}`, readFileSync(path.join(folder, `${name}.json`))]),
  );
  const tls = {
    cert: file('server.crt'),
    key: file('server.key'),
    ca: file('ca.crt'),
    requestCert: true,
    keepAliveTimeout: 90_000,
  };
  const server = https.createServer(tls, (request, response) => {
    const body = answers.get(request.url ?? '');
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body?.length ?? 0 });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen({ ...listen, backlog: 1024 }, resolve));
  return (server.address() as AddressInfo).port;
}

process.on('message', async (message) => {
  // What the server itself does once it is quiet. What is behind an object that was made in C++ is found by a later collection.
  if (message === 'collect') for (let i = 0; i < 3; i += 1) await releaseUnused();
  process.send?.({ memory: process.memoryUsage() });
});
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));
process.send?.({ port: await (what === 'floor' ? floor() : apiserver()) });
