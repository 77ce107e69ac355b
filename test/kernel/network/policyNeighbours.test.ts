// Neighbours on the bridge of a node's pods: addresses that are no pod's (IPv6 link-local, groups, broadcast) lead past no
// policy, and bridged packets are judged whoever made the bridge. Datagrams and connections between namespaces.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { NAMESPACES, NETWORK_POLICIES, PODS } from '../../../src/api/resources.js';
import { openConntrack } from '../../../src/kernel/conntrack/adapter.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { PolicyEnforcer } from '../../../src/network/policy/enforcer.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { policyLab } from '../../support/policy/lab.js';
import { podObject } from '../../support/policy/worldPlanner.js';
import { describeWith } from '../../support/requires.js';
import { StaticInformers } from '../../support/staticInformers.js';
import { until } from '../../support/until.js';

const A: [string, string] = ['10.244.0.2', 'fd00:244::2'];
const B: [string, string] = ['10.244.0.3', 'fd00:244::3'];

const { open, closing } = policyLab();
const namespaces = netNsPerTest();
const enforcers: PolicyEnforcer[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const enforcer of enforcers.splice(0)) await enforcer.stop();
  for (const child of children.splice(0)) {
    const ended = once(child, 'exit');
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await ended;
  }
});

const policy = (name: string, spec: object) => ({ metadata: { namespace: 'a', name }, spec });
const role = (name: string) => ({ podSelector: { matchLabels: { role: name } } });

async function node(ranges: readonly string[]) {
  const lab = await open([A, B], []);
  const informers = new StaticInformers();
  const enforcer = new PolicyEnforcer({
    nodeName: 'here',
    nft: closing(await openNft(lab.node.path)),
    route: closing(await openRoute(lab.node.path)),
    conntrack: closing(await openConntrack(lab.node.path)),
    netns: lab.node.path,
    table: 'trellis-policy-test',
    log: silentLog,
  });
  enforcers.push(enforcer);
  informers.of(NAMESPACES).set({ metadata: { name: 'a' } });
  for (const [name, ips] of Object.entries({ asker: A, listener: B })) {
    const told = { namespace: 'a', name, labels: { role: name }, ips, ports: [] };
    informers.of(PODS).set(podObject(told, true));
  }
  const follow = async () => {
    await enforcer.setPodRanges(ranges);
    enforcer.follow(informers);
    await enforcer.synced();
  };
  const put = async (object: object) => {
    informers.of(NETWORK_POLICIES).set(object);
    await enforcer.synced();
  };
  return { lab, informers, enforcer, follow, put };
}

/** Waits until the kernel has made sure that nobody else has the address. */
const linkLocal = (ns: TestNetNs) =>
  until(async () => {
    const listed = await ns.run('ip', '-6', '-o', 'addr', 'show', 'dev', 'eth0', 'scope', 'link');
    expect(listed).toContain('fe80::');
    expect(listed).not.toContain('tentative');
    return /inet6 (\S+)\//.exec(listed)?.[1] ?? '';
  });

