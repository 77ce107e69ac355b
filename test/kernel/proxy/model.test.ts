// Thousands of random changes, each a partial sync: the kernel holds what one fresh full sync would put there.
// A few hundred in the usual run; TRELLIS_PROOF=long makes it ten thousand in each mode.
import { expect, test } from 'vitest';
import { iptablesMode } from '../../../proxy-modes/iptables/mode.js';
import type { ProxyMode } from '../../../proxy-modes/mode.js';
import { NftablesMode } from '../../../proxy-modes/nftables/mode.js';
import { userspaceMode } from '../../../proxy-modes/userspace/mode.js';
import { openIptables } from '../../../src/kernel/iptables/adapter.js';
import type { IptablesBackend } from '../../../src/kernel/iptables/port.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { iptablesContents, nftContents } from '../../support/proxy/contents.js';
import { followChanges, modelChanges } from '../../support/proxy/model.js';
import { describeWith } from '../../support/requires.js';

const TABLE = 'trellis-proxy';
const FAMILIES = ['ip', 'ip6'] as const;
const traffic = {
  ip: { local: { by: 'cidr', cidr: '10.244.0.0/16' } },
  ip6: { local: { by: 'cidr', cidr: 'fd00:244::/64' } },
} as const;
const LIMIT_MS = 180_000 + 240 * modelChanges(0);

describeWith(
  { root: true, tools: ['nft', 'iptables-nft-restore', 'iptables-legacy-restore'] },
  'after random changes',
  () => {
    const netns = netNsPerTest();

    const nftables = async (ns: TestNetNs) => {
      const nft = netns.closing(await openNft(ns.path));
      const mode = new NftablesMode({ nft, table: TABLE, families: FAMILIES, traffic });
      return { mode, contents: () => nftContents(nft, TABLE) };
    };
    const iptables = (backend: IptablesBackend) => async (ns: TestNetNs) => {
      const open = (family: 'inet' | 'inet6') => openIptables({ family, backend, netns: ns.path });
      const ports = { ip: await open('inet'), ip6: await open('inet6') };
      const saved = async () =>
        Promise.all(Object.values(ports).map(async (port) => iptablesContents(await port.save())));
      return { mode: iptablesMode({ ports, traffic }), contents: saved };
    };
    // Its sockets are here and not in the namespace, which no packet of this test minds; their ports are never the same.
    const userspace = async (ns: TestNetNs) => {
      const ip = await openIptables({ family: 'inet', backend: 'nft', netns: ns.path });
      const ip6 = await openIptables({ family: 'inet6', backend: 'nft', netns: ns.path });
      const saved = async () =>
        (await Promise.all([ip.save(), ip6.save()])).flatMap((ruleset) =>
          iptablesContents(ruleset).map((text) => text.replace(/--to-ports \d+/g, '--to-ports')),
        );
      return { mode: netns.closing(userspaceMode({ ports: { ip, ip6 }, traffic })), contents: saved };
    };
    const cases: [
      string,
      number,
      (ns: TestNetNs) => Promise<{ mode: ProxyMode; contents(): Promise<unknown> }>,
    ][] = [
      ['nftables', 600, nftables],
      ['iptables (nft)', 400, iptables('nft')],
      ['iptables (legacy)', 60, iptables('legacy')],
      ['userspace', 60, userspace],
    ];

    test.each(cases)(
      'the %s mode holds what a fresh sync would',
      async (_, usual, open) => {
        const { mode, contents } = await open(await netns.make());
        const changes = modelChanges(usual);
        await followChanges(mode, {
          changes,
          seed: 1,
          families: FAMILIES,
          compareEvery: changes / 4,
          async compare(state) {
            const ns = await netns.make();
            const fresh = await open(ns);
            await fresh.mode.sync(state);
            expect(await contents()).toEqual(await fresh.contents());
          },
        });
        expect(await mode.check?.()).toBe(true);
        await mode.cleanUp();
        expect(JSON.stringify(await contents())).not.toContain('default/s');
      },
      LIMIT_MS,
    );
  },
);
