// Legacy tables replaced natively and by the tool itself: the kernel must hold the same, and keep what is not ours.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { fullTransaction } from '../../../proxy-modes/iptables/transaction.js';
import type { IpFamily } from '../../../proxy-modes/mode.js';
import { Channel } from '../../../src/kernel/channel.js';
import { openIptables } from '../../../src/kernel/iptables/adapter.js';
import { tableChanges } from '../../../src/kernel/iptables/native/replacement.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { type NativeAndTool, sameRulesByNativeAndTool } from '../../support/proxy/nativeAndTool.js';
import { random, randomPort, stateOf } from '../../support/proxy/port.js';
import { trafficOf } from '../../support/proxy/trafficOptions.js';
import { describeWith } from '../../support/requires.js';

vi.setConfig({ testTimeout: 120_000 });

const TOOLS = { ip: 'iptables-legacy', ip6: 'ip6tables-legacy' } as const;
const LOCK = '/run/xtables.lock';

/** With counters, without the lines that tell the time. */
const saved = async (ns: TestNetNs, family: IpFamily) =>
  (await ns.run(`${TOOLS[family]}-save`, '-c')).split('\n').filter((line) => !line.startsWith('#'));

describeWith(
  { root: true, tools: Object.values(TOOLS).map((tool) => `${tool}-restore`) },
  'legacy tables',
  () => {
    const netns = netNsPerTest();
    const toolIn = (ns: TestNetNs, family: IpFamily) =>
      openIptables({
        family: family === 'ip' ? 'inet' : 'inet6',
        backend: 'legacy',
        netns: ns.path,
        native: false,
      });

    /** Writes without the tool; throws for a line that is not understood. */
    async function nativeIn(ns: TestNetNs, family: IpFamily) {
      const channel = netns.closing(await Channel.open('xtables', ns.path));
      return async (lines: readonly string[]) => {
        const changes = tableChanges(family, lines, LOCK);
        // The lock is the machine's: others may hold it for a moment.
        await vi.waitFor(() => channel.apply(changes), { timeout: 60_000, interval: 20 });
      };
    }

    /** The same lines both ways, each in a namespace of its own. */
    async function both(family: IpFamily): Promise<NativeAndTool> {
      const [ours, theirs] = [await netns.make(), await netns.make()];
      const native = await nativeIn(ours, family);
      const [reader, tool] = [await toolIn(ours, family), await toolIn(theirs, family)];
      return {
        async write(lines: readonly string[]) {
          await native(lines);
          await tool.restore(lines);
        },
        async compare() {
          expect(await saved(ours, family)).toEqual(await saved(theirs, family));
          const tables = ['nat', 'filter', 'mangle'] as const;
          expect(await reader.stamp(tables)).toBe(await tool.stamp(tables));
        },
        found: () => tool.save(),
      };
    }

    sameRulesByNativeAndTool(both, { rounds: 4 });

    const OURS = [
      '*filter',
      ':A-OURS - [0:0]',
      ':Z-OURS - [0:0]',
      '-I FORWARD -m comment --comment "ours first" -j Z-OURS',
      '-A A-OURS -p tcp -m tcp --dport 80 -j ACCEPT',
      '-A Z-OURS -j A-OURS',
      'COMMIT',
    ];
    const FOREIGN = {
      ip: [
        '[21:2100] -A INPUT -m limit --limit 5/min -j LOG --log-prefix "theirs "',
        '[3:300] -A INPUT -p icmp -m icmp --icmp-type 8',
        '[1:40] -A FORWARD -i eth+ ! -o veth7 -g M-THEIRS',
        '[7:420] -A M-THEIRS -p tcp -m tcp ! --sport 1:1023 --tcp-flags FIN,SYN SYN -j REJECT --reject-with tcp-reset',
        '[9:999] -A M-THEIRS -m conntrack --ctorigdst 10.0.0.1 -j RETURN',
      ],
      ip6: [
        '[21:2100] -A INPUT -m limit --limit 5/min -j LOG --log-prefix "theirs "',
        '[3:300] -A INPUT -p ipv6-icmp -m icmp6 --icmpv6-type 128',
        '[1:40] -A FORWARD -i eth+ ! -o veth7 -g M-THEIRS',
        '[7:420] -A M-THEIRS -p tcp -m tcp ! --sport 1:1023 --tcp-flags FIN,SYN SYN -j REJECT --reject-with tcp-reset',
        '[9:999] -A M-THEIRS -m hl --hl-eq 5 -j RETURN',
      ],
    };

    test.each(['ip', 'ip6'] as const)(
      'keep the rules, policies and counters of others (%s)',
      async (family) => {
        const ns = await netns.make();
        const theirs = await toolIn(ns, family);
        const declared = [':INPUT DROP [5:500]', ':FORWARD ACCEPT [6:600]', ':M-THEIRS - [0:0]'];
        await theirs.restore(['*filter', ...declared, ...FOREIGN[family], 'COMMIT'], { counters: true });
        const before = await saved(ns, family);
        const write = await nativeIn(ns, family);
        await write(OURS);
        const after = await saved(ns, family);
        expect(after).toContain('[0:0] -A FORWARD -m comment --comment "ours first" -j Z-OURS');
        expect(after.filter((line) => !line.includes('OURS'))).toEqual(before);
        await write([
          '*filter',
          ':A-OURS - [0:0]',
          ':Z-OURS - [0:0]',
          '-D FORWARD -m comment --comment "ours first" -j Z-OURS',
          '-X Z-OURS',
          '-X A-OURS',
          'COMMIT',
        ]);
        expect(await saved(ns, family)).toEqual(before);
      },
    );

    test('are read again after somebody else has changed them, whatever their size', async () => {
      const ns = await netns.make();
      const [write, other] = [await nativeIn(ns, 'ip'), await nativeIn(ns, 'ip')];
      const rules = async () => (await saved(ns, 'ip')).filter((line) => line.includes(' -A FORWARD'));
      const drop = (port: number) => `FORWARD -p tcp -m tcp --dport ${port} -j DROP`;
      await write(['*filter', `-A ${drop(1)}`, `-A ${drop(2)}`, 'COMMIT']);
      await write(['*filter', `-A ${drop(3)}`, 'COMMIT']);
      // Each leaves a table of the same size: only that the lock was held tells.
      await ns.run(
        TOOLS.ip,
        '-w',
        '-R',
        ...drop(4).replace('FORWARD', 'FORWARD 1').split(' '),
        '-c',
        '7',
        '70',
      );
      await write(['*filter', `-A ${drop(5)}`, 'COMMIT']);
      await other(['*filter', `-D ${drop(2)}`, `-A ${drop(6)}`, 'COMMIT']);
      await write(['*filter', `-A ${drop(7)}`, 'COMMIT']);
      await write(['*filter', `-D ${drop(3)}`, 'COMMIT']);
      expect(await rules()).toEqual([
        `[7:70] -A ${drop(4)}`,
        ...[5, 6, 7].map((port) => `[0:0] -A ${drop(port)}`),
      ]);
    });

    test('are not read again while nobody else held the lock, and keep their counters', async () => {
      const ns = await netns.make();
      const folder = mkdtempSync(path.join(tmpdir(), 'trellis-lock-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const lock = path.join(folder, 'lock');
      const channel = netns.closing(await Channel.open('xtables', ns.path));
      const write = (...lines: readonly string[]) =>
        channel.apply(tableChanges('ip', ['*filter', ...lines, 'COMMIT'], lock));
      const counted = 'OUTPUT -p udp -m udp --dport 9 -j DROP';
      await ns.run('ip', 'link', 'set', 'lo', 'up');
      await write('-A FORWARD -j DROP', `-A ${counted}`);
      for (const round of [1, 2, 3]) {
        await ns.run('bash', '-c', 'echo x > /dev/udp/127.0.0.1/9 || true');
        // Who takes another lock and leaves a table of the same size is overwritten: so this one was not read.
        const env = `XTABLES_LOCKFILE=${lock}.other`;
        await ns.run('env', env, TOOLS.ip, '-R', 'FORWARD', '1', '-j', 'ACCEPT');
        await write(`:C${round} - [0:0]`, `-A C${round} -p tcp -m tcp --dport ${round} -j RETURN`);
        const rules = await saved(ns, 'ip');
        expect(rules).toContain('[0:0] -A FORWARD -j DROP');
        expect(rules).toContain(`[${round}:${30 * round}] -A ${counted}`);
      }
    });

    test('are found again by the tool, which can delete each rule', async () => {
      const ns = await netns.make();
      const write = await nativeIn(ns, 'ip');
      const state = stateOf(...Array.from({ length: 12 }, (_, n) => randomPort(random(n), n)));
      await write([...fullTransaction({ family: 'ip', state }, new Map(), trafficOf.ip[0] ?? {}).lines]);
      const tool = await toolIn(ns, 'ip');
      const deletions = [...(await tool.save()).values()].flatMap(({ name, chains }) => [
        `*${name}`,
        ...[...chains.values()].flatMap(({ rules }) => rules.map((rule) => rule.replace('-A', '-D'))),
        'COMMIT',
      ]);
      await tool.restore(deletions);
      expect((await saved(ns, 'ip')).filter((line) => line.includes('-A'))).toEqual([]);
    });

    test.each([
      [['-A NOWHERE -j ACCEPT'], /no chain 'NOWHERE'/],
      [['-A INPUT -j NOWHERE'], /no chain 'NOWHERE'/],
      [['-D INPUT -j DROP'], /no such rule/],
      [['-X Z-OURS'], /not empty/],
      [[':A-OURS - [0:0]', '-X A-OURS'], /jumps to 'A-OURS'/],
    ])('are left as they are by a step that cannot be done: %j', async (steps, why) => {
      const ns = await netns.make();
      const write = await nativeIn(ns, 'ip');
      await write(OURS);
      const before = await saved(ns, 'ip');
      const channel = netns.closing(await Channel.open('xtables', ns.path));
      const lines = ['*nat', ':MORE - [0:0]', 'COMMIT', '*filter', '-A INPUT -j ACCEPT', ...steps, 'COMMIT'];
      const changes = tableChanges('ip', lines, LOCK);
      await vi.waitFor(
        () =>
          expect(channel.apply(changes)).rejects.toMatchObject({ code: 'INVALID', index: 1, message: why }),
        { timeout: 60_000, interval: 20 },
      );
      // Looking at the nat table has made it, empty.
      expect(await saved(ns, 'ip')).toEqual(expect.arrayContaining(before));
      expect(await ns.run('iptables-legacy-save', '-t', 'nat')).not.toContain('MORE');
    });
  },
);
