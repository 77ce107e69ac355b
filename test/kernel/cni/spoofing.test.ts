// Pods that may send any frame (CAP_NET_RAW) on a bridge whose plugin checks senders: raw frames, and who gets them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { addressBytes } from '../../../src/kernel/nftables/bytes.js';
import { type TracedStep, type TraceEvent, watchTraces } from '../../../src/kernel/nftables/trace.js';
import { childProcesses } from '../../support/childProcesses.js';
import { bridgeConfig, DUAL_STACK } from '../../support/cni/bridgeConfig.js';
import { callPlugin, PLUGIN_DIR } from '../../support/cniPlugin.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

let dataDir = '';
const children = childProcesses();
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'trellis-spoofing-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const config = (fields: object) => bridgeConfig({ dataDir, ranges: DUAL_STACK }, fields);

interface Pod {
  readonly ns: TestNetNs;
  readonly mac: string;
  readonly four: string;
  readonly six: string;
  /** Every frame that arrived, as hexadecimal digits. */
  readonly got: string[];
  send(...frames: readonly string[]): void;
}

/** Says how each host answers: one that is reached refuses. */
const CONNECT = `for (const host of process.argv.slice(1))
  require('node:net').connect({ host, port: 9, timeout: 5000 }).on('error', ({ code }) => console.log(code))
    .on('timeout', function () { console.log('silence'); this.destroy(); })`;

const ECHO = `require('node:net').createServer((socket) => socket.pipe(socket)).listen(9, '::', () => console.log('ready'))`;
const SAY = `for (const host of process.argv.slice(1)) require('node:net').connect({ host, port: 9 }, function () { this.write('x') })
    .on('data', function () { console.log('data'); this.destroy() })`;
const TRACE_DATA = `table bridge early {
  chain prerouting {
    type filter hook prerouting priority -400;
    tcp flags & (syn | psh) == psh meta nftrace set 1
  }
}`;

const BROADCAST = 'ffffffffffff';
const hex = (number: number, digits: number) => number.toString(16).padStart(digits, '0');
const frame = (to: string, from: string, type: string, body: string) => to + from + type + body;
const arp = (op: number, mac: string, ip: string, target: string) =>
  `000108000604${hex(op, 4)}${mac}${addressBytes(ip)}${'0'.repeat(12)}${addressBytes(target)}`;
/** A datagram; `mark` makes it one of its kind. Bridges drop headers whose checksum is wrong. */
function ipv4(source: string, destination: string, mark: number): string {
  const header = (sum: string) =>
    `4500001c${hex(mark, 4)}00004011${sum}${addressBytes(source)}${addressBytes(destination)}`;
  const words = header('0000').match(/.{4}/g) ?? [];
  const total = words.reduce((sum, word) => sum + Number.parseInt(word, 16), 0);
  const folded = (total & 0xffff) + (total >> 16);
  return `${header(hex(0xffff - ((folded & 0xffff) + (folded >> 16)), 4))}1388138800080000`;
}
const ipv6 = (source: string, destination: string, next: string, body: string) =>
  `60000000${hex(body.length / 2, 4)}${next}ff${addressBytes(source)}${addressBytes(destination)}${body}`;
const icmp6 = (type: number, rest: string) => `${hex(type, 2)}000000${rest}`;
const about = (target: string) => `${'0'.repeat(8)}${addressBytes(target)}`;

async function podOn(host: TestNetNs, ns: TestNetNs, fields: object): Promise<Pod> {
  const call = { host, config: config(fields), containerId: ns.name, netns: ns.path } as const;
  const added = (await callPlugin({ ...call, command: 'ADD' })) as unknown as {
    interfaces: { mac: string; sandbox?: string }[];
    ips: { address: string }[];
  };
  const child = spawn(
    'nsenter',
    [`--net=${ns.path}`, 'perl', path.join(import.meta.dirname, '../../support/frames.pl')],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  children.push(child);
  const got: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => got.push(line));
  await until(() => expect(got).toContain('ready'));
  const [four = '', six = ''] = added.ips.map(({ address }) => address.split('/')[0] ?? '');
  const mac = added.interfaces.find(({ sandbox }) => sandbox !== undefined)?.mac.replaceAll(':', '') ?? '';
  return {
    ns,
    mac,
    four,
    six,
    got,
    send: (...frames) => void child.stdin.write(frames.map((one) => `${one}\n`).join('')),
  };
}

