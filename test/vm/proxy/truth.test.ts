// What the Service API promises of packets, asked of a kernel that has IPVS: the same cases as for every other mode.
import { expect, it, vi } from 'vitest';
import { openMode } from '../../../src/proxy/modes.js';
import { brokenPromises, truthGroups } from '../../support/proxy/truth.js';
import { truthLab } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';

// The machine is emulated, on a host that may be busy.
vi.setConfig({ testTimeout: 600_000 });

const { open } = truthLab();

describeWith(
  { root: true, tools: ['nsenter', 'ip', 'perl'], features: ['ip-vs'] },
  'packets are treated as promised',
  () => {
    it('in the ipvs mode', async () => {
      const lab = await open();
      const failures = await brokenPromises(lab, truthGroups('ipvs'), (traffic) =>
        openMode('ipvs', {
          table: 'trellis-truth',
          families: ['ip', 'ip6'],
          traffic,
          backend: 'legacy',
          netns: lab.node.path,
          setSysctl: async (name, value) =>
            void (await lab.node.run('sh', '-c', `echo ${value} > /proc/sys/${name}`)),
        }),
      );
      expect(failures).toEqual([]);
    });
  },
);
