// What the apiserver mends of the claims of Services, on its own and after a restart on a store that is out of step.
import { describe, expect, test, vi } from 'vitest';
import type { V1IPAddress, V1Service } from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';
import { EVENTS, IP_ADDRESSES, SERVICE_CIDRS, SERVICES } from '../../../../src/api/resources.js';
import { eventOf, planRepair, type ServiceState } from '../../../../src/apiserver/services/repair.js';
import { MemoryStore } from '../../../support/memoryStore.js';
import { startSecuredApiServer } from '../../../support/securedApiServer.js';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const OLD = '2026-01-01T00:00:00Z';
const meta = (name: string, creationTimestamp = OLD) => ({
  name,
  uid: name,
  resourceVersion: '1',
  creationTimestamp,
});
const service = (name: string, clusterIP: string, nodePort?: number, time = OLD): Stored<V1Service> => ({
  metadata: { ...meta(name, time), namespace: 'default' },
  spec: {
    clusterIP,
    clusterIPs: [clusterIP],
    ports: [{ port: 80, ...(nodePort === undefined ? {} : { nodePort }) }],
  },
  status: {},
});
const address = (
  name: string,
  parent: string,
  { time = OLD, resource = 'services' } = {},
): Stored<V1IPAddress> => ({
  metadata: {
    ...meta(name, time),
    labels: {
      'ipaddress.kubernetes.io/ip-family': 'IPv4',
      'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
    },
  },
  spec: { parentRef: { resource, namespace: 'default', name: parent } },
});
const claim = (port: number, owner: string) =>
  [
    port,
    { key: `/registry/servicenodeports/${port}`, value: Buffer.from(`default/${owner}`), revision: 1 },
  ] as const;
const plan = (state: Partial<ServiceState>) =>
  planRepair({
    services: [],
    addresses: [],
    ports: new Map(),
    hasNetwork: (one) => one.startsWith('10.96.'),
    isInRange: (port) => port >= 30000,
    now: NOW,
    ...state,
  });
/** `what reason`, for what is done and told. */
const words = (state: Partial<ServiceState>) =>
  plan(state).map((repair) => `${repair.what} ${eventOf(repair)?.reason ?? ''}`.trim());

describe('the plan', () => {
  test('is empty when Services and claims agree', () => {
    const state = {
      services: [service('web', '10.96.0.5', 30001), service('db', 'None')],
      addresses: [address('10.96.0.5', 'web')],
      ports: new Map([claim(30001, 'web')]),
    };
    expect(plan(state)).toEqual([]);
  });
  test('makes what is missing', () => {
    const services = [service('web', '10.96.0.5', 30001)];
    expect(words({ services })).toEqual(['claimAddress ClusterIPNotAllocated', 'claimPort PortNotAllocated']);
  });
  test('frees what no Service holds, but not what is young or not the allocator’s', () => {
    const foreign = { ...address('10.96.0.9', 'x'), metadata: meta('10.96.0.9') };
    const young = address('10.96.0.8', 'x', { time: new Date(NOW - 5_000).toISOString() });
    const state = {
      addresses: [address('10.96.0.7', 'gone'), young, foreign],
      ports: new Map([claim(30001, 'gone')]),
    };
    expect(plan(state)).toMatchObject([
      { what: 'freeAddress', object: { metadata: { name: '10.96.0.7' } } },
      { what: 'freePort' },
    ]);
  });
  test('gives a claim that names another to the Service that holds it', () => {
    const services = [service('web', '10.96.0.5', 30001)];
    for (const addresses of [
      [address('10.96.0.5', 'gone')],
      [address('10.96.0.5', 'web', { resource: 'gateways' })],
      [{ ...address('10.96.0.5', 'web'), metadata: meta('10.96.0.5') }],
    ])
      expect(words({ services, addresses, ports: new Map([claim(30001, 'gone')]) })).toEqual([
        'replaceAddress ClusterIPNotAllocated',
        'replacePort PortNotAllocated',
      ]);
  });
  test('tells of Services that hold the same, and leaves the claim to whom it names', () => {
    const services = [
      service('young', '10.96.0.5', 30001, '2026-01-01T00:30:00Z'),
      service('old', '10.96.0.5', 30001),
    ];
    const told = plan({ services, addresses: [address('10.96.0.5', 'young')] });
    expect(told).toMatchObject([
      { what: 'tell', reason: 'ClusterIPAlreadyAllocated', service: { metadata: { name: 'old' } } },
      { what: 'tell', reason: 'PortAlreadyAllocated', service: { metadata: { name: 'young' } } },
      { what: 'claimPort', service: { metadata: { name: 'old' } } },
    ]);
  });
  test('tells of what is outside every range', () => {
    const state = {
      services: [service('web', '10.1.0.5', 80)],
      addresses: [address('10.1.0.5', 'web')],
      ports: new Map([claim(80, 'web')]),
    };
    expect(words(state)).toEqual(['tell ClusterIPOutOfRange', 'tell PortOutOfRange']);
  });
});