/** Frames by what they claim; those that a pod may send come last, so that the others have had their time. */
function frames(liar: Pod, victim: Pod, neighbour: Pod) {
  const { mac, four, six } = liar;
  const other = '026666666666';
  const to = (from: string, type: string, body: string) => frame(victim.mac, from, type, body);
  const all = 'ff02::1';
  return {
    forbidden: {
      'an address of a neighbour': to(mac, '0800', ipv4(neighbour.four, victim.four, 1)),
      'an address of the world': to(mac, '0800', ipv4('198.51.100.1', victim.four, 2)),
      'no address': to(mac, '0800', ipv4('0.0.0.0', victim.four, 3)),
      'another hardware address': to(other, '0800', ipv4(four, victim.four, 4)),
      "a neighbour's hardware and other address": to(
        neighbour.mac,
        '0800',
        ipv4(neighbour.four, victim.four, 5),
      ),
      'an address behind a tag of no VLAN': to(
        mac,
        '8100',
        `00000800${ipv4(neighbour.four, victim.four, 6)}`,
      ),
      'its own address behind a tag of no VLAN': to(mac, '8100', `00000800${ipv4(four, victim.four, 9)}`),
      'its own address behind a tag': to(mac, '8100', `00050800${ipv4(four, victim.four, 10)}`),
      'its own IPv6 address behind a tag of no VLAN': to(
        mac,
        '8100',
        `000086dd${ipv6(six, victim.six, '3b', 'ee'.repeat(8))}`,
      ),
      'an address behind two tags': to(
        mac,
        '8100',
        `000081000000${'0800'}${ipv4(neighbour.four, victim.four, 7)}`,
      ),
      'a reply of ARP for the gateway': to(mac, '0806', arp(2, mac, '10.88.0.1', victim.four)),
      'a request of ARP for a neighbour': to(mac, '0806', arp(1, mac, neighbour.four, victim.four)),
      'ARP with another hardware address inside': to(mac, '0806', arp(2, other, four, victim.four)),
      'ARP of another length': to(
        mac,
        '0806',
        `000108000610${'0002'}${mac}${addressBytes(neighbour.six)}${'0'.repeat(12)}`,
      ),
      'an IPv6 address of a neighbour': to(mac, '86dd', ipv6(neighbour.six, victim.six, '3b', '')),
      'an advertisement for a neighbour': to(
        mac,
        '86dd',
        ipv6(six, all, '3a', icmp6(136, `20000000${addressBytes(neighbour.six)}0201${mac}`)),
      ),
      'an advertisement behind a further header': to(
        mac,
        '86dd',
        ipv6(
          six,
          all,
          '00',
          `3a00010400000000${icmp6(136, `20000000${addressBytes(neighbour.six)}0201${mac}`)}`,
        ),
      ),
      'an advertisement of a router': to(mac, '86dd', ipv6(six, all, '3a', icmp6(134, '0'.repeat(24)))),
      'a redirect': to(mac, '86dd', ipv6(six, victim.six, '3a', icmp6(137, '0'.repeat(72)))),
      'a probe for the address of a neighbour': to(
        mac,
        '86dd',
        ipv6('::', all, '3a', icmp6(135, about(neighbour.six))),
      ),
      'neither IP nor ARP': to(mac, '88b5', '00'.repeat(46)),
    },
    allowed: {
      'its own address': to(mac, '0800', ipv4(four, victim.four, 8)),
      'its own address in ARP': frame(BROADCAST, mac, '0806', arp(1, mac, four, victim.four)),
      'a probe of ARP': frame(BROADCAST, mac, '0806', arp(1, mac, '0.0.0.0', four)),
      'its own IPv6 address': to(mac, '86dd', ipv6(six, victim.six, '3b', '')),
      'an advertisement for itself': to(
        mac,
        '86dd',
        ipv6(six, all, '3a', icmp6(136, `20000000${addressBytes(six)}`)),
      ),
      'a probe for its own address': to(mac, '86dd', ipv6('::', all, '3a', icmp6(135, about(six)))),
    },
  };
}

