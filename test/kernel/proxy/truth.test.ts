// What the Service API promises of packets, asked of the kernel itself in each mode that this kernel has: every semantic
// case is a real connection from a pod, the node or outside, and tells which endpoint got it and which source it saw.
import { expect, it, vi } from 'vitest';
import { iptablesMode } from '../../../proxy-modes/iptables/mode.js';
import { nftablesMode } from '../../../proxy-modes/nftables/mode.js';
import { openIptables } from '../../../src/kernel/iptables/adapter.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import type { ProxyMode, TrafficOptions } from '../../../src/proxy/state.js';
import type { TestNetNs } from '../../support/netns.js';
import { broken, truthGroups } from '../../support/proxy/truth.js';
import { type Asker, truthLab } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';

vi.setConfig({ testTimeout: 300_000 });

const { open, closing } = truthLab();

const MODES: Readonly<Record<string, (node: TestNetNs, options: TrafficOptions) => Promise<ProxyMode>>> = {
  nftables: async (node, options) =>
    nftablesMode({
      nft: closing(await openNft(node.path)),
      table: 'trellis-truth',
      families: ['ip', 'ip6'],
      traffic: { ip: options, ip6: options },
    }),
  'iptables (nft)': (node, options) => iptables(node, options, 'nft'),
  'iptables (legacy)': (node, options) => iptables(node, options, 'legacy'),
};

async function iptables(node: TestNetNs, options: TrafficOptions, backend: 'nft' | 'legacy') {
  const [ip, ip6] = [
    await openIptables({ family: 'inet', backend, netns: node.path }),
    await openIptables({ family: 'inet6', backend, netns: node.path }),
  ];
  return iptablesMode({ ports: { ip, ip6 }, traffic: { ip: options, ip6: options } });
}

/** Options that name an address belong to its family alone. */
const familyOf = ({ local, nodePortCidrs = [] }: TrafficOptions) =>
  [local?.by === 'cidr' ? local.cidr : '', ...nodePortCidrs].some((text) => text.includes(':'))
    ? 'ip6'
    : 'ip';

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
    for (const { options, cases, state } of truthGroups()) {
      const mode = await MODES[name]?.(lab.node, options);
      if (mode === undefined) throw new Error(`no mode ${name}`);
      const family = familyOf(options);
      await mode.sync(new Map([...state].filter(([, port]) => port.family === family)));
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
