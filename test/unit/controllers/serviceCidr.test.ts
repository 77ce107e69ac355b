// A service network is ready from the start and goes only when no address needs it.
import { describe, expect, test, vi } from 'vitest';
import type { V1IPAddress, V1ServiceCIDR } from '../../../src/api/gen/types.js';
import { silentLog } from '../../../src/api/log.js';
import type { Stored } from '../../../src/api/object.js';
import { SERVICE_CIDRS, SERVICES } from '../../../src/api/resources.js';
import {
  planServiceCidr,
  SERVICE_CIDR_FINALIZER,
  serviceCidrController,
} from '../../../src/controllers/serviceCidr.js';
import { startSecuredApiServer } from '../../support/securedApiServer.js';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const meta = (name: string) => ({
  name,
  uid: name,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
});
const network = (name: string, cidr: string, more: object = {}): Stored<V1ServiceCIDR> => ({
  metadata: { ...meta(name), finalizers: [SERVICE_CIDR_FINALIZER], ...more },
  status: {},
  spec: { cidrs: [cidr] },
});
const leaving = (name: string, cidr: string, deletionTimestamp = '2026-01-01T00:00:00Z') =>
  network(name, cidr, { deletionTimestamp });
const address = (name: string, by = 'ipallocator.k8s.io'): Stored<V1IPAddress> => ({
  metadata: { ...meta(name), labels: { 'ipaddress.kubernetes.io/managed-by': by } },
  spec: { parentRef: { resource: 'services', namespace: 'default', name: 'web' } },
});
const main = network('kubernetes', '10.96.0.0/16');

describe('a network', () => {
  test('gets the finalizer, then is ready', () => {
    const bare = network('a', '10.1.0.0/24', { finalizers: ['other'] });
    expect(planServiceCidr(bare, [bare], [], NOW)).toEqual({
      set: 'finalizers',
      finalizers: ['other', SERVICE_CIDR_FINALIZER],
    });
    expect(planServiceCidr(main, [main], [], NOW)).toMatchObject({
      set: 'ready',
      condition: { status: 'True' },
    });
    const ready = { type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: '' };
    const done = { ...main, status: { conditions: [ready] } };
    expect(planServiceCidr(done, [done], [], NOW)).toEqual({ set: 'nothing' });
  });
  test('that is deleted stays while an address is only in it', () => {
    const one = leaving('a', '10.1.0.0/24');
    expect(planServiceCidr(one, [main, one], [address('10.1.0.7')], NOW)).toMatchObject({
      set: 'ready',
      condition: { status: 'False', reason: 'Terminating' },
    });
  });
  test.each<[string, Stored<V1ServiceCIDR>[], Stored<V1IPAddress>[]]>([
    ['without addresses', [main], [address('10.96.0.1')]],
    ['whose addresses another network has', [network('b', '10.1.0.0/16')], [address('10.1.0.7')]],
    ['with addresses of others than the allocator', [main], [address('10.1.0.7', 'me')]],
  ])('%s goes, after a grace', (_, others, addresses) => {
    const one = leaving('a', '10.1.0.0/24');
    expect(planServiceCidr(one, [...others, one], addresses, NOW)).toEqual({
      set: 'finalizers',
      finalizers: [],
    });
    const just = leaving('a', '10.1.0.0/24', '2026-01-01T00:59:56Z');
    expect(planServiceCidr(just, [...others, just], addresses, NOW)).toEqual({
      set: 'nothing',
      againMs: 6_000,
    });
  });
});

test('with an apiserver: a new network is used, kept while a Service needs it, and goes with the last one', async () => {
  const { client, informers, close } = await startSecuredApiServer({
    services: { serviceCidrs: ['10.96.0.0/24'] },
  });
  const stop = new AbortController();
  const networks = client.of(SERVICE_CIDRS);
  const services = client.of(SERVICES);
  const readyOf = async (name: string) =>
    (await networks.get({ name })).status?.conditions?.find(({ type }) => type === 'Ready');
  const patiently = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 30_000, interval: 50 });
  // The clock is ahead by more than the grace, so that the test need not wait for it.
  const now = () => Date.now() + 60_000;
  const context = { client, informers, log: silentLog, signal: stop.signal, record: () => {}, now };
  const running = serviceCidrController.run(context);
  try {
    await networks.create({ metadata: { name: 'more' }, spec: { cidrs: ['10.97.0.0/24'] } });
    await patiently(async () => expect(await readyOf('more')).toMatchObject({ status: 'True' }));
    const name = { namespace: 'default', name: 'web' };
    await services.create({ metadata: name, spec: { clusterIP: '10.97.0.7', ports: [{ port: 80 }] } });
    await networks.delete({ name: 'more' });
    await patiently(async () =>
      expect(await readyOf('more')).toMatchObject({ status: 'False', reason: 'Terminating' }),
    );
    await services.delete(name);
    await patiently(async () =>
      expect((await networks.list()).items.map(({ metadata }) => metadata.name)).toEqual(['kubernetes']),
    );
  } finally {
    stop.abort();
    await running;
    await close();
  }
});
