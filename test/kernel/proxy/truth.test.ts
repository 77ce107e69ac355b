// What the Service API promises of packets, asked of the kernel itself in each mode that this kernel has: every semantic
// case is a real connection from a pod, the node or outside, and tells which endpoint got it and which source it saw.
import { expect, it, vi } from 'vitest';
import { openMode } from '../../../src/proxy/modes.js';
import { brokenPromises, truthGroups } from '../../support/proxy/truth.js';
import { truthLab } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';

vi.setConfig({ testTimeout: 300_000 });

const { open } = truthLab();

const MODES = [
  ['nftables', 'nft'],
  ['iptables', 'nft'],
  ['iptables', 'legacy'],
] as const;

const tools = [
  'nsenter',
  'ip',
  'perl',
  'iptables-nft-restore',
  'iptables-legacy-restore',
  'ip6tables-legacy-restore',
];
describeWith({ root: true, tools }, 'packets are treated as promised', () => {
  it.each(MODES)('in the %s mode (%s)', async (name, backend) => {
    const lab = await open();
    const failures = await brokenPromises(lab, truthGroups(name), (traffic) =>
      openMode(name, {
        table: 'trellis-truth',
        families: ['ip', 'ip6'],
        traffic,
        backend,
        netns: lab.node.path,
      }),
    );
    expect(failures).toEqual([]);
  });

  it('in the userspace mode', async () => {
    const lab = await open();
    const failures = await brokenPromises(lab, truthGroups('userspace'), async (traffic) =>
      lab.modeOnNode('userspace', 'nft', traffic),
    );
    expect(failures).toEqual([]);
  });
});
