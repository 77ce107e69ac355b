// Addresses and ports of Services through their lives: created, changed, failed, deleted, found after a restart.
import { describe, expect, test } from 'vitest';
import type { V1Service, V1ServiceSpec } from '../../../../src/api/gen/types.js';
import type { Draft } from '../../../../src/api/kind.js';
import { AddressRange, kubernetesAddress } from '../../../../src/apiserver/services/addressRange.js';
import { ServiceAllocator } from '../../../../src/apiserver/services/serviceAllocator.js';
import { addressesOf, portsOf } from '../../../../src/apiserver/services/serviceFields.js';

const service = (spec: Draft<V1ServiceSpec>, name = 's'): Draft<V1Service> => ({
  metadata: { name, namespace: 'default' },
  spec: structuredClone(spec),
});
const port = (changes: object = {}) => ({ port: 80, protocol: 'TCP', ...changes });

/** An allocator with the holdings of the Services that were written, as the store has them. */
function make(serviceCidrs = ['10.96.0.0/24'], nodePortRange = '30000-32767', others: string[] = []) {
  const written = new Set<V1Service>();
  const allocator = new ServiceAllocator({
    serviceCidrs,
    nodePortRange,
    holdings: {
      hasAddress: (address) => [...written].some((one) => addressesOf(one).includes(address)),
      hasPort: (port) => [...written].some((one) => portsOf(one).includes(port)),
    },
    otherNetworks: () => others.map((cidr) => new AddressRange(cidr)),
    random: () => 0,
  });
  const create: ServiceAllocator['create'] = (draft) => allocator.create(draft);
  const update: ServiceAllocator['update'] = (draft, old) => allocator.update(draft, old);
  return { create, update, written };
}
function created({ create, written }: ReturnType<typeof make>, spec: Draft<V1ServiceSpec>, name?: string) {
  const draft = service(spec, name);
  const release = create(draft);
  written.add(draft);
  release();
  return draft;
}

describe('a new Service', () => {
  test('gets an address from the upper band, and says its families', () => {
    expect(created(make(), { type: 'ClusterIP' }).spec).toEqual({
      type: 'ClusterIP',
      clusterIP: '10.96.0.17',
      clusterIPs: ['10.96.0.17'],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
    });
  });
  test('with thousands of wrong addresses is told of the first thousand', () => {
    const clusterIPs = Array.from({ length: 30_000 }, (_, index) => `v${index}`);
    const refusal = () => created(make(), { clusterIP: 'v0', clusterIPs });
    expect(refusal).toThrow('spec.clusterIPs[999]: Invalid value: "v999"');
    expect(refusal).not.toThrow('spec.clusterIPs[1000]');
  });
  test('gets the address it asks for, once', () => {
    const allocator = make();
    expect(created(allocator, { clusterIP: '10.96.0.10' }).spec).toMatchObject({
      clusterIPs: ['10.96.0.10'],
    });
    expect(() => created(allocator, { clusterIP: '10.96.0.10' }, 'web')).toThrow(
      'Service "web" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated',
    );
  });
  test.each([
    [
      'an address outside the network',
      { clusterIP: '10.97.0.1' },
      'failed to allocate IP 10.97.0.1: the provided network does not match the current range',
    ],
    [
      'the broadcast address',
      { clusterIP: '10.96.0.255' },
      'the provided IP (10.96.0.255) is not in the valid range. The range of valid IPs is 10.96.0.0/24',
    ],
    ['the first address, which is not its', { clusterIP: '10.96.0.1' }, 'provided IP is already allocated'],
    ['an address that is none', { clusterIP: 'x' }, 'must be a valid IP address'],
    [
      'a family that the cluster lacks',
      { ipFamilies: ['IPv6'] },
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ],
    [
      'two families on a cluster of one',
      { ipFamilyPolicy: 'RequireDualStack' },
      'this cluster is not configured for dual-stack services',
    ],
    [
      'a port outside the range',
      { type: 'NodePort', ports: [port({ nodePort: 80 })] },
      'spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
    ],
  ])('is refused %s', (_, spec, message) => {
    expect(() => created(make(), spec)).toThrow(message);
  });
  test('named kubernetes gets the first address', () => {
    const allocator = make();
    const clusterIP = kubernetesAddress('10.96.0.0/24');
    expect(clusterIP).toBe('10.96.0.1');
    expect(created(allocator, { clusterIP }, 'kubernetes').spec).toMatchObject({ clusterIP });
  });
  test('that is headless gets None, with its families', () => {
    expect(created(make(), { clusterIP: 'None', selector: { a: 'b' } }).spec).toMatchObject({
      clusterIP: 'None',
      clusterIPs: ['None'],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
    });
    expect(created(make(), { clusterIP: 'None' }).spec).toMatchObject({
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'RequireDualStack',
    });
  });
  test('that is external gets nothing', () => {
    expect(created(make(), { type: 'ExternalName', externalName: 'x.y' }).spec).toEqual({
      type: 'ExternalName',
      externalName: 'x.y',
    });
  });
  test('gets one address of each family when it prefers two', () => {
    const two = make(['10.96.0.0/24', 'fd00::/112']);
    expect(created(two, { ipFamilyPolicy: 'PreferDualStack' }).spec).toMatchObject({
      clusterIPs: ['10.96.0.17', 'fd00::101'],
      ipFamilies: ['IPv4', 'IPv6'],
    });
    expect(created(two, {}).spec).toMatchObject({ clusterIPs: ['10.96.0.18'] });
  });
});

