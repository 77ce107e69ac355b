// The IPVS mode on kernels in memory: what it makes, changes and leaves.
import { describe, expect, it } from 'vitest';
import { ipvsMode } from '../../../../proxy-modes/ipvs/mode.js';
import { FakeIpset } from '../../../../src/kernel/ipset/fake.js';
import { FakeIptables } from '../../../../src/kernel/iptables/fake.js';
import { FakeIpvs } from '../../../../src/kernel/ipvs/fake.js';
import { FakeRoute } from '../../../../src/kernel/route/fake.js';
import type { ProxyState, TrafficOptions } from '../../../../src/proxy/state.js';
import { ipvsContents } from '../../../support/proxy/contents.js';
import { endpoint, random, randomState, servicePort, stateOf } from '../../../support/proxy/port.js';
import { TRAFFIC } from '../../../support/proxy/semantics.js';

async function kernel() {
  const route = new FakeRoute();
  await route.apply([
    { do: 'add', kind: 'link', name: 'eth0', type: 'dummy', up: true },
    { do: 'add', kind: 'address', dev: 'eth0', address: '192.168.0.1/24' },
  ]);
  return { ipvs: new FakeIpvs(), ipset: new FakeIpset(), route, iptables: new FakeIptables() };
}
type Kernel = Awaited<ReturnType<typeof kernel>>;

const sysctls = new Map<string, string>();
const modeOn = (
  { iptables, ...ports }: Kernel,
  more: { scheduler?: string; traffic?: TrafficOptions; excludeCidrs?: string[] } = {},
) =>
  ipvsMode({
    ...ports,
    iptables: { ip: iptables },
    traffic: { ip: more.traffic ?? TRAFFIC },
    ...(more.scheduler === undefined ? {} : { scheduler: more.scheduler }),
    ...(more.excludeCidrs === undefined ? {} : { excludeCidrs: more.excludeCidrs }),
    setSysctl: async (name, value) => void sysctls.set(name, value),
  });

describe('the IPVS mode', () => {
  it.each(Array.from({ length: 10 }, (_, seed) => seed))(
    'changed step by step, the kernel is as if set up at once (seed %i)',
    async (seed) => {
      const next = random(seed);
      const stepwise = await kernel();
      const mode = modeOn(stepwise);
      let state: ProxyState = new Map();
      for (let round = 0; round < 12; round++) {
        const before = state;
        state = randomState(next, state);
        const keys = [...before.keys(), ...state.keys()];
        await mode.sync(state, new Set(keys.filter((key) => before.get(key) !== state.get(key))));
        const fresh = await kernel();
        await modeOn(fresh).sync(state);
        expect(await ipvsContents(stepwise)).toEqual(await ipvsContents(fresh));
        expect(await mode.check?.()).toBe(true);
      }
      // Another process finds it and leaves only what it wants itself.
      const last = randomState(next, new Map());
      await modeOn(stepwise).sync(last);
      const fresh = await kernel();
      await modeOn(fresh).sync(last);
      expect(await ipvsContents(stepwise)).toEqual(await ipvsContents(fresh));
    },
  );

  it('makes the servers and sets of well-known services', async () => {
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

  it.each(['rr', 'lc', 'dh', 'sh', 'sed', 'nq'])('schedules by %s where it is told to', async (scheduler) => {
    const place = await kernel();
    await modeOn(place, { scheduler }).sync(stateOf(servicePort(1)));
    expect((await place.ipvs.list()).map((service) => service.scheduler)).toEqual([scheduler]);
  });

  it('leaves the servers of others, and removes all of its own', async () => {
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
});
