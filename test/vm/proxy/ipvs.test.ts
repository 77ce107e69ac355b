// Packets through the IPVS mode, on a kernel that has it.
import { expect, it, vi } from 'vitest';
import { ipvsMode } from '../../../proxy-modes/ipvs/mode.js';
import { silentLog } from '../../../src/api/log.js';
import { ENDPOINT_SLICES, NODES, SERVICES } from '../../../src/api/resources.js';
import { openIpset } from '../../../src/kernel/ipset/adapter.js';
import { openIptables } from '../../../src/kernel/iptables/adapter.js';
import { openIpvs } from '../../../src/kernel/ipvs/adapter.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { runProxy } from '../../../src/proxy/proxy.js';
import { ipvsContents } from '../../support/proxy/contents.js';
import {
  answers,
  CLUSTER_IP,
  get,
  type Lab,
  NODE,
  POD_CIDR,
  proxyLab,
  web,
} from '../../support/proxy/lab.js';
import { followChanges, modelChanges } from '../../support/proxy/model.js';
import { endpoint, servicePort, stateOf } from '../../support/proxy/port.js';
import { traffic } from '../../support/proxy/traffic.js';
import { describeWith } from '../../support/requires.js';
import { StaticInformers } from '../../support/staticInformers.js';

// The machine is emulated, on a host that may be busy.
vi.setConfig({ testTimeout: 180_000 });

const { lab, bare, closing } = proxyLab();
const { serve, ask, download } = traffic();

async function start(place: () => Promise<Lab> = lab) {
  const { node, ...rest } = await place();
  const [ipvs, ipset, route] = [
    await openIpvs(node.path),
    await openIpset(node.path),
    await openRoute(node.path),
  ];
  const mode = ipvsMode({
    ipvs: closing(ipvs),
    ipset: closing(ipset),
    route: closing(route),
    iptables: { ip: await openIptables({ family: 'inet', backend: 'legacy', netns: node.path }) },
    traffic: { ip: { local: { by: 'cidr', cidr: POD_CIDR } } },
    setSysctl: async (name, value) => void (await node.run('sh', '-c', `echo ${value} > /proc/sys/${name}`)),
  });
  return { node, ...rest, mode, ipvs, ipset, route };
}

describeWith(
  { root: true, tools: ['busybox', 'ipvsadm'], features: ['ip-vs'] },
  'packets through the IPVS mode',
  () => {
    it('reach every endpoint from the node, from pods and from outside', async () => {
      const { node, pods, outside, mode } = await start();
      await mode.sync(web(['10.244.0.2', '10.244.0.3']));
      for (const pod of pods) expect(await answers(pod, CLUSTER_IP)).toEqual(['one', 'two']);
      expect(await answers(node, CLUSTER_IP)).toEqual(['one', 'two']);
      expect(await answers(outside, `${NODE}:30080`)).toEqual(['one', 'two']);
    });

    it('let a pod reach itself', async () => {
      const { pods, mode } = await start();
      await mode.sync(web(['10.244.0.2']));
      for (const pod of pods) expect(await get(pod, CLUSTER_IP)).toBe('one');
    });

    it('follow a change, are refused without endpoints, and leave nothing when cleaned up', async () => {
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

    it('stay with one endpoint, keep their source with policy Local, and pass by the source ranges', async () => {
      const { outside, node, mode } = await start();
      await mode.sync(web(['10.244.0.2', '10.244.0.3'], { affinitySeconds: 60 }));
      const first = await get(outside, `${NODE}:30080`);
      for (let i = 0; i < 5; i++) expect(await get(outside, `${NODE}:30080`)).toBe(first);
      await mode.sync(web(['10.244.0.2'], { externalLocal: true }));
      expect(await get(outside, `${NODE}:30080`)).toBe('one');
      expect(await node.run('ipvsadm', '-Lnc')).toContain('192.168.77.2');
      const guarded = { loadBalancerIps: ['198.51.100.9'], sourceRanges: ['192.168.77.0/24'] };
      await mode.sync(web(['10.244.0.2'], guarded));
      expect(await get(outside, '198.51.100.9')).toBe('one');
      await mode.sync(web(['10.244.0.2'], { ...guarded, sourceRanges: ['192.168.78.0/24'] }));
      await expect(get(outside, '198.51.100.9')).rejects.toThrow();
    });

    it('share out connections, and break none while others change', async () => {
      const { pods, mode } = await start(bare);
      const [pod, from] = pods;
      if (pod === undefined || from === undefined) throw new Error('no pods');
      await serve(pod);
      const own = servicePort(10, { clusterIp: CLUSTER_IP, endpoints: [endpoint('10.244.0.2')] });
      const state = new Map(stateOf(own));
      await mode.sync(state);
      const running = await download(from, CLUSTER_IP, 80);
      for (let n = 0; n < 200; n++) {
        const port = servicePort(20 + (n % 20), { endpoints: n % 3 === 0 ? [] : [endpoint('10.244.0.2')] });
        if (n % 7 === 6) state.delete(port.key);
        else state.set(port.key, port);
        await mode.sync(state, new Set([port.key]));
      }
      expect(await running.end()).toEqual({ numbers: expect.any(Number) });
      expect(await ask(from, CLUSTER_IP, 80, 50)).toEqual({ answers: { '10.244.0.2:8080': 50 }, failed: 0 });
    });

    it('are as a fresh sync would have them after random changes', async () => {
      const { mode, ...kernel } = await start(bare);
      const changes = modelChanges(200);
      await followChanges(mode, {
        changes,
        seed: 3,
        families: ['ip'],
        protocols: ['tcp', 'udp'],
        compareEvery: changes / 2,
        async compare(state) {
          const fresh = await start(bare);
          await fresh.mode.sync(state);
          expect(await ipvsContents(kernel)).toEqual(await ipvsContents(fresh));
        },
      });
      expect(await mode.check?.()).toBe(true);
    });

    it('are written anew when somebody cleared them, which the kernel does not tell', async () => {
      const { node, pods, mode } = await start(bare);
      const [pod, from] = pods;
      if (pod === undefined || from === undefined) throw new Error('no pods');
      await serve(pod);
      const informers = new StaticInformers();
      const meta = (name: string) => ({ namespace: 'default', name, uid: name, resourceVersion: '1' });
      const spec = {
        clusterIP: CLUSTER_IP,
        clusterIPs: [CLUSTER_IP],
        ports: [{ port: 80, protocol: 'TCP' }],
      };
      informers.of(NODES).set({ metadata: { name: 'n1' }, spec: {}, status: {} });
      informers.of(SERVICES).set({ metadata: meta('web'), spec: { type: 'ClusterIP', ...spec }, status: {} });
      informers.of(ENDPOINT_SLICES).set({
        metadata: { ...meta('web-1'), labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        ports: [{ name: '', port: 8080, protocol: 'TCP' }],
        endpoints: [{ addresses: ['10.244.0.2'], nodeName: 'n1' }],
      });
      const proxy = runProxy({ informers, nodeName: 'n1', mode, log: silentLog });
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
