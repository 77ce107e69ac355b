// The enforcer on a node with real pods: closed until judged, connections that a change forbids end, others go on, and what
// somebody removes comes back.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { type LogFields, silentLog } from '../../../src/api/log.js';
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  NAMESPACES,
  NETWORK_POLICIES,
  PODS,
} from '../../../src/api/resources.js';
import { openConntrack } from '../../../src/kernel/conntrack/adapter.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { watchTraces } from '../../../src/kernel/nftables/trace.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { CLUSTER_NETWORK_POLICIES } from '../../../src/network/policy/clusterNetworkPolicy.js';
import { PolicyEnforcer, removePolicies } from '../../../src/network/policy/enforcer.js';
import { servePolicyMetrics } from '../../../src/network/policy/metrics.js';
import type { TestNetNs } from '../../support/netns.js';
import { type Probe, policyLab } from '../../support/policy/lab.js';
import { podObject } from '../../support/policy/worldPlanner.js';
import { describeWith } from '../../support/requires.js';
import { StaticInformers } from '../../support/staticInformers.js';
import { until } from '../../support/until.js';

const A: [string, string] = ['10.244.0.2', 'fd00:244::2'];
const B: [string, string] = ['10.244.0.3', 'fd00:244::3'];
const TABLE = 'trellis-policy-test';
const UPDATES = Number(process.env['TRELLIS_POLICY_UPDATES'] ?? 100);

const { open, closing } = policyLab();
const enforcers: PolicyEnforcer[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const enforcer of enforcers.splice(0)) await enforcer.stop();
  for (const child of children.splice(0)) {
    const ended = once(child, 'exit');
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await ended;
  }
});

const pod = (name: string, ips: readonly string[], labels: Record<string, string> = {}) =>
  podObject({ namespace: 'a', name, labels, ips, ports: [] }, true);
const policy = (name: string, spec: object) => ({ metadata: { namespace: 'a', name }, spec });
const definitionOf = (name: string, version: string) => ({
  metadata: { name },
  spec: { versions: [{ name: version, served: true, storage: true }] },
  status: { conditions: [{ type: 'Established', status: 'True' }] },
});
const DENY_INGRESS = policy('deny', { podSelector: {}, policyTypes: ['Ingress'] });

const probe = (from: readonly string[], to: readonly string[]): Probe[] =>
  from.flatMap((source, family) => {
    const destination = to[family];
    return destination === undefined ? [] : [{ protocol: 'udp', source, destination, port: 80 }];
  });

async function node() {
  const lab = await open([A, B], ['192.0.2.7']);
  const nft = closing(await openNft(lab.node.path));
  const route = closing(await openRoute(lab.node.path));
  const conntrack = closing(await openConntrack(lab.node.path));
  const informers = new StaticInformers();
  const enforce = (
    options: { logsRefused?: boolean; log?: typeof silentLog; checkEveryMs?: number } = {},
  ) => {
    const enforcer = new PolicyEnforcer({
      nodeName: 'here',
      nft,
      route,
      conntrack,
      netns: lab.node.path,
      table: TABLE,
      log: silentLog,
      ...options,
    });
    enforcers.push(enforcer);
    return enforcer;
  };
  const passes = async (from: readonly string[], to: readonly string[], expected: boolean) =>
    (await lab.send(probe(from, to), () => expected)).size;
  informers.of(NAMESPACES).set({ metadata: { name: 'a' } });
  return { lab, nft, informers, enforce, passes };
}