/** Tells the text of each datagram, and "taken" for each connection. */
function listen(ns: TestNetNs) {
  const said: string[] = [];
  const child = spawn('nsenter', [`--net=${ns.path}`, process.execPath, '-e', LISTENER], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
  return { said, ready: () => until(() => expect(said).toContain('ready')) };
}

const RANGES = ['10.244.0.0/24', 'fd00:244::/64'];
const FORBIDDING = {
  'ingress of the one that listens': policy('deny', { ...role('listener'), policyTypes: ['Ingress'] }),
  'egress of the one that asks': policy('deny', { ...role('asker'), policyTypes: ['Egress'] }),
};

describeWith(
  { root: true, tools: ['nsenter', 'ip', 'perl', 'nft'] },
  'neighbours on a bridge of pods',
  () => {
    test.each(
      Object.entries(FORBIDDING).flatMap(([what, forbidding]) => [
        [what, 'networks of the node', forbidding, RANGES] as const,
        [what, 'networks that are not told', forbidding, []] as const,
      ]),
    )('reach each other by no address of the link past the %s, in %s', async (_, __, forbidding, ranges) => {
      const { lab, follow, put } = await node(ranges);
      await follow();
      const [asker, listener] = [lab.placeOf(A[0]), lab.placeOf(B[0])];
      const peer = await linkLocal(listener);
      await linkLocal(asker);
      const { said, ready } = listen(listener);
      await ready();
      const goals = [`${peer}%eth0`, 'ff02::1%eth0', '224.0.0.1', '255.255.255.255'];
      const send = (mark: string) => asker.run(process.execPath, '-e', SENDER, mark, ...goals);
      const connect = () => asker.run(process.execPath, '-e', CONNECTOR, `${peer}%eth0`);
      /** What the node sends comes after what was sent before it. */
      const barrier = async (mark: string) => {
        await until(async () => {
          await lab.node.run(process.execPath, '-e', SENDER, mark, B[0]);
          expect(said).toContain(`${mark} ${B[0]}`);
        });
      };
      await send('open');
      await until(() => {
        for (const goal of goals) expect(said).toContain(`open ${goal}`);
      });
      expect(await connect()).toBe('made\n');
      const held = spawn('nsenter', [`--net=${asker.path}`, process.execPath, '-e', HOLDER, `${peer}%eth0`], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      children.push(held);
      const beats = createInterface({ input: held.stdout })[Symbol.asyncIterator]();
      const beatsOf = (what: string) => until(async () => expect((await beats.next()).value).toBe(what));
      await beatsOf('beat');
      await put(forbidding);
      await send('closed');
      await barrier('after');
      expect(said.filter((line) => line.startsWith('closed'))).toEqual([]);
      expect(await connect()).toBe('no\n');
      await beatsOf('silence');
      // Neighbours still find each other.
      await asker.run('ip', '-6', 'neigh', 'flush', 'dev', 'eth0');
      await put(policy('deny', { podSelector: {}, ingress: [{}] }));
      expect(await asker.run(process.execPath, '-e', CONNECTOR, B[1])).toBe('made\n');
    });

    test('are judged on a bridge that hands its packets to no rule by itself', async () => {
      const { lab, follow, put } = await node(RANGES);
      await lab.node.run('sh', '-e', '-c', UNJUDGED);
      const probes = A.map((source, i) => ({
        protocol: 'udp' as const,
        source,
        destination: B[i] ?? '',
        port: 80,
      }));
      expect((await lab.send(probes, () => true)).size).toBe(2);
      await follow();
      await put(FORBIDDING['ingress of the one that listens']);
      expect((await lab.send(probes, () => false)).size).toBe(0);
    });

    test('on a bridge of others are left alone', async () => {
      const { lab, follow, put } = await node(RANGES);
      const [one, two] = [await namespaces.make(), await namespaces.make()];
      await lab.node.run('sh', '-e', '-c', `ip link add vms type bridge; ip link set vms up`);
      for (const [name, ns] of Object.entries({ vm1: one, vm2: two })) {
        await lab.node.run(
          'ip',
          'link',
          'add',
          name,
          'type',
          'veth',
          'peer',
          'name',
          'eth0',
          'netns',
          ns.path,
        );
        await lab.node.run('ip', 'link', 'set', name, 'master', 'vms', 'up');
        await ns.run('ip', 'link', 'set', 'eth0', 'up');
      }
      await follow();
      await put(FORBIDDING['ingress of the one that listens']);
      const [peer] = [await linkLocal(two), await linkLocal(one)];
      const { said, ready } = listen(two);
      await ready();
      await until(async () => {
        await one.run(process.execPath, '-e', SENDER, 'there', `${peer}%eth0`, 'ff02::1%eth0');
        expect(said).toEqual(expect.arrayContaining([`there ${peer}%eth0`, 'there ff02::1%eth0']));
      });
      expect(await lab.node.run('nft', 'list', 'ruleset')).toContain('elements = { "cni0" }');
    });
  },
);

/** Neither by the bridge's own settings nor by those for all bridges. */
const UNJUDGED = `
echo 0 > /proc/sys/net/bridge/bridge-nf-call-iptables
echo 0 > /proc/sys/net/bridge/bridge-nf-call-ip6tables
ip link set cni0 type bridge nf_call_iptables 0 nf_call_ip6tables 0
`;
const LISTENER = `
const dgram = require('node:dgram');
let left = 3;
const bound = () => { if (--left === 0) console.log('ready'); };
for (const [type, address] of [['udp4', '0.0.0.0'], ['udp6', '::']]) {
  const socket = dgram.createSocket({ type, ipv6Only: type === 'udp6' });
  socket.on('message', (text) => console.log(String(text))).bind(8080, address, bound);
}
require('node:net').createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(8080, '::', bound);
`;
/** To each goal its own name behind the mark. */
const SENDER = `
const dgram = require('node:dgram');
const [mark, ...goals] = process.argv.slice(1);
let left = goals.length;
const four = dgram.createSocket('udp4'); const six = dgram.createSocket('udp6');
const end = () => { if (--left === 0) { four.close(); six.close(); } };
four.bind(0, () => { four.setBroadcast(true); six.bind(0, () => {
  for (const goal of goals) (goal.includes(':') ? six : four).send(mark + ' ' + goal, 8080, goal, end);
}); });
`;
const CONNECTOR = `
const socket = require('node:net').connect({ host: process.argv[1], port: 8080, timeout: 2000 });
const say = (text) => { console.log(text); process.exit(); };
socket.on('connect', () => say('made')).on('error', () => say('no')).on('timeout', () => say('no'));
`;
/** Says every quarter of a second whether anything came back on its connection. */
const HOLDER = `
const socket = require('node:net').connect({ host: process.argv[1], port: 8080 });
let got = 0;
socket.on('data', () => { got += 1; }).on('error', () => {});
setInterval(() => socket.write('x'), 20);
setInterval(() => { console.log(got > 0 ? 'beat' : 'silence'); got = 0; }, 250);
`;
