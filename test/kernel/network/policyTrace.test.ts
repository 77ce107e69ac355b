// The trace of a real packet through the policies of a node: what the kernel says is what the objects say, and nothing is left.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { NAMESPACES, NETWORK_POLICIES, PODS } from '../../../src/api/resources.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { type Probe, sendProbe } from '../../../src/kernel/probe.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { PolicyEnforcer } from '../../../src/network/policy/enforcer.js';
import { judge } from '../../../src/network/policy/judge.js';
import { kernelVerdict } from '../../../src/network/policy/tracedWay.js';
import { policyLab } from '../../support/policy/lab.js';
import { podObject } from '../../support/policy/worldPlanner.js';
import { describeWith } from '../../support/requires.js';
import { StaticInformers } from '../../support/staticInformers.js';
import { until } from '../../support/until.js';

const A: [string, string] = ['10.244.0.2', 'fd00:244::2'];
const B: [string, string] = ['10.244.0.3', 'fd00:244::3'];
const FAR = '192.0.2.7';
const TABLE = 'trellis-policy-test';

const { open, closing } = policyLab();
const enforcers: PolicyEnforcer[] = [];
afterEach(async () => {
  for (const enforcer of enforcers.splice(0)) await enforcer.stop();
});

const pod = (name: string, ips: readonly string[]) =>
  podObject({ namespace: 'a', name, labels: { name }, ips, ports: [] }, true);
const policy = (name: string, spec: object) => ({ metadata: { namespace: 'a', name }, spec });

async function node() {
  const lab = await open([A, B], [FAR]);
  const nft = closing(await openNft(lab.node.path));
  const route = closing(await openRoute(lab.node.path));
  const informers = new StaticInformers();
  const enforcer = new PolicyEnforcer({
    nodeName: 'here',
    nft,
    route,
    conntrack: undefined,
    netns: lab.node.path,
    table: TABLE,
    log: silentLog,
  });
  enforcers.push(enforcer);
  informers.of(NAMESPACES).set({ metadata: { name: 'a' } });
  await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
  const pods = informers.of(PODS, { fieldSelector: 'spec.nodeName=here' });
  pods.set(pod('one', A));
  enforcer.follow(informers);
  let fromPort = 61_000;
  const trace = async (wanted: Pick<Probe, 'protocol' | 'from' | 'to'> & { toPort?: number }) => {
    fromPort += 1;
    const probe: Probe = { fromPort, toPort: 80, ...wanted };
    const id = await enforcer.tracer.begin(probe);
    await sendProbe(lab.placeOf(probe.from).path, probe, 100);
    const way = await enforcer.tracer.end(id);
    const { protocol, from: source, to: destination, toPort: port } = probe;
    const said = judge(enforcer.planner, { protocol, source, destination, port });
    return { way, kernel: kernelVerdict([way], () => TABLE), said };
  };
  return { lab, nft, enforcer, informers, pods, trace };
}