describeWith(
  { root: true, tools: ['nsenter', 'ip', 'perl'] },
  'a node that enforces network policies',
  () => {
    test('keeps addresses of its range closed until they are judged, also after its process has gone', async () => {
      const { lab, nft, informers, enforce, passes } = await node();
      const first = enforce();
      await first.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      expect(await passes(A, B, false)).toBe(0);
      expect(await passes(['192.0.2.7'], B, false)).toBe(0);
      first.follow(informers);
      await first.synced();
      expect(await passes(A, B, false)).toBe(0);
      // What the runtime says counts before the API says it; both ends must be known.
      await first.attach(pod('one', []), A);
      expect(await passes(A, B, false)).toBe(0);
      informers.of(PODS, { fieldSelector: 'spec.nodeName=here' }).set(pod('two', B));
      await first.synced();
      expect(await passes(A, B, true)).toBe(2);
      informers.of(NETWORK_POLICIES).set(DENY_INGRESS);
      await first.synced();
      expect(await passes(A, B, false)).toBe(0);
      await first.stop();
      // A second one finds the rules of the first, and leaves them until it knows better.
      const second = enforce();
      await second.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      expect(await passes(A, B, false)).toBe(0);
      await removePolicies(nft, TABLE);
      expect(await passes(A, B, true)).toBe(2);
      expect(await lab.node.run('nft', 'list', 'tables')).toBe('');
    });

    test('asks policies of the cluster before and after those of the namespace, while their kind is defined', async () => {
      const { informers, enforce, passes } = await node();
      const enforcer = enforce();
      await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      enforcer.follow(informers);
      informers.of(PODS, { fieldSelector: 'spec.nodeName=here' }).set(pod('one', A));
      informers.of(PODS).set(pod('two', B));
      const definitions = informers.of(CUSTOM_RESOURCE_DEFINITIONS);
      const policies = informers.of(CLUSTER_NETWORK_POLICIES);
      const put = async (name: string, tier: string, action: string) => {
        const rule = { action, from: [{ namespaces: {} }] };
        const spec = { tier, priority: 1, subject: { namespaces: {} }, ingress: [rule] };
        policies.set({ metadata: { name }, spec });
        await enforcer.synced();
      };
      await put('last', 'Baseline', 'Deny');
      expect(await passes(A, B, true)).toBe(2);
      definitions.set(definitionOf('clusternetworkpolicies', 'v1alpha2'));
      await enforcer.synced();
      expect(await passes(A, B, false)).toBe(0);
      await put('first', 'Admin', 'Accept');
      expect(await passes(A, B, true)).toBe(2);
      informers.of(NETWORK_POLICIES).set(DENY_INGRESS);
      await enforcer.synced();
      expect(await passes(A, B, true)).toBe(2);
      await put('first', 'Admin', 'Pass');
      expect(await passes(A, B, false)).toBe(0);
      informers.of(NETWORK_POLICIES).remove('a/deny');
      await put('last', 'Baseline', 'Pass');
      expect(await passes(A, B, true)).toBe(2);
      await put('first', 'Admin', 'Deny');
      expect(await passes(A, B, false)).toBe(0);
      definitions.remove('clusternetworkpolicies');
      await enforcer.synced();
      expect(await passes(A, B, true)).toBe(2);
    });

    test('counts what it refuses, and what is not judged yet, by family', async () => {
      const { informers, enforce, passes } = await node();
      const enforcer = enforce();
      await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      const server = await servePolicyMetrics({ host: '127.0.0.1', port: 0 }, () => enforcer.metrics());
      try {
        const counts = async () => {
          const text = await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text();
          const lines = text.matchAll(/^trellis_network_policy_(\w+)_packets_total\{(.*)\} (\d+)$/gm);
          return Object.fromEntries(
            [...lines].map(([, what, labels, count]) => [`${what} ${labels}`, count]),
          );
        };
        const [REFUSED, UNJUDGED] = ['refused direction="ingress",family=', 'unjudged family='];
        expect(await passes(A, B, false)).toBe(0);
        const early = await counts();
        expect(early).toMatchObject({ [`${REFUSED}"ipv4"`]: '0', [`${REFUSED}"ipv6"`]: '0' });
        for (const family of ['ipv4', 'ipv6'])
          expect(Number(early[`${UNJUDGED}"${family}"`])).toBeGreaterThan(0);
        const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
        pods.set(pod('one', A));
        pods.set(pod('two', [B[0]], { closed: 'yes' }));
        pods.set(pod('three', [B[1]]));
        informers
          .of(NETWORK_POLICIES)
          .set(policy('deny', { podSelector: { matchLabels: { closed: 'yes' } }, policyTypes: ['Ingress'] }));
        enforcer.follow(informers);
        await enforcer.synced();
        expect(await passes([A[0]], [B[0]], false)).toBe(0);
        expect(await passes([A[1]], [B[1]], true)).toBe(1);
        const late = await counts();
        expect(Number(late[`${REFUSED}"ipv4"`])).toBeGreaterThan(0);
        expect(late).toMatchObject({
          [`${REFUSED}"ipv6"`]: '0',
          'refused direction="egress",family="ipv4"': '0',
        });
        expect((await fetch(`http://127.0.0.1:${server.port}/`)).status).toBe(404);
      } finally {
        await server.close();
      }
    });

    test('counts what each policy allows, and what the policies of a pod refuse together', async () => {
      const { informers, enforce, passes } = await node();
      const enforcer = enforce();
      await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
      pods.set(pod('one', A));
      pods.set(pod('two', B));
      const policies = informers.of(NETWORK_POLICIES);
      policies.set(DENY_INGRESS);
      policies.set(
        policy('open', { podSelector: {}, ingress: [{ ports: [{ protocol: 'UDP', port: 80 }] }] }),
      );
      policies.set(policy('nobody', { podSelector: { matchLabels: { no: 'body' } } }));
      enforcer.follow(informers);
      await enforcer.synced();
      expect(await passes(A, B, true)).toBe(2);
      const decided = async () => {
        const lines = (await enforcer.metrics()).matchAll(
          /^trellis_network_policy_decided_packets_total\{(.*)\} (\d+)$/gm,
        );
        return Object.fromEntries([...lines].map(([, labels, count]) => [labels, Number(count)]));
      };
      const series = (name: string, outcome: string) =>
        `direction="ingress",namespace="a",outcome="${outcome}",policy="${name}"`;
      // Both families together; a policy without a rule that matches, or a pod of its own, has nothing to count.
      const open = await decided();
      expect(open).toEqual({
        [series('deny', 'refused')]: 0,
        [series('open', 'allowed')]: expect.any(Number),
        [series('open', 'refused')]: 0,
      });
      expect(open[series('open', 'allowed')]).toBeGreaterThanOrEqual(2);
      policies.set(policy('open', { podSelector: {}, ingress: [{ ports: [{ port: 81 }] }] }));
      await enforcer.synced();
      expect(await passes(A, B, false)).toBe(0);
      const closed = await decided();
      expect(closed[series('open', 'allowed')]).toBe(0);
      expect(closed[series('open', 'refused')]).toBeGreaterThanOrEqual(2);
      expect(closed[series('deny', 'refused')]).toBe(closed[series('open', 'refused')]);
      expect(await enforcer.metrics()).toContain('trellis_network_policy_uncounted_policies 0');
    });

    test('logs what it refuses when it is asked to, with the names of the pods', async () => {
      const { lab, informers, enforce, passes } = await node();
      const lines: { message: string; fields: LogFields | undefined }[] = [];
      const log = {
        ...silentLog,
        warn: (message: string, fields?: LogFields) => void lines.push({ message, fields }),
      };
      const enforcer = enforce({ logsRefused: true, log });
      await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
      pods.set(pod('one', A));
      pods.set(pod('two', B));
      informers.of(NETWORK_POLICIES).set(DENY_INGRESS);
      enforcer.follow(informers);
      await enforcer.synced();
      expect(await passes(['192.0.2.7', ...A], [B[0], ...B], false)).toBe(0);
      expect(await passes(A, B, false)).toBe(0);
      const refused = (from: string, to: string) => ({
        message: 'network policies refused a connection to a pod',
        fields: { from, to: `a/two (${to})`, protocol: 'udp', port: 80 },
      });
      const wanted = [
        refused('192.0.2.7', B[0]),
        refused(`a/one (${A[0]})`, B[0]),
        refused(`a/one (${A[1]})`, B[1]),
      ];
      await until(async () => expect(lines).toHaveLength(wanted.length));
      expect(lines).toEqual(expect.arrayContaining(wanted));
      expect(await enforcer.metrics()).toMatch(
        /^trellis_network_policy_refused_packets_total\{direction="ingress",family="ipv4"\} [3-9]/m,
      );
      // The tool that people look with can read it.
      expect(await lab.node.run('nft', 'list', 'ruleset')).toContain('meta nftrace set 1');
    });

    test('ends connections of a pod that a label puts under a policy', async () => {
      const { lab, informers, enforce } = await node();
      const enforcer = enforce();
      await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
      pods.set(pod('one', A));
      pods.set(pod('two', B));
      informers
        .of(NETWORK_POLICIES)
        .set(policy('deny', { podSelector: { matchLabels: { closed: 'yes' } }, policyTypes: ['Ingress'] }));
      enforcer.follow(informers);
      await enforcer.synced();
      await talk(lab.placeOf(B[0]), SERVER).next();
      const connection = talk(lab.placeOf(A[0]), CLIENT, B[0], '8080');
      expect(await connection.next()).toBe('beat');
      pods.set(pod('two', B, { closed: 'yes' }));
      await enforcer.synced();
      let last = '';
      await until(async () => {
        last = await connection.next();
        if (last === 'beat') throw new Error('it still beats');
      });
      expect(last).toMatch(/ended/);
    });

    test('gives an address that is used again to its new pod', async () => {
      const { informers, enforce, passes } = await node();
      const enforcer = enforce();
      await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
      pods.set(pod('one', A));
      pods.set(pod('old', B, { closed: 'yes' }));
      informers
        .of(NETWORK_POLICIES)
        .set(policy('deny', { podSelector: { matchLabels: { closed: 'yes' } }, policyTypes: ['Ingress'] }));
      enforcer.follow(informers);
      await enforcer.synced();
      expect(await passes(A, B, false)).toBe(0);
      await enforcer.attach(pod('new', []), B);
      expect(await passes(A, B, true)).toBe(2);
      // Late news of the old one, and its end, change nothing of the new one.
      pods.set(pod('old', B, { closed: 'yes', late: 'news' }));
      await enforcer.synced();
      expect(await passes(A, B, true)).toBe(2);
      pods.remove('a/old');
      await enforcer.synced();
      expect(await passes(A, B, true)).toBe(2);
    });

    test.each([
      ['everything', 'flush ruleset'],
      ['a table', 'delete table ip trellis-policy-test'],
      ['the rules of a chain', 'flush chain ip trellis-policy-test judge-ingress'],
    ])('is back as soon as somebody has removed %s', async (_, command) => {
      const { lab, informers, enforce, passes } = await node();
      const enforcer = enforce({ checkEveryMs: 86_400_000 });
      await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
      pods.set(pod('one', A));
      pods.set(pod('two', B));
      informers.of(NETWORK_POLICIES).set(DENY_INGRESS);
      enforcer.follow(informers);
      await enforcer.synced();
      expect(await passes(A, B, false)).toBe(0);
      await lab.node.run('nft', ...command.split(' '));
      await until(async () => expect(await passes(A, B, false)).toBe(0));
    });

    test.each([
      [
        'ingress of the pod that sends',
        { podSelector: { matchLabels: { role: 'two' } }, policyTypes: ['Ingress'] },
      ],
      [
        'egress of the pod that asked',
        { podSelector: { matchLabels: { role: 'one' } }, policyTypes: ['Egress'] },
      ],
    ])('ends downloads, in which one end alone speaks, that a policy forbids: %s', async (_, forbidding) => {
      const { lab, informers, enforce } = await node();
      const enforcer = enforce();
      await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
      pods.set(pod('one', A, { role: 'one' }));
      pods.set(pod('two', B, { role: 'two' }));
      enforcer.follow(informers);
      await enforcer.synced();
      await talk(lab.placeOf(B[0]), STREAMER).next();
      const downloads = talk(lab.placeOf(A[0]), DOWNLOADS, ...B);
      await until(async () => expect(await downloads.next()).toBe('20 run'));
      informers.of(NETWORK_POLICIES).set(policy('deny', forbidding));
      await enforcer.synced();
      await until(async () => expect(await downloads.next()).toBe('0 run'));
    });

    test.each(['after', 'before'])(
      'gives a pod no connections of the one that had its address, which ends %s it comes',
      async (when) => {
        const { lab, informers, enforce } = await node();
        const enforcer = enforce();
        await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
        const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
        pods.set(pod('one', A));
        pods.set(pod('old', B));
        informers
          .of(NETWORK_POLICIES)
          .set(policy('deny', { podSelector: { matchLabels: { closed: 'yes' } }, policyTypes: ['Ingress'] }));
        enforcer.follow(informers);
        await enforcer.synced();
        await talk(lab.placeOf(B[0]), UDP_SERVER).next();
        const flow = talk(lab.placeOf(A[0]), UDP_CLIENT, B[0]);
        await until(async () => expect(await flow.next()).toBe('beat'));
        const leave = async () => {
          pods.remove('a/old');
          await enforcer.synced();
        };
        if (when === 'before') await leave();
        await enforcer.attach(pod('new', [], { closed: 'yes' }), B);
        if (when === 'after') await leave();
        await until(async () => expect(await flow.next()).toBe('silence'));
      },
    );

    test.each([
      ['of its ranges', ['10.244.0.0/24', 'fd00:244::/64']],
      ['that others gave, of no range of the node', []],
    ])(
      'ends a connection that a new policy forbids, and leaves the others alone: addresses %s',
      async (_, ranges) => {
        const { lab, informers, enforce } = await node();
        const enforcer = enforce();
        await enforcer.setPodRanges(ranges);
        const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
        pods.set(pod('one', A));
        pods.set(pod('two', B));
        enforcer.follow(informers);
        await enforcer.synced();
        const [client, server] = [lab.placeOf(A[0]), lab.placeOf(B[0])];
        await talk(server, SERVER).next();
        const [forbidden, allowed] = [talk(client, CLIENT, B[0], '8080'), talk(client, CLIENT, B[0], '8081')];
        const beats = { forbidden: await forbidden.next(), allowed: await allowed.next() };
        expect(beats).toEqual({ forbidden: 'beat', allowed: 'beat' });
        informers
          .of(NETWORK_POLICIES)
          .set(policy('some', { podSelector: {}, ingress: [{ ports: [{ port: 8081 }] }] }));
        await enforcer.synced();
        let last = '';
        await until(async () => {
          last = await forbidden.next();
          if (last === 'beat') throw new Error('it still beats');
        });
        expect(last).toMatch(/ended/);
        for (let i = 0; i < 10; i++) expect(await allowed.next()).toBe('beat');
      },
    );

    test('judges the first packet of a connection; each that follows meets one rule per direction, and no set', async () => {
      const { lab, informers, enforce } = await node();
      const enforcer = enforce();
      await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
      pods.set(pod('one', A));
      pods.set(pod('two', B));
      const ports = [{ port: 8081 }];
      informers.of(NETWORK_POLICIES).set(
        policy('both', {
          podSelector: {},
          policyTypes: ['Ingress', 'Egress'],
          ingress: [{ ports }],
          egress: [{ ports }],
        }),
      );
      enforcer.follow(informers);
      await enforcer.synced();
      await talk(lab.placeOf(B[0]), SERVER).next();
      const connection = talk(lab.placeOf(A[0]), CLIENT, B[0], '8081');
      expect(await connection.next()).toBe('beat');
      const met: string[] = [];
      const traces = watchTraces(
        TABLE,
        (events) => {
          for (const step of events)
            if (step.event !== 'lost') met.push(`${step.chain} ${step.type} ${step.verdict}`);
        },
        lab.node.path,
      );
      try {
        await lab.node.run('nft', TRACE_ALL);
        for (let i = 0; i < 10; i++) expect(await connection.next()).toBe('beat');
        const rules = ['forward-egress rule accept', 'forward-ingress rule accept'];
        await until(async () => expect([...new Set(met)].sort()).toEqual(rules));
      } finally {
        traces.close();
      }
      const first = async (chain: string) => {
        const listed = await lab.node.run('nft', 'list', 'chain', 'ip', TABLE, chain);
        return listed.split('\n')[3]?.trim();
      };
      for (const chain of ['forward-egress', 'forward-ingress'])
        expect(await first(chain)).toBe('ct state established,related accept');
    });

    test('ends no allowed connection for a packet that the kernel takes for none of it', async () => {
      const { lab, informers, enforce } = await node();
      const enforcer = enforce();
      await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
      pods.set(pod('one', A));
      pods.set(pod('two', B));
      const ports = [{ port: 8081 }];
      informers.of(NETWORK_POLICIES).set(policy('some', { podSelector: {}, ingress: [{ ports }] }));
      enforcer.follow(informers);
      await enforcer.synced();
      await talk(lab.placeOf(B[0]), SERVER).next();
      const connection = talk(lab.placeOf(A[0]), CLIENT, B[0], '8081');
      expect(await connection.next()).toBe('beat');
      expect(await lab.placeOf(A[0]).run('perl', '-e', ASTRAY, '8081')).toBe('sent 20\n');
      for (let i = 0; i < 10; i++) expect(await connection.next()).toBe('beat');
    });

    test(`leaves an allowed connection alone while policies change ${UPDATES} times`, async () => {
      const { lab, informers, enforce } = await node();
      const enforcer = enforce();
      await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
      const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
      pods.set(pod('one', A));
      pods.set(pod('two', B));
      enforcer.follow(informers);
      await enforcer.synced();
      await talk(lab.placeOf(B[0]), SERVER).next();
      const allowed = talk(lab.placeOf(A[0]), CLIENT, B[0], '8081');
      expect(await allowed.next()).toBe('beat');
      const rules = (i: number) => [
        { ports: [{ port: 8081 }] },
        { ports: [{ port: 9000 + (i % 7) }], from: [{ podSelector: { matchLabels: { round: `${i}` } } }] },
      ];
      for (let i = 0; i < UPDATES; i++) {
        const [first, second] = rules(i);
        // In turns from one policy and from another, so that each comes and goes under the connection.
        const [kept, changed] = i % 2 === 0 ? ['even', 'odd'] : ['odd', 'even'];
        const policies = informers.of(NETWORK_POLICIES);
        policies.set(policy(kept, { podSelector: {}, ingress: [first] }));
        policies.set(policy(changed, { podSelector: {}, ingress: [second] }));
        await enforcer.synced();
        if (i % 10 === 0) expect(await allowed.next()).toBe('beat');
      }
      for (let i = 0; i < 10; i++) expect(await allowed.next()).toBe('beat');
    });

    function talk(ns: TestNetNs, script: string, ...words: readonly string[]) {
      const child = spawn('nsenter', [`--net=${ns.path}`, process.execPath, '-e', script, ...words], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      children.push(child);
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      return { next: async () => String((await lines.next()).value) };
    }
  },
);

const TRACE_ALL = `table ip early {
  chain prerouting {
    type filter hook prerouting priority -190;
    tcp dport 8081 meta nftrace set 1
    tcp sport 8081 meta nftrace set 1
  }
}`;
const SERVER = `
const net = require('node:net');
let ready = 0;
for (const port of [8080, 8081])
  net.createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(port, () => {
    if (++ready === 2) console.log('ready');
  });
`;
/** Copies segments that go to a port, each with a sequence number far from where it should be. */
const ASTRAY = `
use Socket;
socket my $in, 17, SOCK_DGRAM, unpack('S', pack 'n', 3) or die $!;
socket my $out, AF_INET, SOCK_RAW, 255 or die $!;
my $sent = 0;
while ($sent < 20) {
  my $from = recv $in, my $bytes, 65536, 0;
  next if (unpack 'SSlSC', $from)[4] != 4 || length $bytes < 40 || ord(substr $bytes, 9, 1) != 6;
  my ($own, $port, $seq, $ack) = unpack 'n n N N', substr $bytes, 20, 12;
  next if $port != $ARGV[0] || (ord(substr $bytes, 33, 1) & 0x17) != 0x10;
  next if unpack('n', substr $bytes, 34, 2) == 512; # one of these
  my $segment = pack 'n n N N C C n n n', $own, $port, ($seq + 0x40000000) & 0xffffffff, $ack, 0x50, 0x10, 512, 0, 0;
  my ($sum, $ends, $to) = (0, substr($bytes, 12, 8), substr($bytes, 16, 4));
  $sum += $_ for unpack 'n*', $ends . pack('n n', 6, 20) . $segment;
  $sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
  substr($segment, 16, 2) = pack 'n', ~$sum & 0xffff;
  my $header = pack 'C C n n n C C n', 0x45, 0, 40, 0, 0, 64, 6, 0;
  send $out, $header . $ends . $segment, 0, pack_sockaddr_in(0, $to);
  $sent += 1;
}
print "sent $sent\n";
`;
/** Speaks without being spoken to. */
const STREAMER = `
require('node:net').createServer((socket) => {
  const speaking = setInterval(() => socket.write('x'.repeat(100)), 5);
  socket.on('error', () => {}).on('close', () => clearInterval(speaking)).resume();
}).listen(8080, '::', () => console.log('ready'));
`;
/** Ten of each address; says every quarter of a second of how many something came. */
const DOWNLOADS = `
let got = new Set();
for (const host of process.argv.slice(1)) for (let i = 0; i < 10; i++) {
  const socket = require('node:net').connect({ host, port: 8080 });
  socket.on('error', () => {}).on('data', () => got.add(socket));
}
setInterval(() => { console.log(got.size + ' run'); got = new Set(); }, 250);
`;
/** Goes on for whoever has asked once: something is always under way. */
const UDP_SERVER = `
const socket = require('node:dgram').createSocket('udp4');
socket.once('message', (_, { port, address }) => setInterval(() => socket.send('x', port, address), 10));
socket.bind(8080, () => console.log('ready'));
`;
// One flow; says every quarter of a second whether anything came back.
const UDP_CLIENT = `
const socket = require('node:dgram').createSocket('udp4');
let got = 0;
socket.on('message', () => { got += 1; });
setInterval(() => socket.send('x', 8080, process.argv[1]), 20);
setInterval(() => { console.log(got > 0 ? 'beat' : 'silence'); got = 0; }, 250);
`;
// Sends a byte, waits for its echo, says so, again; and says when the connection has ended.
const CLIENT = `
const [host, port] = process.argv.slice(1);
const socket = require('node:net').connect({ host, port: Number(port) });
const beat = () => socket.write('x');
socket.on('connect', beat).on('data', () => { console.log('beat'); setTimeout(beat, 20); });
socket.on('error', ({ code }) => console.log('ended by ' + code)).on('close', () => console.log('ended'));
`;
