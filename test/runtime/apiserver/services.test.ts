// Addresses and node ports of Services where two apiservers share one etcd: nothing is given twice, nothing is lost.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { V1Service } from '../../../src/api/gen/types.js';
import { IP_ADDRESSES, SERVICES } from '../../../src/api/resources.js';
import { ApiError } from '../../../src/api/status.js';
import type { Client } from '../../../src/client/client.js';
import { openEtcdStore } from '../../../src/store/etcd/store.js';
import { startEtcd, type TestEtcd } from '../../support/etcd.js';
import { describeWith } from '../../support/requires.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';

const WAIT = { timeout: 30_000, interval: 100 };
let etcd: TestEtcd;
let servers: SecuredApiServer[] = [];

const startServer = async () =>
  startSecuredApiServer({
    store: await openEtcdStore({ endpoints: [etcd.endpoint] }),
    // So small that two choices meet often.
    services: { serviceCidrs: ['10.96.0.0/24', 'fd00::/120'], nodePortRange: '30000-30199' },
  });

const clientOf = (index: number) => servers[index % servers.length]?.client as Client;
const service = (name: string, spec: V1Service['spec'] = {}): V1Service => ({
  metadata: { name, namespace: 'default' },
  spec: { ports: [{ port: 80 }], ...spec },
});
const addressesOf = ({ spec }: V1Service) => spec?.clusterIPs ?? [];
const portsOf = ({ spec }: V1Service) => (spec?.ports ?? []).map(({ nodePort }) => nodePort);

describeWith({ tools: ['etcd'] }, 'two apiservers on one etcd', () => {
  vi.setConfig({ testTimeout: 180_000 });
  beforeAll(async () => {
    etcd = await startEtcd();
    servers = [await startServer()];
    servers.push(await startServer());
  }, 120_000);
  afterAll(async () => {
    for (const server of servers) await server.close();
    await etcd?.stop();
  }, 60_000);

  test('give no address and no port twice, however many ask at once', async () => {
    const made = await Promise.all(
      Array.from({ length: 160 }, (_, index) =>
        clientOf(index)
          .of(SERVICES)
          .create(service(`both-${index}`, { type: 'NodePort', ipFamilyPolicy: 'PreferDualStack' })),
      ),
    );
    const addresses = made.flatMap(addressesOf);
    expect(addresses).toHaveLength(320);
    expect(new Set(addresses).size).toBe(320);
    expect(new Set(made.flatMap(portsOf)).size).toBe(160);

    const { items } = await clientOf(0).of(IP_ADDRESSES).list();
    const parents = new Map(items.map(({ metadata, spec }) => [metadata.name, spec.parentRef.name]));
    for (const one of made)
      for (const address of addressesOf(one)) expect(parents.get(address)).toBe(one.metadata.name);
    expect(items.find(({ metadata }) => metadata.name === addresses[0])).toMatchObject({
      metadata: {
        labels: {
          'ipaddress.kubernetes.io/ip-family': 'IPv4',
          'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
        },
      },
      spec: { parentRef: { resource: 'services', namespace: 'default', name: 'both-0' } },
    });
  });

  test('free what deleted Services had, for either of them', async () => {
    await Promise.all(
      Array.from({ length: 160 }, (_, index) =>
        clientOf(index + 1)
          .of(SERVICES)
          .delete({ namespace: 'default', name: `both-${index}` }),
      ),
    );
    const { items } = await clientOf(1).of(IP_ADDRESSES).list();
    expect(items.map(({ spec }) => spec.parentRef.name)).toEqual(['kubernetes']);
    const again = await Promise.all(
      Array.from({ length: 150 }, (_, index) =>
        clientOf(index)
          .of(SERVICES)
          .create(service(`again-${index}`, { type: 'NodePort' })),
      ),
    );
    expect(new Set(again.flatMap(portsOf)).size).toBe(150);
  });

  test('give an address that many ask for to one of them', async () => {
    const tries = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        clientOf(index)
          .of(SERVICES)
          .create(service(`rival-${index}`, { clusterIP: '10.96.0.9' })),
      ),
    );
    const refusals = tries.flatMap((one) => (one.status === 'rejected' ? [one.reason as ApiError] : []));
    expect(refusals).toHaveLength(19);
    for (const refusal of refusals) {
      expect(ApiError.is(refusal, 'Invalid')).toBe(true);
      expect(refusal.message).toContain('failed to allocate IP 10.96.0.9: provided IP is already allocated');
    }
  });

  test('give an address by hand freed under a Service back to it', async () => {
    await clientOf(0)
      .of(SERVICES)
      .create(service('robbed', { clusterIP: '10.96.0.5' }));
    await clientOf(1).of(IP_ADDRESSES).delete({ name: '10.96.0.5' });
    await vi.waitFor(async () => {
      const { spec } = await clientOf(1).of(IP_ADDRESSES).get({ name: '10.96.0.5' });
      expect(spec.parentRef.name).toBe('robbed');
    }, WAIT);
  });
});
