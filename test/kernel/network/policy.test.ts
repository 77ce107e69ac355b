// Network policies against real packets: what a plain reading of the objects allows arrives, and nothing else does.
import { expect, test, vi } from 'vitest';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { judge } from '../../../src/network/policy/judge.js';
import type { Policy, PolicyRule, Tier } from '../../../src/network/policy/model.js';
import { PolicyPlanner } from '../../../src/network/policy/planner.js';
import { type Probe, policyLab } from '../../support/policy/lab.js';
import { PORTS, RandomWorld, seeded } from '../../support/policy/randomWorld.js';
import { isAllowedHere } from '../../support/policy/tierReference.js';
import { type Place, WorldPlanner } from '../../support/policy/worldPlanner.js';
import { describeWith } from '../../support/requires.js';

vi.setConfig({ testTimeout: 300_000 });

const LOCAL = [2, 3, 4, 5].map((n): [string, string] => [`10.244.0.${n}`, `fd00:244::${n}`]);
const REMOTE = [8, 9].map((n): [string, string] => [`10.244.1.${n}`, `fd00:244:1::${n}`]);
const WORLD = ['192.0.2.7', '198.51.100.1', 'fd00:9::1'];
const NETWORKS = [
  '10.244.0.0/24',
  '10.244.0.4/31',
  '10.244.1.0/24',
  '192.0.2.7/32',
  'fd00:244::/64',
  'fd00:244::4/127',
];
const PLACES: readonly Place[] = [...LOCAL, ...REMOTE].map((ips, i) => ({
  name: `p${i}`,
  ips,
  isLocal: i < LOCAL.length,
}));

const { open, closing } = policyLab();

function probes(): Probe[] {
  const addresses = [...LOCAL.flat(), ...REMOTE.flat(), ...WORLD];
  const isHere = (ip: string) => LOCAL.flat().includes(ip);
  return addresses.flatMap((source) =>
    addresses
      .filter(
        (ip) => ip !== source && ip.includes(':') === source.includes(':') && (isHere(ip) || isHere(source)),
      )
      .flatMap((destination) =>
        (['tcp', 'udp', 'sctp'] as const).flatMap((protocol) =>
          PORTS.map((port) => ({ protocol, source, destination, port })),
        ),
      ),
  );
}

describeWith({ root: true, tools: ['nsenter', 'ip', 'perl', 'nft'] }, 'network policies', () => {
  const seed = Number(process.env['TRELLIS_POLICY_SEED'] ?? 4);
  const rounds = Number(process.env['TRELLIS_POLICY_ROUNDS'] ?? 16);

  test(`are what packets meet, after every change (seed ${seed})`, async () => {
    const lab = await open(LOCAL, [...REMOTE.flat(), ...WORLD]);
    const nft = closing(await openNft(lab.node.path));
    const steps = new WorldPlanner(new RandomWorld(seeded(seed), NETWORKS), PLACES);
    const here = new Set(LOCAL.flat());
    let isFirst = true;
    const counts = { allowed: 0, refused: 0 };
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < 6; i++) steps.step();
      const { ip, ip6 } = steps.planner.images;
      await nft.commit(isFirst ? [...ip.whole(), ...ip6.whole()] : [...ip.changes(), ...ip6.changes()]);
      for (const image of [ip, ip6]) image.committed();
      isFirst = false;
      const { world } = steps;
      const wanted = (probe: Probe) =>
        isAllowedHere(world, { ...probe, protocol: probe.protocol.toUpperCase() as 'TCP' }, here);
      const all = probes();
      const arrived = await lab.send(all, wanted);
      const wrong = all.filter((probe) => arrived.has(probe) !== wanted(probe));
      expect(wrong.map((probe) => ({ ...probe, arrived: arrived.has(probe) }))).toEqual([]);
      for (const probe of all) counts[arrived.has(probe) ? 'allowed' : 'refused'] += 1;
    }
    expect(Math.min(counts.allowed, counts.refused)).toBeGreaterThan(rounds * 20);
    // The tool that people look with can read all of it.
    expect(await lab.node.run('nft', 'list', 'ruleset')).toContain('map @ingress-pods');
  });

  test('are asked by tier and priority: accept, deny and pass', async () => {
    const lab = await open(LOCAL, []);
    const nft = closing(await openNft(lab.node.path));
    const planner = new PolicyPlanner();
    const names = ['deny', 'accept', 'pass', 'target'];
    for (const [i, name] of names.entries())
      planner.setPod({
        namespace: 'a',
        name,
        labels: { name },
        ips: LOCAL[i] ?? [],
        ports: [],
        isLocal: true,
      });
    planner.setNamespace('a', {});
    const from = (...some: string[]) => ({
      selections: some.map((name) => ({ namespace: 'a', pods: { matchLabels: { name } } })),
      blocks: [],
    });
    const subject = { namespace: 'a', pods: { matchLabels: { name: 'target' } } };
    const policy = (key: string, tier: Tier, priority: number, ingress: PolicyRule[]): Policy => ({
      key,
      tier,
      priority,
      subject,
      rules: { ingress },
    });
    const reaching = async () => {
      const { ip, ip6 } = planner.images;
      await nft.commit([...ip.whole(), ...ip6.whole()]);
      const all = LOCAL.slice(0, 3).flatMap((ips, i) =>
        ips.map((source, family) => ({
          name: names[i] ?? '',
          source,
          destination: LOCAL[3]?.[family] ?? '',
          protocol: 'tcp' as const,
          port: 80,
        })),
      );
      const isJudged = (probe: Probe) => judge(planner, probe).isAllowed;
      const arrived = await lab.send(all, isJudged);
      expect([...arrived].sort()).toEqual(all.filter(isJudged).sort());
      return [...new Set([...arrived].map((probe) => all.find((one) => one === probe)?.name))];
    };
    planner.setPolicy(policy('base', 'baseline', 0, [{ action: 'deny', peers: from('pass') }]));
    expect(await reaching()).toEqual(['deny', 'accept']);
    planner.setPolicy(
      policy('first', 'admin', 1, [
        { action: 'deny', peers: from('deny') },
        { action: 'pass', peers: from('pass') },
      ]),
    );
    // Asked later, it decides nothing that the first has decided.
    planner.setPolicy(
      policy('second', 'admin', 2, [{ action: 'accept', peers: from('deny', 'accept', 'pass') }]),
    );
    expect(await reaching()).toEqual(['accept']);
    // Where a namespaced policy selects the pod, what passes is up to it, and the last tier is not asked.
    planner.setPolicy(policy('a/open', 'namespaced', 0, [{ action: 'accept', peers: from('pass') }]));
    expect(await reaching()).toEqual(['accept', 'pass']);
    planner.setPolicy(policy('a/open', 'namespaced', 0, []));
    expect(await reaching()).toEqual(['accept']);
    planner.removePolicy('first');
    planner.removePolicy('second');
    expect(await reaching()).toEqual([]);
  });
});