describeWith(
  { root: true, tools: ['nsenter', 'perl', 'ip', 'nft'], files: [path.join(PLUGIN_DIR, 'bridge')] },
  'a pod that may send any frame',
  () => {
    const namespaces = netNsPerTest();
    const three = async (fields: object) => {
      const host = await namespaces.make();
      const made = async () => podOn(host, await namespaces.make(), fields);
      return { host, liar: await made(), victim: await made(), neighbour: await made() };
    };
    /** Told by its bytes without the tag that the bridge takes off, and without padding. */
    const namesOf = (sent: Record<string, string>, got: readonly string[]) =>
      Object.keys(sent).filter((name) =>
        got.some(
          (one) =>
            one.startsWith((sent[name] ?? '').replace(/8100000[05]/, '')) || one.startsWith(sent[name] ?? ''),
        ),
      );

    test('sends from its own addresses alone, and poisons no neighbour', async () => {
      const { host, liar, victim, neighbour } = await three({ ipspoofchk: true });
      const { forbidden, allowed } = frames(liar, victim, neighbour);
      liar.send(...Object.values(forbidden), ...Object.values(allowed));
      await until(() => expect(namesOf(allowed, victim.got)).toEqual(Object.keys(allowed)));
      expect(namesOf(forbidden, victim.got)).toEqual([]);
      // What a pod does by itself goes on, in both families.
      const answers = await liar.ns.run(
        process.execPath,
        '-e',
        CONNECT,
        victim.four,
        victim.six,
        '10.88.0.1',
        'fd88::1',
      );
      expect(answers.trim().split('\n')).toEqual(Array(4).fill('ECONNREFUSED'));
      // The rules of one pod go with it, and all with the last.
      for (const [index, { ns }] of [liar, victim, neighbour].entries()) {
        const call = { host, config: config({ ipspoofchk: true }), containerId: ns.name, netns: ns.path };
        expect(await callPlugin({ ...call, command: 'DEL' })).toEqual({ exitCode: 0 });
        const rules = await host.run('nft', 'list', 'ruleset');
        expect(rules.includes('trellis')).toBe(index < 2);
        expect(rules).not.toContain(ns.name);
      }
    });

    test('pays one look-up for each packet of a connection', async () => {
      const { host, liar, victim } = await three({ ipspoofchk: true });
      const steps: TracedStep[] = [];
      const heard = (events: readonly TraceEvent[]) =>
        steps.push(...events.flatMap((one) => (one.event === 'lost' ? [] : one)));
      const traces = watchTraces('trellis_cni', heard, host.path);
      const nft = await openNft(host.path);
      try {
        // Only what follows the handshake, and neither ARP nor neighbour discovery.
        await host.run('nft', TRACE_DATA);
        const serving = spawn('nsenter', [`--net=${victim.ns.path}`, process.execPath, '-e', ECHO]);
        children.push(serving);
        await once(serving.stdout, 'data');
        const said = await liar.ns.run(process.execPath, '-e', SAY, victim.four, victim.six);
        expect(said.trim().split('\n')).toEqual(['data', 'data']);
        const chain = { family: 'bridge', table: 'trellis_cni', chain: 'prerouting' } as const;
        const places = (await nft.rules(chain)).map(({ handle }) => handle);
        // Which rule of the chain has the last word; those before it look nothing up that is of another protocol.
        const met = () => [
          ...new Set(steps.map(({ handle = 0, verdict }) => `${verdict} ${places.indexOf(handle)}`)),
        ];
        await until(() => expect(met().sort()).toEqual(['accept 0', 'accept 1']));
        expect(steps.filter(({ type }) => type !== 'rule')).toEqual([]);
        expect(new Set(steps.map(({ id }) => id)).size).toBe(steps.length);
      } finally {
        nft.close();
        traces.close();
      }
    });

    test('sends what it likes where nothing is checked', async () => {
      const { liar, victim, neighbour } = await three({});
      const { forbidden } = frames(liar, victim, neighbour);
      liar.send(...Object.values(forbidden));
      await until(() => expect(namesOf(forbidden, victim.got)).toEqual(Object.keys(forbidden)));
    });

    test('has no trunk of VLANs, whose addresses nobody would check', async () => {
      const [host, ns] = [await namespaces.make(), await namespaces.make()];
      const fields = { ipspoofchk: true, vlanTrunk: [{ id: 5 }] };
      const call = { host, config: config(fields), containerId: ns.name, netns: ns.path } as const;
      expect(await callPlugin({ ...call, command: 'ADD' })).toMatchObject({
        exitCode: 1,
        msg: expect.stringContaining('cannot set ipspoofchk and vlanTrunk at the same time'),
      });
    });

    test('is checked again after somebody flushed the rules, once a pod is added', async () => {
      const { host, liar, victim, neighbour } = await three({ ipspoofchk: true });
      const { forbidden, allowed } = frames(liar, victim, neighbour);
      await host.run('nft', 'flush', 'chain', 'bridge', 'trellis_cni', 'addresses');
      await podOn(host, await namespaces.make(), { ipspoofchk: true });
      liar.send(...Object.values(forbidden), ...Object.values(allowed));
      await until(() => expect(namesOf(allowed, victim.got)).toEqual(Object.keys(allowed)));
      expect(namesOf(forbidden, victim.got)).toEqual([]);
    });
  },
);
