// The IPVS mode on kernels in memory: what it makes, changes and leaves.
import { describe, expect, test } from 'vitest';
import { ipvsSysctls } from '../../../../proxy-modes/ipvs/sysctls.js';
import type { ServicePort } from '../../../../proxy-modes/mode.js';
import { ipvsContents } from '../../../support/proxy/contents.js';
import {
  freshly,
  type Kernel,
  kernel,
  modeOn,
  NODE,
  serversOf,
  sysctls,
} from '../../../support/proxy/ipvsKernel.js';
import {
  eachRandomState,
  endpoint,
  random,
  randomState,
  servicePort,
  stateOf,
} from '../../../support/proxy/port.js';

/** The very same object before and after a change of others, as a proxy has it. */
const UNCHANGED = servicePort(2, { nodePort: 30_001 });

describe('the IPVS mode', () => {
  test.each(Array.from({ length: 10 }, (_, seed) => seed))(
    'changed step by step, the kernel is as if set up at once (seed %i)',
    async (seed) => {
      const next = random(seed);
      const stepwise = await kernel();
      const mode = modeOn(stepwise);
      await eachRandomState(next, async (state, changed) => {
        await mode.sync(state, changed);
        const fresh = await kernel();
        await modeOn(fresh).sync(state);
        expect(await ipvsContents(stepwise)).toEqual(await ipvsContents(fresh));
        expect(await mode.check?.()).toBe(true);
      });
      // Another process finds it and leaves only what it wants itself.
      const last = randomState(next, new Map());
      await modeOn(stepwise).sync(last);
      const fresh = await kernel();
      await modeOn(fresh).sync(last);
      expect(await ipvsContents(stepwise)).toEqual(await ipvsContents(fresh));
    },
  );

  test('makes the servers and sets of well-known services', async () => {
    const place = await kernel();
    const pods = ['172.17.0.2', '172.17.0.3'].map((ip) => endpoint(ip, true, 80));
    await modeOn(place, { traffic: {} }).sync(
      stateOf(
        servicePort(1, { clusterIp: '20.1.194.89', port: 8000, endpoints: pods }),
        servicePort(2, { clusterIp: '20.1.16.94', port: 8000, nodePort: 32_143, endpoints: pods }),
        servicePort(3, { clusterIp: '20.1.247.181', externalIps: ['192.168.56.110'], endpoints: pods }),
        servicePort(4, { clusterIp: '20.1.0.1', port: 443, affinitySeconds: 10_800, endpoints: pods }),
      ),
    );
    const { servers, sets } = await ipvsContents(place);
    expect(servers).toEqual([
      'tcp 192.168.0.1:32143 rr - 172.17.0.2:80,172.17.0.3:80',
      'tcp 192.168.56.110:80 rr - 172.17.0.2:80,172.17.0.3:80',
      'tcp 20.1.0.1:443 rr 10800 172.17.0.2:80,172.17.0.3:80',
      'tcp 20.1.16.94:8000 rr - 172.17.0.2:80,172.17.0.3:80',
      'tcp 20.1.194.89:8000 rr - 172.17.0.2:80,172.17.0.3:80',
      'tcp 20.1.247.181:80 rr - 172.17.0.2:80,172.17.0.3:80',
    ]);
    expect(sets).toContain('KUBE-LOOP-BACK 172.17.0.2,tcp:80,172.17.0.2 172.17.0.3,tcp:80,172.17.0.3');
    expect(sets).toContain('KUBE-NODE-PORT-TCP 32143');
    expect(sets).toContain('KUBE-EXTERNAL-IP 192.168.56.110,tcp:80');
    const rules = (await place.iptables.save()).get('nat')?.chains;
    expect(rules?.get('KUBE-POSTROUTING')?.rules[0]).toBe(
      '-A KUBE-POSTROUTING -m comment --comment "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose" -m set --match-set KUBE-LOOP-BACK dst,dst,src -j MASQUERADE',
    );
    expect(rules?.get('KUBE-SERVICES')?.rules).toContain(
      '-A KUBE-SERVICES -m comment --comment "Kubernetes service cluster ip + port for masquerade purpose" -m set --match-set KUBE-CLUSTER-IP src,dst -j KUBE-MARK-MASQ',
    );
    expect(sysctls.get('net/ipv4/vs/conntrack')).toBe('1');
  });

  test.each(['rr', 'lc', 'dh', 'sh', 'sed', 'nq'])(
    'schedules by %s where it is told to',
    async (scheduler) => {
      const place = await kernel();
      await modeOn(place, { scheduler }).sync(stateOf(servicePort(1)));
      expect((await place.ipvs.list()).map((service) => service.scheduler)).toEqual([scheduler]);
    },
  );

  test('leaves the servers of others, and removes all of its own', async () => {
    const place = await kernel();
    const other = { protocol: 'tcp', address: '10.200.0.1', port: 80 } as const;
    await place.ipvs.apply([{ do: 'add', kind: 'service', ...other, scheduler: 'rr' }]);
    const mode = modeOn(place, { excludeCidrs: ['10.200.0.0/16'] });
    await mode.sync(stateOf(servicePort(1, { nodePort: 30_080 })));
    await mode.cleanUp();
    expect(await place.ipvs.list()).toMatchObject([other]);
    expect(await place.ipset.list()).toEqual([]);
    expect(await place.route.link('kube-ipvs0')).toBeUndefined();
    const chains = [...(await place.iptables.save()).values()].flatMap((table) => [...table.chains.keys()]);
    expect(chains.filter((name) => name.startsWith('KUBE'))).toEqual([]);
  });

  test('takes no address of the node for its device, nor the node’s other ports, also when it becomes the node’s later', async () => {
    const place = await kernel();
    const mode = modeOn(place);
    const state = stateOf(servicePort(1, { externalIps: [NODE], loadBalancerIps: ['192.168.0.2'] }));
    await mode.sync(state);
    const held = async () => {
      const { addresses, sets } = await ipvsContents(place);
      return [addresses, sets.find((set) => set.startsWith('KUBE-IPVS-IPS '))];
    };
    expect(await held()).toEqual([['10.96.0.1/32', '192.168.0.2/32'], 'KUBE-IPVS-IPS 10.96.0.1 192.168.0.2']);
    expect((await serversOf(place)).map((server) => server.split(' ')[1])).toEqual([
      '10.96.0.1:80',
      `${NODE}:80`,
      '192.168.0.2:80',
    ]);
    const drift = new Promise<void>((resolve) => mode.watch?.(resolve));
    await place.route.apply([{ do: 'add', kind: 'address', dev: 'eth0', address: '192.168.0.2/24' }]);
    await drift;
    mode.forget();
    await mode.sync(state);
    expect(await held()).toEqual([['10.96.0.1/32'], 'KUBE-IPVS-IPS 10.96.0.1']);
    expect(await mode.check?.()).toBe(true);
  });

  test.each<[string, ServicePort[], ServicePort[]]>([
    [
      'two ports that swap their names',
      [named('a', { port: 80 }), named('b', { port: 81 })],
      [named('a', { port: 81 }), named('b', { port: 80 })],
    ],
    [
      'two services that swap their node ports',
      [servicePort(1, { nodePort: 30_001 }), servicePort(2, { nodePort: 30_002 })],
      [servicePort(1, { nodePort: 30_002 }), servicePort(2, { nodePort: 30_001 })],
    ],
    [
      'an external IP that another service claims',
      [servicePort(1), servicePort(2, { externalIps: ['192.0.2.1'] })],
      [servicePort(1, { externalIps: ['192.0.2.1'] }), servicePort(2)],
    ],
    [
      'a node port that was an external IP and port of the node',
      [servicePort(1, { externalIps: [NODE], port: 30_001 }), UNCHANGED],
      [servicePort(1, { port: 30_001 }), UNCHANGED],
    ],
  ])('keeps every server of %s', async (_, before, after) => {
    for (const [from, to] of [
      [before, after],
      [after, before],
    ] as const) {
      const place = await kernel();
      const mode = modeOn(place);
      await mode.sync(stateOf(...from));
      await mode.sync(stateOf(...to), new Set(to.map(({ key }) => key)));
      expect(await ipvsContents(place)).toEqual(await freshly(stateOf(...to)));
    }
  });

  test('takes over the sets of a kube-proxy, which are made otherwise', async () => {
    const place = await kernel();
    const set = (name: string, more: object) =>
      ({ do: 'add', kind: 'set', name, ...more }) as Parameters<Kernel['ipset']['apply']>[0][number];
    await place.ipset.apply([
      set('KUBE-CLUSTER-IP', { type: 'hash:ip,port', family: 'inet', maxelem: 65_536 }),
      set('KUBE-NODE-PORT-TCP', { type: 'bitmap:port', range: '0-65535' }),
      set('KUBE-NEW', { type: 'hash:ip' }),
      { do: 'add', kind: 'entry', set: 'KUBE-CLUSTER-IP', entries: ['10.96.0.9,tcp:80'] },
    ]);
    const state = stateOf(servicePort(1, { nodePort: 30_001 }));
    const mode = modeOn(place);
    await mode.sync(state);
    expect(await ipvsContents(place)).toEqual(await freshly(state));
    expect(await mode.check?.()).toBe(true);
  });

  const deleting = { do: 'delete', kind: 'entry', set: 'KUBE-CLUSTER-IP', entries: ['10.96.0.1,tcp:80'] };
  test.each<[string, (place: Kernel) => Promise<unknown>]>([
    ['flushed nat rules', ({ iptables }) => iptables.restore(['*nat', ':KUBE-SERVICES - [0:0]', 'COMMIT'])],
    [
      'flushed filter rules',
      ({ iptables }) => iptables.restore(['*filter', ':KUBE-IPVS-FILTER - [0:0]', 'COMMIT']),
    ],
    [
      'a flushed mangle chain',
      ({ iptables }) => iptables.restore(['*mangle', ':KUBE-IPVS-OUT-FILTER - [0:0]', 'COMMIT']),
    ],
    [
      'jumps that are gone',
      ({ iptables }) => iptables.restore(['*nat', `-D PREROUTING ${PORTALS}`, 'COMMIT']),
    ],
    [
      'a rule replaced',
      ({ iptables }) =>
        iptables.restore(['*nat', ':KUBE-MARK-MASQ - [0:0]', '-A KUBE-MARK-MASQ -j RETURN', 'COMMIT']),
    ],
    [
      'an address removed',
      ({ route }) =>
        route.apply([{ do: 'delete', kind: 'address', dev: 'kube-ipvs0', address: '10.96.0.1/32' }]),
    ],
    [
      'a device renamed',
      ({ route }) => route.apply([{ do: 'change', kind: 'link', name: 'kube-ipvs0', newName: 'other' }]),
    ],
    [
      'an address added',
      ({ route }) =>
        route.apply([{ do: 'add', kind: 'address', dev: 'kube-ipvs0', address: '10.96.0.99/32' }]),
    ],
    [
      'another scheduler',
      ({ ipvs }) => ipvs.apply([{ do: 'change', kind: 'service', ...SERVER, scheduler: 'lc' }]),
    ],
    [
      'persistence',
      ({ ipvs }) =>
        ipvs.apply([{ do: 'change', kind: 'service', ...SERVER, scheduler: 'rr', persistence: 60 }]),
    ],
    [
      'another weight',
      ({ ipvs }) =>
        ipvs.apply([
          {
            do: 'change',
            kind: 'destination',
            service: SERVER,
            address: '10.244.0.1',
            port: 8080,
            weight: 7,
          },
        ]),
    ],
    ['a server removed', ({ ipvs }) => ipvs.apply([{ do: 'delete', kind: 'service', ...SERVER }])],
    [
      'an entry replaced',
      ({ ipset }) =>
        ipset.apply([
          deleting as never,
          { do: 'add', kind: 'entry', set: 'KUBE-CLUSTER-IP', entries: ['10.96.0.99,tcp:80'] },
        ]),
    ],
  ])('finds and puts right %s', async (_, spoil) => {
    const place = await kernel();
    const mode = modeOn(place);
    const state = stateOf(servicePort(1, { nodePort: 30_001 }));
    await mode.sync(state);
    const rules = async () =>
      [...(await place.iptables.save()).values()].flatMap(({ name, chains }) =>
        [...chains.values()].map((chain) => [name, chain.name, chain.rules]),
      );
    const [before, written] = [await ipvsContents(place), await rules()];
    expect(await mode.check?.()).toBe(true);
    await spoil(place);
    expect(await mode.check?.()).toBe(false);
    mode.forget();
    await mode.sync(state);
    expect(await ipvsContents(place)).toEqual(before);
    expect(await rules()).toEqual(written);
    expect(await mode.check?.()).toBe(true);
  });

  test('tells when its device loses an address, and not of its own doing', async () => {
    const place = await kernel();
    const mode = modeOn(place);
    let drifts = 0;
    mode.watch?.(() => {
      drifts += 1;
    });
    await mode.sync(stateOf(servicePort(1), servicePort(2)));
    await mode.sync(stateOf(servicePort(1)));
    await mode.check?.();
    expect(drifts).toBe(0);
    await place.route.apply([{ do: 'delete', kind: 'address', dev: 'kube-ipvs0', address: '10.96.0.1/32' }]);
    await expect.poll(() => drifts).toBe(1);
  });

  test.each(['while it runs', 'over a restart', 'when cleaned up'])(
    'removes the node port servers of an address that has left the node %s',
    async (when) => {
      const place = await kernel();
      const extra = { kind: 'address', dev: 'eth0', address: '192.168.7.7/24' } as const;
      await place.route.apply([{ do: 'add', ...extra }]);
      const state = stateOf(servicePort(1, { nodePort: 30_001 }));
      const mode = modeOn(place);
      await mode.sync(state);
      expect((await serversOf(place)).join()).toContain('192.168.7.7:30001');
      await place.route.apply([{ do: 'delete', ...extra }]);
      mode.forget();
      if (when === 'while it runs') await mode.sync(state);
      else if (when === 'over a restart') await modeOn(place).sync(state);
      else await modeOn(place).cleanUp();
      expect((await serversOf(place)).join()).not.toContain('192.168.7.7');
    },
  );

  test.each([[[]], [['10.200.0.0/16']]])(
    'leaves destinations of a director’s servers, draining ones too (excluded: %s)',
    async (excludeCidrs) => {
      const place = await kernel();
      const service = { protocol: 'tcp', address: '10.200.0.1', port: 80 } as const;
      const to = { do: 'add', kind: 'destination', service, port: 80 } as const;
      await place.ipvs.apply([
        { do: 'add', kind: 'service', ...service, scheduler: 'wrr' },
        { ...to, address: '10.201.0.1', weight: 0 },
        { ...to, address: '10.201.0.2', weight: 5 },
      ]);
      const mode = modeOn(place, { excludeCidrs });
      await mode.sync(stateOf(servicePort(1)));
      await mode.check?.();
      expect((await place.ipvs.get(service))?.destinations).toMatchObject([{ weight: 0 }, { weight: 5 }]);
    },
  );

  test('cleans up nothing where it was never', async () => {
    const place = await kernel();
    await place.ipvs.apply([
      { do: 'add', kind: 'service', protocol: 'tcp', address: NODE, port: 80, scheduler: 'wlc' },
    ]);
    const mode = modeOn(place);
    await mode.cleanUp();
    expect(await place.ipvs.list()).toHaveLength(1);
    // Where it was, what is excluded stays.
    const careful = modeOn(place, { excludeCidrs: [`${NODE}/32`] });
    await careful.sync(stateOf(servicePort(1)));
    await careful.cleanUp();
    expect(await place.ipvs.list()).toMatchObject([{ address: NODE, scheduler: 'wlc' }]);
  });

  test('hashes ports too where it schedules by mh, and sets the timeouts it is told', async () => {
    const place = await kernel();
    const mode = modeOn(place, { scheduler: 'mh', timeouts: { tcp: 7, tcpFin: 0 } });
    await mode.sync(stateOf(servicePort(1)));
    expect(await place.ipvs.list()).toMatchObject([{ scheduler: 'mh', flags: ['mh-port'] }]);
    expect(await place.ipvs.timeouts()).toEqual({ tcp: 7, tcpFin: 120, udp: 300 });
    expect(await mode.check?.()).toBe(true);
  });

  test('syncs only when a check that began before has ended', async () => {
    const place = await kernel();
    let [release, reached] = [() => {}, () => {}];
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const isListing = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const mode = modeOn(place);
    await mode.sync(stateOf(servicePort(1)));
    const list = place.ipvs.list.bind(place.ipvs);
    place.ipvs.list = async () => {
      reached();
      await held;
      return list();
    };
    const check = mode.check?.();
    await isListing;
    const sync = mode.sync(stateOf(servicePort(1), servicePort(2)));
    await new Promise(setImmediate);
    expect(await list()).toHaveLength(1);
    release();
    expect(await check).toBe(true);
    await sync;
    expect(await list()).toHaveLength(2);
  });
});

test.each([
  ['4.19.0-26-amd64', '0'],
  ['5.8.18', '0'],
  ['5.9.0', undefined],
  ['6.1.0-18-amd64', undefined],
])('on Linux %s the reuse of connections is set to %s', (release, expected) => {
  const set = new Map(Object.entries(ipvsSysctls({ release })));
  expect(set.get('net/ipv4/vs/conn_reuse_mode')).toBe(expected);
  expect(set.get('net/ipv4/vs/conntrack')).toBe('1');
});

const PORTALS = '-m comment --comment "kubernetes service portals" -j KUBE-SERVICES';
const SERVER = { protocol: 'tcp', address: '10.96.0.1', port: 80 } as const;
function named(name: string, more: Partial<ServicePort>): ServicePort {
  const port = servicePort(1, more);
  return {
    ...port,
    key: port.key.replace(':http', `:${name}`),
    name: port.name.replace(':http', `:${name}`),
  };
}
