// Chaos in the IPVS mode: whatever somebody does, packets are soon treated as promised again.
import { test, vi } from 'vitest';
import { openMode } from '../../../src/proxy/modes.js';
import { CHAOS_ROUNDS, iptablesFaults, ipvsFaults, runChaos } from '../../support/proxy/chaos.js';
import { OPTIONS } from '../../support/proxy/semantics.js';
import { truthLab } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';

vi.setConfig({ testTimeout: 7_200_000 });

const { open } = truthLab();
const needs = { root: true, tools: ['nsenter', 'ip', 'perl', 'ipset', 'ipvsadm'], features: ['ip-vs'] };
describeWith(needs, 'in the IPVS mode', () => {
  test.runIf(CHAOS_ROUNDS > 0)('packets are soon treated as promised again', async () => {
    const lab = await open();
    await runChaos(lab, {
      mode: 'ipvs',
      seed: 1,
      faults: () => [...ipvsFaults, ...iptablesFaults('legacy')],
      open: () =>
        openMode('ipvs', {
          table: '',
          families: ['ip', 'ip6'],
          traffic: OPTIONS.usual,
          backend: 'legacy',
          netns: lab.node.path,
          setSysctl: async (name, value) =>
            void (await lab.node.run('sh', '-c', `echo ${value} > /proc/sys/${name}`)),
        }),
    });
  });
});
