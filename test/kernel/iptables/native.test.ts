// The rules of the iptables and userspace modes written natively and by the tool itself: the kernel must hold the same.
import { describe, expect, test, vi } from 'vitest';
import { fullTransaction } from '../../../proxy-modes/iptables/transaction.js';
import type { IpFamily } from '../../../proxy-modes/mode.js';
import { openIptables } from '../../../src/kernel/iptables/adapter.js';
import { nativeSteps } from '../../../src/kernel/iptables/native/batch.js';
import { NotUnderstood } from '../../../src/kernel/iptables/native/sections.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import type { NftPort } from '../../../src/kernel/nftables/port.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { type NativeAndTool, sameRulesByNativeAndTool } from '../../support/proxy/nativeAndTool.js';
import { random, randomPort, stateOf } from '../../support/proxy/port.js';
import { trafficOf } from '../../support/proxy/trafficOptions.js';
import { describeWith } from '../../support/requires.js';

vi.setConfig({ testTimeout: 120_000 });

const TOOLS = { ip: 'iptables-nft', ip6: 'ip6tables-nft' } as const;
/** Without the lines that tell the time. */
const saved = async (ns: TestNetNs, family: IpFamily) =>
  (await ns.run(`${TOOLS[family]}-save`)).split('\n').filter((line) => !line.startsWith('#'));

/** Every rule down to the bytes of its extensions, in order, by chain. */
async function bytes(nft: NftPort) {
  const rules = await nft.rules();
  return rules
    .map(({ family, table, chain, expressions }, index) => ({
      place: `${family} ${table} ${chain}`,
      index,
      expressions,
    }))
    .sort((a, b) => (a.place === b.place ? a.index - b.index : a.place < b.place ? -1 : 1))
    .map(({ place, expressions }) => ({ place, expressions }));
}

describeWith(
  { root: true, tools: ['iptables-nft-restore', 'ip6tables-nft-restore', 'nft'] },
  'rules written natively',
  () => {
    const netns = netNsPerTest();

    /** The same lines both ways, each in a namespace of its own. */
    async function both(family: IpFamily, isFirst: boolean): Promise<NativeAndTool> {
      // The first of each family goes in many small steps.
      const mostLines = isFirst ? 25 : 10_000;
      const [ours, theirs] = [await netns.make(), await netns.make()];
      const nft = netns.closing(await openNft(ours.path));
      const other = netns.closing(await openNft(theirs.path));
      const tool = await openIptables({
        family: family === 'ip' ? 'inet' : 'inet6',
        backend: 'nft',
        netns: theirs.path,
        native: false,
      });
      return {
        async write(lines: readonly string[]) {
          for (const step of nativeSteps(family, lines, mostLines)) {
            await nft.commit([...step]);
          }
          await tool.restore(lines);
        },
        async compare() {
          expect(await saved(ours, family)).toEqual(await saved(theirs, family));
          expect(await bytes(nft)).toEqual(await bytes(other));
        },
        found: () => tool.save(),
      };
    }

    sameRulesByNativeAndTool(both, { rounds: 8 });

    test('are found again by the tool, which can delete each of them', async () => {
      const ns = await netns.make();
      const port = await openIptables({ family: 'inet', backend: 'nft', netns: ns.path });
      const state = stateOf(...Array.from({ length: 12 }, (_, n) => randomPort(random(n), n)));
      const { lines } = fullTransaction({ family: 'ip', state }, new Map(), trafficOf.ip[0] ?? {});
      await port.restore(lines);
      const tool = await openIptables({ family: 'inet', backend: 'nft', netns: ns.path, native: false });
      const deletions = [...(await port.save()).values()].flatMap(({ name, chains }) => [
        `*${name}`,
        ...[...chains.values()].flatMap(({ rules }) => rules.map((rule) => rule.replace('-A', '-D'))),
        'COMMIT',
      ]);
      await tool.restore(deletions);
      expect((await saved(ns, 'ip')).filter((line) => line.startsWith('-A'))).toEqual([]);
    });
  },
);

describe('what is not surely understood', () => {
  const taken = (lines: readonly string[]) => [...nativeSteps('ip', lines)].map((step) => [...step]);

  test.each([
    '-A X -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT',
    '-A X -p icmp -j ACCEPT',
    '-A X -p tcp ! --dport 80 -j ACCEPT',
    '-A X -p tcp -m tcp --dport 80:90 -j ACCEPT',
    '-A X -j REJECT --reject-with tcp-reset',
    '-A X -j DNAT --to-destination 10.0.0.1',
    '-A X -j ACCEPT --more',
    '-A X -s 10.0.0.1 -j ACCEPT',
    '-A X -m comment --comment x',
    '-I X 2 -j ACCEPT',
    '-X X',
    ':INPUT DROP [0:0]',
    '-F X',
  ])('is left to the tool: %s', (line) => {
    expect(() => taken(['*filter', line, 'COMMIT'])).toThrow(NotUnderstood);
  });

  test.each([[['*nope', 'COMMIT']], [['*filter', ':X - [0:0]']], [['-A X -j ACCEPT']]])(
    'is left to the tool: %j',
    (lines) => {
      expect(() => taken(lines)).toThrow(NotUnderstood);
    },
  );
});