describeWith({ root: true, tools: ['nsenter', 'ip', 'perl', 'nft'] }, 'the trace of a packet', () => {
  test('names the rule that allows, of either family and three protocols', async () => {
    const { enforcer, informers, pods, trace } = await node();
    pods.set(pod('two', B));
    const policies = informers.of(NETWORK_POLICIES);
    policies.set(policy('deny', { podSelector: { matchLabels: { name: 'two' } }, ingress: [] }));
    policies.set(
      policy('open', {
        podSelector: { matchLabels: { name: 'two' } },
        ingress: [
          { ports: [{ port: 9 }] },
          {
            from: [{ podSelector: { matchLabels: { name: 'one' } } }],
            ports: ['TCP', 'UDP', 'SCTP'].map((protocol) => ({ protocol, port: 80 })),
          },
        ],
      }),
    );
    await enforcer.synced();
    for (const protocol of ['tcp', 'udp', 'sctp'] as const)
      for (const [i, from] of A.entries()) {
        const { way, kernel, said } = await trace({ protocol, from, to: B[i] ?? '' });
        expect(way.end).toEqual({ what: 'left' });
        expect(kernel).toEqual({ isAllowed: true, direction: 'ingress', policy: 'a/open', rule: 1 });
        expect(kernel).toEqual(said);
      }
  });

  test('names the policies that refuse together, and which direction it was', async () => {
    const { enforcer, informers, pods, trace } = await node();
    pods.set(pod('two', B));
    const policies = informers.of(NETWORK_POLICIES);
    policies.set(policy('deny', { podSelector: { matchLabels: { name: 'two' } }, ingress: [] }));
    policies.set(policy('some', { podSelector: {}, ingress: [{ ports: [{ port: 9 }] }] }));
    await enforcer.synced();
    const refused = await trace({ protocol: 'tcp', from: A[0], to: B[0] });
    expect(refused.kernel).toEqual({ isAllowed: false, direction: 'ingress' });
    expect(refused.kernel).toEqual(refused.said);
    expect(refused.way.decisions).toMatchObject([
      { policies: ['a/deny', 'a/some'], outcome: 'refused', direction: 'ingress' },
    ]);
    expect(refused.way.end).toEqual({ what: 'dropped', table: TABLE, chain: 'refused-ingress' });
    policies.set(policy('out', { podSelector: {}, policyTypes: ['Egress'] }));
    await enforcer.synced();
    const out = await trace({ protocol: 'udp', from: A[1], to: B[1], toPort: 9 });
    expect(out.kernel).toEqual({ isAllowed: false, direction: 'egress' });
    expect(out.kernel).toEqual(out.said);
  });

  test('tells what no policy restricts, what is not judged yet, and what somebody else drops', async () => {
    const { lab, enforcer, pods, trace } = await node();
    await enforcer.synced();
    expect((await trace({ protocol: 'udp', from: A[0], to: FAR })).kernel).toEqual({ isAllowed: true });
    expect((await trace({ protocol: 'udp', from: A[0], to: '10.244.0.1' })).way.end).toEqual({
      what: 'arrived',
    });
    const early = await trace({ protocol: 'udp', from: A[0], to: B[0] });
    expect(early.way.end).toEqual({ what: 'dropped', table: TABLE, chain: 'unjudged' });
    expect(early.kernel).toEqual({ isAllowed: false });
    pods.set(pod('two', B));
    await enforcer.synced();
    await lab.node.run(
      'nft',
      'add table ip host; add chain ip host fence { type filter hook forward priority 0; policy drop; }',
    );
    const { way, kernel } = await trace({ protocol: 'tcp', from: A[0], to: B[0] });
    expect(way.end).toEqual({ what: 'dropped', table: 'host', chain: 'fence' });
    expect(kernel).toEqual({ isAllowed: undefined });
  });

  test('changes no table of policies, and leaves nothing, also when its process is killed', async () => {
    const { lab, enforcer, informers, pods, trace } = await node();
    pods.set(pod('two', B));
    informers.of(NETWORK_POLICIES).set(policy('deny', { podSelector: {}, policyTypes: ['Ingress'] }));
    await enforcer.synced();
    const ruleset = async () =>
      (await lab.node.run('nft', '-a', 'list', 'ruleset')).replaceAll(/packets \d+ bytes \d+/g, '');
    const before = await ruleset();
    const probe = { protocol: 'tcp', from: A[0], fromPort: 61_000, to: B[0], toPort: 80 } as const;
    const id = await enforcer.tracer.begin(probe);
    const during = await ruleset();
    expect(during).toContain('trellis-trace-');
    expect(during).toContain(before.trim());
    await enforcer.tracer.end(id);
    expect(await ruleset()).toBe(before);
    await trace({ protocol: 'tcp', from: A[0], to: B[0] });
    const child = spawn(process.execPath, ['--input-type=module', '-e', KILLED, lab.node.path, TABLE], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    expect(await ruleset()).toContain('trellis-trace-');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await until(async () => expect(await ruleset()).toBe(before));
  });
});

const TRACER = path.resolve(import.meta.dirname, '../../../dist/src/network/policy/tracer.js');
const KILLED = `
const { PolicyTracer } = await import(${JSON.stringify(TRACER)});
const [netns, table] = process.argv.slice(1);
const tracer = new PolicyTracer({ table, netns, images: async () => ({}) });
await tracer.begin({ protocol: 'tcp', from: '10.244.0.2', fromPort: 61000, to: '10.244.0.3', toPort: 80 });
console.log('traces');
setInterval(() => {}, 1000);
`;