describe('an apiserver', () => {
  test('started on a store without claims makes them before it gives anything, frees leaks, and says so', async () => {
    const store = new MemoryStore();
    const put = (key: string, object: object) =>
      store.create(`/registry/${key}`, Buffer.from(JSON.stringify(object)));
    const stored = (name: string, spec: object) => ({
      kind: 'Service',
      apiVersion: 'v1',
      metadata: { name, namespace: 'default', uid: name, creationTimestamp: OLD },
      spec,
    });
    const spec = {
      type: 'NodePort',
      clusterIP: '10.96.0.5',
      clusterIPs: ['10.96.0.5'],
      ports: [{ port: 80, nodePort: 30001 }],
    };
    await put('services/default/web', stored('web', spec));
    const { metadata, ...rest } = address('10.96.0.6', 'gone');
    const leaked = { metadata: { ...metadata, resourceVersion: undefined }, ...rest };
    await put('ipaddresses.networking.k8s.io/10.96.0.6', {
      kind: 'IPAddress',
      apiVersion: 'networking.k8s.io/v1',
      ...leaked,
    });
    await store.create('/registry/servicenodeports/30002', Buffer.from('default/gone'));
    const { client, close } = await startSecuredApiServer({ store });
    try {
      const create = (name: string, rest: V1Service['spec']) =>
        client
          .of(SERVICES)
          .create({ metadata: { name, namespace: 'default' }, spec: { ports: [{ port: 80 }], ...rest } });
      await expect(create('rival', { clusterIP: '10.96.0.5' })).rejects.toThrow('already allocated');
      await expect(
        create('rival', { type: 'NodePort', ports: [{ port: 80, nodePort: 30001 }] }),
      ).rejects.toThrow('already allocated');
      await create('heir', {
        type: 'NodePort',
        clusterIP: '10.96.0.6',
        ports: [{ port: 80, nodePort: 30002 }],
      });
      const { items } = await client.of(IP_ADDRESSES).list();
      expect(items.map(({ metadata, spec: { parentRef } }) => `${metadata.name} ${parentRef.name}`)).toEqual([
        '10.96.0.1 kubernetes',
        '10.96.0.5 web',
        '10.96.0.6 heir',
      ]);
      await vi.waitFor(
        async () => {
          const events = await client.of(EVENTS).list({ namespace: 'default' });
          expect(events.items.map(({ reason }) => reason).sort()).toEqual([
            'ClusterIPNotAllocated',
            'IPAddressNotAllocated',
            'PortNotAllocated',
          ]);
        },
        { timeout: 30_000 },
      );
    } finally {
      await close();
    }
  });

  test('has its networks as an object, and gives addresses of others once they are ready', async () => {
    const { client, close } = await startSecuredApiServer({ services: { serviceCidrs: ['10.96.0.0/29'] } });
    try {
      const networks = client.of(SERVICE_CIDRS);
      expect(await networks.get({ name: 'kubernetes' })).toMatchObject({
        spec: { cidrs: ['10.96.0.0/29'] },
        status: { conditions: [{ type: 'Ready', status: 'True' }] },
      });
      const create = (name: string) =>
        client
          .of(SERVICES)
          .create({ metadata: { name, namespace: 'default' }, spec: { ports: [{ port: 80 }] } });
      for (let n = 0; n < 5; n += 1) await create(`first-${n}`);
      await expect(create('more')).rejects.toThrow('range is full');
      await networks.create({ metadata: { name: 'more' }, spec: { cidrs: ['10.97.0.0/24'] } });
      await expect(create('more')).rejects.toThrow('range is full');
      const lastTransitionTime = OLD;
      const conditions = [{ type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime }];
      await networks.patch({ name: 'more' }, 'merge', { status: { conditions } }, { subresource: 'status' });
      expect((await create('more')).spec?.clusterIP).toMatch(/^10\.97\.0\./);
    } finally {
      await close();
    }
  });
});
