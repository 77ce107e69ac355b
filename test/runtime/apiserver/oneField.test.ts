// Bodies of every kind that fill one list or map and say nothing else: no answer blames the server.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { wideBodies } from '../../../bench/hostile/wideBodies.js';
import { KINDS } from '../../../src/api/kinds/index.js';
import { NAMESPACES, SERVICE_ACCOUNTS } from '../../../src/api/resources.js';
import type { Transport } from '../../../src/client/transport.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';

const MEMBERS = 4;
const namespace = 'team';
let api: SecuredApiServer;
let transport: Transport;
beforeAll(async () => {
  api = await startSecuredApiServer();
  await api.client.of(NAMESPACES).create({ metadata: { name: namespace } });
  // Pods wait for it.
  await api.client.of(SERVICE_ACCOUNTS).create({ metadata: { name: 'default', namespace } });
  transport = api.server.inProcess({ name: 'admin', groups: ['system:masters'] });
});
afterAll(async () => {
  transport.close();
  await api.close();
});

describe('one field alone', () => {
  test.each(KINDS.map((kind) => [kind.type.resource, kind] as const))('of %s', async (_, kind) => {
    const { group, version, resource, namespaced } = kind.type;
    const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const path = `${base}${namespaced ? `/namespaces/${namespace}` : ''}/${resource}?dryRun=All`;
    const headers = { 'content-type': 'application/json' };
    const faults: string[] = [];
    for (const { name, body } of wideBodies(kind, MEMBERS)) {
      const { status } = await transport.request({ method: 'POST', path, headers, body: String(body()) });
      if (status >= 500) faults.push(`${name}: ${status}`);
    }
    expect(faults).toEqual([]);
  });
});