describe('node ports', () => {
  test('are chosen from the upper band, and kept for explicit wishes below', () => {
    const spec = created(make(), {
      type: 'NodePort',
      ports: [port(), port({ port: 81, nodePort: 30000 })],
    }).spec;
    expect(spec?.ports?.map(({ nodePort }) => nodePort)).toEqual([30086, 30000]);
  });
  test('are refused when another Service has them', () => {
    const allocator = make();
    created(allocator, { type: 'NodePort', ports: [port({ nodePort: 30080 })] });
    expect(() =>
      created(allocator, { type: 'NodePort', ports: [port(), port({ port: 81, nodePort: 30080 })] }),
    ).toThrow('spec.ports[1].nodePort: Invalid value: 30080: provided port is already allocated');
  });
  test('are shared by one port in two protocols', () => {
    const spec = created(make(), { type: 'NodePort', ports: [port(), port({ protocol: 'UDP' })] }).spec;
    expect(spec?.ports?.map(({ nodePort }) => nodePort)).toEqual([30086, 30086]);
  });
  test('are not shared with the check of health', () => {
    const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', clusterIP: '10.96.0.20' } as const;
    const wish = { ...local, ports: [port({ nodePort: 30500 })], healthCheckNodePort: 30500 };
    expect(() => created(make(), wish)).toThrow(
      'spec.healthCheckNodePort: Invalid value: 30500: provided port is already allocated',
    );
    const allocator = make();
    const { healthCheckNodePort: own, ...rest } =
      created(allocator, { ...local, ports: [port()] }).spec ?? {};
    expect(rest.ports?.[0]?.nodePort).not.toBe(own);
    const [old] = [...allocator.written];
    const moved = service({ ...rest, ports: [port({ nodePort: own })] });
    expect(() => allocator.update(moved, old as V1Service)).toThrow('spec.healthCheckNodePort');
  });
  test('are not given to load balancers that decline them', () => {
    const spec = created(make(), {
      type: 'LoadBalancer',
      allocateLoadBalancerNodePorts: false,
      ports: [port()],
    }).spec;
    expect(spec?.ports).toEqual([port()]);
  });
  test('run out in words', () => {
    const allocator = make(['10.96.0.0/24'], '30000-30000');
    created(allocator, { type: 'NodePort', ports: [port()] });
    expect(() => created(allocator, { type: 'NodePort', ports: [port()] })).toThrow(
      'Internal error occurred: failed to allocate a nodePort: range is full',
    );
  });
});

