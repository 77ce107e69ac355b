// Chaos: whatever somebody does to rules and addresses, packets are soon treated as promised again.
import { test, vi } from 'vitest';
import type { IptablesBackend } from '../../../src/kernel/iptables/port.js';
import { openMode } from '../../../src/proxy/modes.js';
import { CHAOS_ROUNDS, iptablesFaults, nftablesFaults, runChaos } from '../../support/proxy/chaos.js';
import { OPTIONS } from '../../support/proxy/semantics.js';
import { truthLab } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';

vi.setConfig({ testTimeout: 7_200_000 });

const TABLE = 'trellis-chaos';
const options = { table: TABLE, families: ['ip', 'ip6'], traffic: OPTIONS.usual } as const;
const { open } = truthLab();
const tools = ['nsenter', 'ip', 'perl', 'nft', 'iptables-nft-restore', 'iptables-legacy-restore'];
describeWith({ root: true, tools }, 'packets are soon treated as promised again', () => {
  test.runIf(CHAOS_ROUNDS > 0)('in the nftables mode', async () => {
    const lab = await open();
    await runChaos(lab, {
      mode: 'nftables',
      seed: 1,
      faults: () => nftablesFaults(TABLE),
      open: () => openMode('nftables', { ...options, netns: lab.node.path }),
    });
  });

  test.runIf(CHAOS_ROUNDS > 0)('in the iptables mode, with the other back end after each start', async () => {
    const lab = await open();
    let backend: IptablesBackend = 'nft';
    await runChaos(lab, {
      mode: 'iptables',
      seed: 1,
      faults: () => iptablesFaults(backend),
      open: (starts) => {
        backend = starts % 2 === 0 ? 'nft' : 'legacy';
        return openMode('iptables', { ...options, netns: lab.node.path, backend });
      },
    });
  });

  test.runIf(CHAOS_ROUNDS > 0)('in the userspace mode', async () => {
    const lab = await open();
    await runChaos(lab, {
      mode: 'userspace',
      seed: 1,
      faults: () => iptablesFaults('nft'),
      open: async () => ({ name: 'userspace', ...lab.modeOnNode('userspace', 'nft', OPTIONS.usual) }),
    });
  });
});
