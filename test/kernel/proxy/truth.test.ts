// What the Service API promises of packets, asked of the kernel itself in each mode that this kernel has: every semantic
// case is a real connection from a pod, the node or outside, and tells which endpoint got it and which source it saw.
import { expect, it, vi } from 'vitest';
import { iptablesMode } from '../../../proxy-modes/iptables/mode.js';
import { nftablesMode } from '../../../proxy-modes/nftables/mode.js';
import { openIptables } from '../../../src/kernel/iptables/adapter.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import type { IpFamily, ProxyMode, TrafficOptions } from '../../../src/proxy/state.js';
import type { TestNetNs } from '../../support/netns.js';
import { broken, truthGroups } from '../../support/proxy/truth.js';
import { type Asker, truthLab } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';

vi.setConfig({ testTimeout: 300_000 });

const { open, closing } = truthLab();

interface Setup {
  readonly node: TestNetNs;
  readonly family: IpFamily;
  readonly options: TrafficOptions;
}

const MODES: Readonly<Record<string, (setup: Setup) => Promise<ProxyMode>>> = {
  nftables: async ({ node, family, options }) =>
    nftablesMode({
      nft: closing(await openNft(node.path)),
      table: 'trellis-truth',
      families: [family],
      traffic: { [family]: options },
    }),
  'iptables (nft)': (setup) => openIptablesMode(setup, 'nft'),
  'iptables (legacy)': (setup) => openIptablesMode(setup, 'legacy'),
};

async function openIptablesMode({ node, family, options }: Setup, backend: 'nft' | 'legacy') {
  const inet = family === 'ip' ? 'inet' : 'inet6';
  const port = await openIptables({ family: inet, backend, netns: node.path });
  return iptablesMode({ ports: { [family]: port }, traffic: { [family]: options } });
}

const tools = [
  'nsenter',
  'ip',
  'iptables-nft-restore',
  'iptables-legacy-restore',
  'ip6tables-legacy-restore',
];
describeWith({ root: true, tools }, 'packets are treated as promised', () => {
  it.each(Object.keys(MODES))('in the %s mode', async (name) => {
    const lab = await open();
    const failures: string[] = [];
    for (const { family, options, cases, state } of truthGroups()) {
      const mode = await MODES[name]?.({ node: lab.node, family, options });
      if (mode === undefined) throw new Error(`no mode ${name}`);
      await mode.sync(state);
      await Promise.all(
        (['pod', 'node', 'outside', 'here'] satisfies Asker[]).map(async (from) => {
          const asked = cases.filter((one) => one.from === from);
          if (asked.length === 0) return;
          const answers = await lab.ask(
            from,
            asked.map(({ question }) => question),
          );
          for (const [index, one] of asked.entries()) {
            const why = broken(one, answers[index] ?? 'silence');
            if (why !== undefined) failures.push(`${one.name}: ${why}`);
          }
        }),
      );
      await mode.cleanUp();
      mode.close();
    }
    expect(failures).toEqual([]);
  });
});