describe('what was taken', () => {
  const asked = { type: 'NodePort', clusterIP: '10.96.0.9', ports: [port({ nodePort: 30001 })] };
  test('is kept from others while it is being written, and free again when the write fails', () => {
    const allocator = make();
    const release = allocator.create(service(asked));
    expect(() => created(allocator, { clusterIP: asked.clusterIP })).toThrow('already allocated');
    expect(() => created(allocator, { type: 'NodePort', ports: asked.ports })).toThrow('already allocated');
    release();
    expect(created(allocator, asked).spec).toMatchObject(asked);
  });
  test('comes back when a later part of the same Service is refused', () => {
    const allocator = make();
    expect(() => created(allocator, { ...asked, ports: [port({ nodePort: 1 })] })).toThrow();
    expect(created(allocator, asked).spec).toMatchObject(asked);
  });
});

describe('an update', () => {
  function updated(from: Draft<V1ServiceSpec>, change: (spec: Draft<V1ServiceSpec>) => void) {
    const allocator = make();
    const old = created(allocator, from);
    const draft = structuredClone(old);
    if (draft.spec !== undefined) change(draft.spec);
    allocator.update(draft, old)();
    return { old, draft };
  }
  test('that leaves out address and port keeps them', () => {
    const { draft, old } = updated({ type: 'NodePort', ports: [port()] }, (spec) => {
      delete spec.clusterIP;
      delete spec.clusterIPs;
      spec.ports = [port()];
    });
    expect(draft.spec).toEqual(old.spec);
  });
  test('to ClusterIP drops the node port', () => {
    const { draft } = updated({ type: 'NodePort', ports: [port({ nodePort: 30001 })] }, (spec) => {
      spec.type = 'ClusterIP';
    });
    expect(draft.spec?.ports).toEqual([port()]);
  });
  test('to NodePort takes a port', () => {
    const { draft } = updated({ type: 'ClusterIP', ports: [port()] }, (spec) => {
      spec.type = 'NodePort';
    });
    expect(draft.spec?.ports?.[0]?.nodePort).toBe(30086);
  });
  test('to ExternalName drops the address; back again takes a new one', () => {
    const { draft } = updated({ clusterIP: '10.96.0.5' }, (spec) => {
      spec.type = 'ExternalName';
      spec.externalName = 'x.y';
    });
    expect(draft.spec).toEqual({ type: 'ExternalName', externalName: 'x.y' });
    const back = structuredClone(draft);
    back.spec = { type: 'ClusterIP', clusterIP: '10.96.0.5' };
    make().update(back, draft);
    expect(back.spec.clusterIPs).toEqual(['10.96.0.5']);
  });
});

describe('ranges', () => {
  test.each([
    [['10.96.0.0/8'], '30000-32767'],
    [['nonsense'], '30000-32767'],
    [['10.0.0.0/24', '10.1.0.0/24'], '30000-32767'],
    [[], '30000-32767'],
    [['10.0.0.0/24'], '5-1'],
    [['10.0.0.0/24'], '1-70000'],
  ])('%j with %s are refused', (cidrs, ports) => {
    expect(() => make(cidrs, ports)).toThrow();
  });
  test('give every address once before the first is refused', () => {
    const allocator = make(['10.0.0.0/29']);
    const given = Array.from({ length: 5 }, () => created(allocator, {}).spec?.clusterIP);
    expect(new Set(given).size).toBe(5);
    expect(() => created(allocator, {})).toThrow('failed to allocate a serviceIP: range is full');
  });
  test('are followed by those of other ServiceCIDRs, of which any address may be asked for', () => {
    const allocator = make(['10.0.0.0/29'], '30000-32767', ['10.1.0.0/28', 'fd00::/64']);
    const given = Array.from({ length: 19 }, () => created(allocator, {}).spec?.clusterIP ?? '');
    expect(given.filter((address) => address.startsWith('10.1.'))).toHaveLength(14);
    expect(() => created(allocator, {})).toThrow('range is full');
    expect(() => created(allocator, { clusterIP: '10.2.0.1' })).toThrow(
      'the provided network does not match the current range',
    );
  });
});
