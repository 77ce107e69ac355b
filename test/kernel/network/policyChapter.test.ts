// The chapter on network policies, walked on a node whose pods are namespaces, beside a proxy mode: each example word for word,
// met by connections, directly and through a Service. The same table as on clusters (test/e2e/networkPolicy.test.ts).
// TRELLIS_POLICY_MODE=ipvs asks a kernel that has IPVS.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import type { ProxyMode } from '../../../proxy-modes/mode.js';
import { silentLog } from '../../../src/api/log.js';
import { NAMESPACES, NETWORK_POLICIES, PODS } from '../../../src/api/resources.js';
import { openConntrack } from '../../../src/kernel/conntrack/adapter.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { PolicyEnforcer } from '../../../src/network/policy/enforcer.js';
import { openMode } from '../../../src/proxy/modes.js';
import type { TestNetNs } from '../../support/netns.js';
import {
  CHAPTER,
  CHAPTER_PODS,
  type ChapterAsker,
  type ChapterGoal,
  type ChapterPlace,
  type ChapterPod,
  DATABASE,
  FIRST_PODS,
  MINE,
  OUTSIDE,
  roleOf,
  walkPage,
} from '../../support/policy/chapterWalk.js';
import { policyLab } from '../../support/policy/lab.js';
import { podObject } from '../../support/policy/worldPlanner.js';
import { NODE_IP } from '../../support/proxy/packet.js';
import { endpoint, servicePort, stateOf } from '../../support/proxy/port.js';
import { OPTIONS } from '../../support/proxy/semantics.js';
import { describeWith } from '../../support/requires.js';
import { StaticInformers } from '../../support/staticInformers.js';
import { until } from '../../support/until.js';

vi.setConfig({ testTimeout: 600_000 });

const MODE = process.env['TRELLIS_POLICY_MODE'];
const MODES = (MODE === undefined ? ['nftables', 'iptables'] : [MODE]) as ProxyMode['name'][];

/** Those of the other node are behind the node's link, as the machines outside are. */
const IPS: Readonly<Record<ChapterPod, readonly [string, string]>> = {
  db: ['10.244.0.2', 'fd00:244::2'],
  other: ['10.244.0.3', 'fd00:244::3'],
  late: ['10.244.0.4', 'fd00:244::4'],
  frontend: ['10.244.1.2', 'fd00:244:1::2'],
  guest: ['10.244.1.3', 'fd00:244:1::3'],
};
const SERVICE_IP = '10.96.0.1';
/** Where nothing may come; what is allowed has the time that it needs. */
const [SILENCE_S, PATIENCE_S] = [1.5, 60];

const { open, closing } = policyLab();
const children: ChildProcess[] = [];
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  for (const child of children.splice(0)) {
    const ended = once(child, 'exit');
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await ended;
  }
});

