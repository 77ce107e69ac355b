// Packets through the IPVS mode, on a kernel that has it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import type { IpFamily } from '../../../proxy-modes/mode.js';
import { silentLog } from '../../../src/api/log.js';
import { ENDPOINT_SLICES, SERVICES } from '../../../src/api/resources.js';
import { openIpset } from '../../../src/kernel/ipset/adapter.js';
import { openIpvs } from '../../../src/kernel/ipvs/adapter.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { type ModeOptions, openMode } from '../../../src/proxy/modes.js';
import { NodeProxy } from '../../../src/proxy/proxy.js';
import type { TestNetNs } from '../../support/netns.js';
import { ipvsContents } from '../../support/proxy/contents.js';
import { CLUSTER_IP, get, type Lab, NODE, POD_CIDR, proxyLab, web } from '../../support/proxy/lab.js';
import { followChanges, modelChanges } from '../../support/proxy/model.js';
import { informersWith, service, slice } from '../../support/proxy/objects.js';
import { endpoint, servicePort, stateOf } from '../../support/proxy/port.js';
import { traffic } from '../../support/proxy/traffic.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

// The machine is emulated, on a host that may be busy.
vi.setConfig({ testTimeout: process.env['TRELLIS_PROOF'] === 'long' ? 1_800_000 : 180_000 });

const { lab, bare, serve: answer, closing } = proxyLab();
const { serve, ask, download } = traffic();
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** `TRELLIS_PROOF=long`: as many changes as in the other modes, which takes an emulated machine its time. */
const LONG = process.env['TRELLIS_PROOF'] === 'long';
const TRAFFIC = {
  ip: { local: { by: 'cidr', cidr: POD_CIDR } },
  ip6: { local: { by: 'cidr', cidr: 'fd00:244::/64' } },
} as const;

const FAMILIES = ['ip', 'ip6'] as const;

async function place(wiring: () => Promise<Lab>, families: readonly IpFamily[] = ['ip']) {
  const { node, ...rest } = await wiring();
  const open = async (more: ModeOptions['ipvs'] = {}) =>
    openMode('ipvs', {
      table: '',
      families,
      traffic: TRAFFIC,
      ipvs: more,
      backend: 'legacy',
      netns: node.path,
      setSysctl: async (name, value) =>
        void (await node.run('sh', '-c', `echo ${value} > /proc/sys/${name}`)),
    });
  return { node, ...rest, open };
}

async function start(wiring: () => Promise<Lab> = lab, families: readonly IpFamily[] = ['ip']) {
  const { open, ...rest } = await place(wiring, families);
  const mode = await open();
  closers.push(() => mode.close());
  return { ...rest, mode };
}

const contents = async ({ path }: TestNetNs) =>
  ipvsContents({
    ipvs: closing(await openIpvs(path)),
    ipset: closing(await openIpset(path)),
    route: closing(await openRoute(path)),
  });

