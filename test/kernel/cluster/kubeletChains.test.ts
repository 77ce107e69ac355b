import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeKubeletChains, removeKubeletChains } from '../../../src/cluster/kubeletChains.js';
import { openIptables } from '../../../src/kernel/iptables/adapter.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const namespaces = netNsPerTest();
let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-chains-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const cluster = (name: string) => {
  const runDir = path.join(dir, name);
  mkdirSync(runDir);
  return { runDir };
};

const TOOLS = ['iptables-nft', 'iptables-legacy', 'ip6tables-nft', 'ip6tables-legacy'];

describeWith({ root: true, tools: TOOLS }, 'the chains of a kubelet', () => {
  test.each(['nft', 'legacy'])(
    'are in the back end that is used, until the last cluster goes: %s',
    async (backend) => {
      const ns = await namespaces.make();
      const open = (options: Parameters<typeof openIptables>[0]) =>
        openIptables({ ...options, netns: ns.path });
      const chains = async (tool: string) =>
        [...(await ns.run(`${tool}-${backend}-save`)).matchAll(/^:(KUBE-\S+)/gm)]
          .map(([, name]) => name)
          .sort();
      // In mangle, nat and filter; the hint in mangle alone.
      const both = ['KUBE-IPTABLES-HINT', ...Array<string>(3).fill('KUBE-KUBELET-CANARY')];
      await ns.run(`iptables-${backend}`, '-A', 'INPUT', '-j', 'ACCEPT');
      // Somebody else's.
      await ns.run(`ip6tables-${backend}`, '-t', 'mangle', '-N', 'KUBE-KUBELET-CANARY');
      const [first, second] = [cluster('first'), cluster('second')];
      for (const one of [first, second, first]) await makeKubeletChains(one, open);
      expect([await chains('iptables'), await chains('ip6tables')]).toEqual([both, both]);

      await ns.run(`iptables-${backend}`, '-t', 'mangle', '-X');
      await makeKubeletChains(first, open);
      expect(await chains('iptables')).toEqual(both);

      await removeKubeletChains(first, open);
      expect(await chains('iptables')).toEqual(both);
      rmSync(first.runDir, { recursive: true });
      for (let again = 0; again < 2; again++) await removeKubeletChains(second, open);
      expect([await chains('iptables'), await chains('ip6tables')]).toEqual([[], ['KUBE-KUBELET-CANARY']]);
    },
  );
});