async function chapterNode(name: ProxyMode['name']): Promise<ChapterPlace> {
  const near = [IPS.db, IPS.other, IPS.late];
  const lab = await open(near, [IPS.frontend[0], IPS.guest[0], ...Object.values(OUTSIDE)]);
  const netns = lab.node.path;
  const beyond = lab.placeOf(OUTSIDE.target);
  await beyond.run('ip', 'route', 'add', '10.96.0.0/16', 'via', NODE_IP);
  for (const place of [...near.map(([ip]) => lab.placeOf(ip)), beyond]) await serve(place);
  const mode = await openMode(name, {
    table: 'trellis-services',
    families: ['ip', 'ip6'],
    traffic: OPTIONS.usual,
    backend: 'legacy',
    netns,
    setSysctl: async (key, value) =>
      void (await lab.node.run('sh', '-c', `echo ${value} > /proc/sys/${key}`)),
  });
  closers.push(() => mode.close());
  await mode.sync(
    stateOf(
      ...DATABASE.spec.ports.map(({ name: key, port, targetPort }) =>
        servicePort(1, { key, port, endpoints: [endpoint(IPS.db[0], true, targetPort)] }),
      ),
    ),
  );
  const informers = new StaticInformers();
  const enforcer = new PolicyEnforcer({
    nodeName: 'here',
    nft: closing(await openNft(netns)),
    route: closing(await openRoute(netns)),
    conntrack: closing(await openConntrack(netns)),
    netns,
    table: 'trellis-policy-test',
    log: silentLog,
  });
  closers.push(() => enforcer.stop());
  const tellPod = (pod: ChapterPod, role: string = roleOf(pod)) => {
    const { namespace, isNear } = CHAPTER_PODS[pod];
    const told = { namespace, name: pod, labels: { role }, ips: IPS[pod], ports: [] };
    informers.of(PODS).set(podObject(told, isNear));
  };
  for (const namespace of [MINE, { metadata: { name: 'default' } }]) informers.of(NAMESPACES).set(namespace);
  await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
  enforcer.follow(informers);
  for (const pod of FIRST_PODS) tellPod(pod);
  await enforcer.synced();

  const isPod = (who: ChapterAsker | ChapterGoal): who is ChapterPod => who in CHAPTER_PODS;
  const sourceOf = (from: ChapterAsker) => {
    if (isPod(from)) return IPS[from][0];
    return from === 'node' ? '10.244.0.1' : OUTSIDE[from];
  };
  const goalOf = (to: ChapterGoal) => {
    if (isPod(to)) return IPS[to][0];
    return to === 'service' ? SERVICE_IP : OUTSIDE[to];
  };
  const refused = async () =>
    [...(await enforcer.metrics()).matchAll(/^trellis_network_policy_refused_packets_total\{.*\} (\d+)$/gm)]
      .map(([, count]) => Number(count))
      .reduce((sum, count) => sum + count, 0);
  return {
    mode: name,
    put: async (example) => {
      const { metadata, ...rest } = parse(example) as { metadata: object };
      informers.of(NETWORK_POLICIES).set({ metadata: { namespace: 'default', ...metadata }, ...rest });
      await enforcer.synced();
    },
    clear: async () => {
      const policies = informers.of(NETWORK_POLICIES);
      for (const { metadata } of policies.list()) policies.remove(`${metadata.namespace}/${metadata.name}`);
      await enforcer.synced();
    },
    start: async (pod) => {
      tellPod(pod);
      await enforcer.synced();
    },
    label: async (pod, role) => {
      tellPod(pod, role);
      await enforcer.synced();
    },
    reaches: async ({ from, to, port }, isExpected) => {
      const source = sourceOf(from);
      const place = from === 'node' ? lab.node : lab.placeOf(source);
      const before = isExpected ? 0 : await refused();
      const patience = String(isExpected ? PATIENCE_S : SILENCE_S);
      const answer = await connects(place, source, goalOf(to), String(port), patience);
      // A packet that was refused, not one that is late.
      if (!answer && !isExpected) await until(async () => expect(await refused()).toBeGreaterThan(before));
      return answer;
    },
  };
}

/** On every port that the chapter asks for. */
async function serve(place: TestNetNs): Promise<void> {
  const child = spawn('nsenter', [`--net=${place.path}`, 'perl', '-e', SERVE], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout, 'data');
}

const connects = (place: TestNetNs, ...words: readonly string[]): Promise<boolean> =>
  place.run('perl', '-e', CONNECT, ...words).then(
    () => true,
    () => false,
  );

const SERVE = `use IO::Socket::INET; use IO::Select; $| = 1;
my $all = IO::Select->new(map { IO::Socket::INET->new(LocalPort => $_, Listen => 64, ReuseAddr => 1) or die } 80, 5978, 5979, 6379, 8080);
print "ready\\n";
while (1) { for ($all->can_read) { my $one = $_->accept; print $one "hello\\n" if $one } }`;
/** Answered, not only taken: a proxy may take what it cannot hand on. */
const CONNECT = `use IO::Socket::INET; my ($from, $to, $port, $patience) = @ARGV;
my $one = IO::Socket::INET->new(LocalAddr => $from, PeerAddr => $to, PeerPort => $port, Timeout => $patience) or exit 1;
alarm $patience; exit((<$one> // '') ne "hello\\n");`;

const needs = { root: true, tools: ['nsenter', 'ip', 'perl', 'iptables-legacy-restore'] };
describeWith(needs, 'the chapter on network policies', () => {
  test.each(MODES)('holds for pods that are namespaces, in the %s mode', async (mode) => {
    const place = await chapterNode(mode);
    for (const page of CHAPTER) await walkPage(place, page);
  });
});