describeWith(
  { root: true, tools: ['busybox', 'ipvsadm'], features: ['ip-vs'] },
  'packets through the IPVS mode',
  () => {
    test('follow a change, are refused without endpoints, and leave nothing when cleaned up', async () => {
      const { node, mode } = await start();
      await mode.sync(web(['10.244.0.2']));
      expect(await get(node, CLUSTER_IP)).toBe('one');
      await mode.sync(web(['10.244.0.3']));
      expect(await get(node, CLUSTER_IP)).toBe('two');
      expect(await mode.check?.()).toBe(true);
      await node.run('ipvsadm', '-C');
      expect(await mode.check?.()).toBe(false);
      mode.forget();
      await mode.sync(web(['10.244.0.3']));
      expect(await get(node, CLUSTER_IP)).toBe('two');
      await mode.sync(web([]));
      await expect(get(node, CLUSTER_IP)).rejects.toThrow(/refused/);
      await mode.cleanUp();
      expect(await node.run('ipvsadm', '-Sn')).toBe('');
      expect(await node.run('iptables-legacy-save')).not.toContain('KUBE');
      expect(await node.run('ipset', 'list', '-n')).toBe('');
    });

    test('go on to the node on its own address, and to its health check on that of a load balancer', async () => {
      const { node, outside, mode } = await start();
      await answer(node, 'node');
      const balancer = '198.51.100.7';
      const more = { externalIps: [NODE], loadBalancerIps: [balancer], healthCheckNodePort: 8080 };
      await mode.sync(web(['10.244.0.2'], { ...more, healthCheckNodePort: 8081 }));
      expect(await get(outside, NODE)).toBe('one');
      expect(await get(outside, `${NODE}:30080`)).toBe('one');
      expect(await get(outside, `${NODE}:8080`)).toBe('node');
      await expect(get(outside, `${balancer}:8080`)).rejects.toThrow(/refused/);
      await mode.sync(web(['10.244.0.2'], more));
      expect(await get(outside, `${balancer}:8080`)).toBe('node');
      // An address that the node gets later is no longer the device's.
      await node.run('ip', 'address', 'add', `${balancer}/32`, 'dev', 'lo');
      mode.forget();
      await mode.sync(web(['10.244.0.2'], { ...more, healthCheckNodePort: 8081 }));
      expect(await get(outside, balancer)).toBe('one');
      expect(await get(outside, `${balancer}:8080`)).toBe('node');
    });

    test('find their way after a kube-proxy, and after somebody has spoiled a part of it', async () => {
      const { node, outside, mode } = await start();
      for (const command of [
        'ipset create KUBE-CLUSTER-IP hash:ip,port family inet hashsize 1024 maxelem 65536',
        'ipset create KUBE-NODE-PORT-TCP bitmap:port range 0-65535',
        'ipset create KUBE-IPVS-IPS hash:ip family inet hashsize 1024 maxelem 65536',
        'iptables-legacy -t nat -N KUBE-SERVICES',
        'iptables-legacy -t nat -A KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP dst,dst -j RETURN',
        'iptables-legacy -t nat -A PREROUTING -j KUBE-SERVICES',
      ])
        await node.run(...(command.split(' ') as [string]));
      const state = web(['10.244.0.2'], { externalIps: ['192.0.2.7'] });
      await mode.sync(state);
      const written = await contents(node);
      const serves = async () => {
        expect(await contents(node)).toEqual(written);
        expect(await mode.check?.()).toBe(true);
        expect(await get(node, CLUSTER_IP)).toBe('one');
      };
      await serves();
      expect(await get(outside, '192.0.2.7')).toBe('one');
      for (const spoil of [
        'iptables-legacy -t nat -F',
        'iptables-legacy -t filter -F KUBE-IPVS-FILTER',
        'iptables-legacy -t mangle -R KUBE-IPVS-OUT-FILTER 2 -j DROP',
        `ip address delete ${CLUSTER_IP}/32 dev kube-ipvs0`,
        `ipvsadm -E -t ${CLUSTER_IP}:80 -s lc`,
        `ipvsadm -e -t ${CLUSTER_IP}:80 -r 10.244.0.2:8080 -m -w 7`,
        `ipset del KUBE-CLUSTER-IP ${CLUSTER_IP},tcp:80; ipset add KUBE-CLUSTER-IP 10.96.0.99,tcp:80`,
      ]) {
        await node.run('sh', '-c', spoil);
        expect([spoil, await mode.check?.()]).toEqual([spoil, false]);
        mode.forget();
        await mode.sync(state);
        await serves();
      }
    });

    test('of one client are shared out by mh, and forgotten when it was told', async () => {
      const { node, open, pods } = await place(bare);
      const [pod, from] = pods;
      if (pod === undefined || from === undefined) throw new Error('no pods');
      await pod.run('ip', 'address', 'add', '10.244.0.4/24', 'dev', 'eth0');
      await serve(pod);
      const mode = await open({ scheduler: 'mh', timeouts: { tcp: 77 } });
      closers.push(() => mode.close());
      const both = ['10.244.0.2', '10.244.0.4'].map((ip) => endpoint(ip));
      await mode.sync(stateOf(servicePort(10, { clusterIp: CLUSTER_IP, endpoints: both })));
      const { answers: seen, failed } = await ask(from, CLUSTER_IP, 80, 40);
      expect([Object.keys(seen).length, failed]).toEqual([2, 0]);
      expect(await mode.check?.()).toBe(true);
      expect(await node.run('ipvsadm', '-L', '--timeout')).toContain('77 120 300');
      expect(await node.run('cat', '/proc/sys/net/ipv4/vs/conn_reuse_mode')).toBe('1\n');
    });

    test('stay with one endpoint where the service asks for it', async () => {
      const { outside, mode } = await start();
      await mode.sync(web(['10.244.0.2', '10.244.0.3'], { affinitySeconds: 60 }));
      const first = await get(outside, `${NODE}:30080`);
      for (let i = 0; i < 5; i++) expect(await get(outside, `${NODE}:30080`)).toBe(first);
    });

    test('leave the servers of excluded networks alone, and keep strict ARP where it is asked for', async () => {
      const { node, open } = await place(bare);
      const mode = await open({ excludeCidrs: ['10.200.0.0/16'], strictArp: true });
      await node.run('ip', 'address', 'add', '10.200.0.1/32', 'dev', 'lo');
      for (const address of ['10.200.0.1', NODE])
        await node.run('ipvsadm', '-A', '-t', `${address}:81`, '-s', 'rr');
      await node.run('ipvsadm', '-a', '-t', '10.200.0.1:81', '-r', '10.201.0.1:81', '-m', '-w', '0');
      // Without evidence of this mode a director is left alone.
      await mode.cleanUp();
      expect(await node.run('ipvsadm', '-Sn')).toContain(`-A -t ${NODE}:81`);
      await mode.sync(web(['10.244.0.2']));
      await mode.check?.();
      const servers = await node.run('ipvsadm', '-Sn');
      expect(servers).toContain('-A -t 10.200.0.1:81');
      expect(servers).toContain('-r 10.201.0.1:81');
      // One on an address of the node that is nobody's by the configuration is taken for left over.
      expect(servers).not.toContain(`-A -t ${NODE}:81`);
      const arp = ['arp_ignore', 'arp_announce'].map((name) => `/proc/sys/net/ipv4/conf/all/${name}`);
      expect((await node.run('cat', ...arp)).split('\n')).toEqual(['1', '2', '']);
      await mode.cleanUp();
      expect(await node.run('ipvsadm', '-Sn')).toContain('10.200.0.1:81');
    });

    test('share out connections, and break none while others change', async () => {
      const { pods, mode } = await start(bare);
      const [pod, from] = pods;
      if (pod === undefined || from === undefined) throw new Error('no pods');
      await serve(pod);
      const own = servicePort(10, { clusterIp: CLUSTER_IP, endpoints: [endpoint('10.244.0.2')] });
      const state = new Map(stateOf(own));
      await mode.sync(state);
      const running = await download(from, CLUSTER_IP, 80);
      for (let n = 0; n < (LONG ? 1000 : 200); n++) {
        const port = servicePort(20 + (n % 20), { endpoints: n % 3 === 0 ? [] : [endpoint('10.244.0.2')] });
        if (n % 7 === 6) state.delete(port.key);
        else state.set(port.key, port);
        await mode.sync(state, new Set([port.key]));
      }
      expect(await running.end()).toEqual({ numbers: expect.any(Number) });
      expect(await ask(from, CLUSTER_IP, 80, 50)).toEqual({ answers: { '10.244.0.2:8080': 50 }, failed: 0 });
    });

    test('are as a fresh sync would have them after random changes', async () => {
      const { mode, node } = await start(bare, FAMILIES);
      const changes = modelChanges(200);
      await followChanges(mode, {
        changes,
        seed: 3,
        families: FAMILIES,
        compareEvery: changes / 2,
        async compare(state) {
          const fresh = await start(bare, FAMILIES);
          await fresh.mode.sync(state);
          expect(await contents(node)).toEqual(await contents(fresh.node));
        },
      });
      expect(await mode.check?.()).toBe(true);
    });

    test.runIf(LONG)('are put right after a sync that was killed', async () => {
      const { node, open } = await place(bare);
      const script = join(import.meta.dirname, '../../support/proxy/endlessSync.mjs');
      for (const afterMs of [30, 300, 900, 2000]) {
        const child = spawn(process.execPath, [script, 'ipvs', node.path, '150', 'legacy'], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        await once(child.stdout, 'data');
        await new Promise((resolve) => setTimeout(resolve, afterMs));
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        const [, signal] = await ended;
        expect(signal).toBe('SIGKILL');
      }
      const mode = await open();
      await mode.sync(web(['10.244.0.2', '10.244.0.3']));
      const fresh = await start(bare);
      await fresh.mode.sync(web(['10.244.0.2', '10.244.0.3']));
      expect(await contents(node)).toEqual(await contents(fresh.node));
      mode.close();
    });

    test.runIf(LONG)('reach any of a thousand endpoints', async () => {
      const { node, pods, mode } = await start(bare);
      const [pod, from] = pods;
      if (pod === undefined || from === undefined) throw new Error('no pods');
      await pod.run('ip', 'route', 'add', 'local', '10.244.8.0/21', 'dev', 'lo');
      await node.run('ip', 'route', 'add', '10.244.8.0/21', 'via', '10.244.0.2');
      await serve(pod);
      const endpoints = Array.from({ length: 1000 }, (_, n) => endpoint(`10.244.${8 + (n >> 8)}.${n & 255}`));
      await mode.sync(stateOf(servicePort(10, { clusterIp: CLUSTER_IP, endpoints })));
      const { answers: seen, failed } = await ask(from, CLUSTER_IP, 80, 1000);
      expect(failed).toBe(0);
      // In turn: every endpoint once.
      expect(Object.keys(seen)).toHaveLength(1000);
    });

    test.runIf(LONG)('of the others are served while endpoints flap', async () => {
      const { pods, mode } = await start(bare);
      const [pod, from] = pods;
      if (pod === undefined || from === undefined) throw new Error('no pods');
      await serve(pod);
      const informers = informersWith(service('web', CLUSTER_IP), slice('web', ['10.244.0.2']));
      informers.of(SERVICES).set(service('flaps', '10.96.0.77'));
      const proxy = new NodeProxy({ informers, nodeName: 'n1', mode, log: silentLog, minSyncPeriodMs: 1 });
      let flaps = 0;
      const timer = setInterval(() => {
        informers.of(ENDPOINT_SLICES).set(slice('flaps', flaps % 2 === 0 ? ['10.244.0.2'] : []));
        flaps += 1;
      }, 10);
      try {
        await proxy.synced();
        expect((await ask(from, CLUSTER_IP, 80, 500, 4)).failed).toBe(0);
        clearInterval(timer);
        expect(proxy.metrics.failures).toBe(0);
        informers.of(ENDPOINT_SLICES).set(slice('flaps', ['10.244.0.2']));
        await until(async () => expect((await ask(from, '10.96.0.77', 80, 2)).failed).toBe(0));
      } finally {
        clearInterval(timer);
        await proxy.stop();
      }
    });

    test('are written anew when somebody cleared them, which the kernel does not tell', async () => {
      const { node, pods, mode } = await start(bare);
      const [pod, from] = pods;
      if (pod === undefined || from === undefined) throw new Error('no pods');
      await serve(pod);
      const informers = informersWith(service('web', CLUSTER_IP), slice('web', ['10.244.0.2']));
      const proxy = new NodeProxy({ informers, nodeName: 'n1', mode, log: silentLog });
      try {
        await proxy.synced();
        // Until it has looked once after its last sync.
        await new Promise((resolve) => setTimeout(resolve, 3000));
        await node.run('ipvsadm', '-C');
        await vi.waitFor(() => expect(proxy.metrics.repairs).toBe(1), { timeout: 25_000 });
        await vi.waitFor(async () => expect((await ask(from, CLUSTER_IP, 80, 3)).failed).toBe(0), {
          timeout: 60_000,
        });
      } finally {
        await proxy.stop();
      }
    });
  },
);
