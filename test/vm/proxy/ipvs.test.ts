// Packets through the IPVS mode, on a kernel that has it.
import { expect, it } from 'vitest';
import { ipvsMode } from '../../../proxy-modes/ipvs/mode.js';
import { openIpset } from '../../../src/kernel/ipset/adapter.js';
import { openIptables } from '../../../src/kernel/iptables/adapter.js';
import { openIpvs } from '../../../src/kernel/ipvs/adapter.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { answers, CLUSTER_IP, get, NODE, POD_CIDR, proxyLab, web } from '../../support/proxy/lab.js';
import { describeWith } from '../../support/requires.js';

const { lab, closing } = proxyLab();

async function start() {
  const place = await lab();
  const { node } = place;
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
  return { ...place, mode };
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
  },
);
