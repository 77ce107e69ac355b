// The planner of network policies: random changes against a fresh plan and against a plain reading of the objects.
import { describe, expect, test } from 'vitest';
import { judge } from '../../../../src/network/policy/judge.js';
import type { Policy } from '../../../../src/network/policy/model.js';
import { PolicyPlanner } from '../../../../src/network/policy/planner.js';
import type { TableImage } from '../../../../src/network/policy/tableImage.js';
import { PORTS, RandomWorld, seeded } from '../../../support/policy/randomWorld.js';
import { isAllowedHere } from '../../../support/policy/tierReference.js';
import { type Place, WorldPlanner } from '../../../support/policy/worldPlanner.js';

const STEPS = Number(process.env['TRELLIS_POLICY_CHANGES'] ?? 1500);
const PLACES: readonly Place[] = Array.from({ length: 9 }, (_, i) => ({
  name: `p${i}`,
  ips: [`10.244.${i < 6 ? 0 : 1}.${i + 2}`, `fd00:244:${i < 6 ? '' : '1:'}:${i + 2}`],
  isLocal: i < 6,
}));
const NETWORKS = [
  '10.244.0.0/24',
  '10.244.0.0/30',
  '10.244.1.0/24',
  '192.0.2.7/32',
  'fd00:244::/64',
  'fd00:244::4/126',
];
const OUTSIDE = ['192.0.2.7', '198.51.100.1', 'fd00:9::1'];

/** Which numbers profiles have depends on what there was before; where they lead does not. */
function contentsOf(image: TableImage) {
  const sets = new Map([...image.contents()].map(({ set, elements }) => [set, elements]));
  const texts = (set: string) => {
    const profiles = set.endsWith('-pods') ? sets.get(set.replace(/pods$/, 'profiles')) : undefined;
    return [...(sets.get(set)?.values() ?? [])].map(({ key, data = '', verdict = '' }) => {
      if (profiles !== undefined) return `${key} ${profiles.get(data)?.verdict}`;
      return set.endsWith('-profiles') ? verdict : key;
    });
  };
  return {
    chains: Object.fromEntries(
      image
        .chainNames()
        .sort()
        .map((name) => [name, image.rulesOf(name)]),
    ),
    sets: Object.fromEntries([...sets.keys()].sort().map((set) => [set, texts(set).sort()])),
  };
}
const tablesOf = ({ images }: PolicyPlanner) => ({ ip: contentsOf(images.ip), ip6: contentsOf(images.ip6) });

const attempts = () => {
  const addresses = [...PLACES.flatMap(({ ips }) => ips), ...OUTSIDE];
  return addresses.flatMap((source) =>
    addresses
      .filter((destination) => destination.includes(':') === source.includes(':'))
      .flatMap((destination) =>
        (['TCP', 'UDP', 'SCTP'] as const).flatMap((protocol) =>
          PORTS.map((port) => ({ source, destination, protocol, port })),
        ),
      ),
  );
};

describe('after random changes of pods, namespaces and policies', () => {
  const seed = Number(process.env['TRELLIS_POLICY_SEED'] ?? 20);
  // Hundreds of random changes, or as many as the long proof asks for.
  const LONG = { timeout: 90_000 };

  test(`the tables are those of a plan made at once (seed ${seed})`, LONG, () => {
    const steps = new WorldPlanner(new RandomWorld(seeded(seed), NETWORKS), PLACES);
    for (let step = 0; step < STEPS; step++) {
      steps.step();
      if (step % 25 === 0) expect(tablesOf(steps.planner)).toEqual(tablesOf(steps.fresh()));
    }
  });

  test(`a connection is judged as the objects say, wherever its ends are (seed ${seed})`, LONG, () => {
    const steps = new WorldPlanner(new RandomWorld(seeded(seed + 1), NETWORKS), PLACES);
    const isHere = new Set(PLACES.filter(({ isLocal }) => isLocal).flatMap(({ ips }) => ips));
    const wrong: string[] = [];
    let judged = 0;
    for (let step = 0; step < STEPS; step++) {
      steps.step();
      if (step % 50 !== 0) continue;
      const { world } = steps;
      // What is elsewhere is judged there: here it counts as a peer alone.
      const here = (ip: string) => (isHere.has(ip) ? ip : undefined);
      for (const { source, destination, protocol, port } of attempts()) {
        if (here(source) === undefined && here(destination) === undefined) continue;
        const told = judge(steps.planner, {
          source,
          destination,
          protocol: protocol.toLowerCase() as 'tcp',
          port,
        }).isAllowed;
        const wanted = isAllowedHere(world, { source, destination, protocol, port }, isHere);
        if (told !== wanted)
          wrong.push(`${source} > ${destination} ${protocol} ${port}: ${told} after step ${step}`);
        judged += 1;
      }
    }
    expect(wrong).toEqual([]);
    expect(judged).toBeGreaterThan(10_000);
  });
});

test('a pod is compared with selectors of its own namespace and labels, however many others there are', () => {
  const comparisonsAmong = (others: number) => {
    const planner = new PolicyPlanner();
    const policy = (namespace: string, app: string): Policy => ({
      key: `${namespace}/${app}`,
      tier: 'namespaced',
      priority: 0,
      subject: { namespace, pods: { matchLabels: { app } } },
      rules: { ingress: [] },
    });
    planner.setPolicy(policy('a', 'web'));
    for (let i = 0; i < others; i++) planner.setPolicy(policy(i % 2 === 0 ? 'a' : 'b', `other${i}`));
    const before = planner.comparisons;
    planner.setPod({
      namespace: 'a',
      name: 'p',
      labels: { app: 'web' },
      ips: ['10.0.0.1'],
      ports: [],
      isLocal: true,
    });
    return planner.comparisons - before;
  };
  expect(comparisonsAmong(10)).toBe(1);
  expect(comparisonsAmong(1000)).toBe(1);
});

test('a policy is compared with pods that have a label it demands, however many others there are', () => {
  const comparisonsAmong = (others: number) => {
    const planner = new PolicyPlanner();
    const pod = (name: string, labels: Record<string, string>, namespace: string) =>
      planner.setPod({ namespace, name, labels, ips: [], ports: [], isLocal: true });
    pod('p', { app: 'web' }, 'a');
    for (let i = 0; i < others; i++) pod(`o${i}`, { app: `other${i}` }, i % 2 === 0 ? 'a' : 'b');
    const before = planner.comparisons;
    planner.setPolicy({
      key: 'a/web',
      tier: 'namespaced',
      priority: 0,
      subject: { namespace: 'a', pods: { matchLabels: { app: 'web' } } },
      rules: {
        ingress: [
          {
            action: 'accept',
            peers: { selections: [{ namespaces: {}, pods: { matchLabels: { app: 'web' } } }], blocks: [] },
          },
        ],
      },
    });
    return planner.comparisons - before;
  };
  expect(comparisonsAmong(10)).toBe(2);
  expect(comparisonsAmong(1000)).toBe(2);
});

describe('what the kernel is given', () => {
  const pod = (labels: Record<string, string>, ips: string[] = ['10.0.0.1'], isLocal = true) => ({
    namespace: 'a',
    name: isLocal ? 'here' : 'there',
    labels,
    ips,
    ports: [],
    isLocal,
  });
  const web: Policy = {
    key: 'a/web',
    tier: 'namespaced',
    priority: 0,
    subject: { namespace: 'a', pods: { matchLabels: { app: 'web' } } },
    rules: {
      ingress: [
        {
          action: 'accept',
          peers: { selections: [{ namespace: 'a', pods: { matchLabels: { app: 'shop' } } }], blocks: [] },
          ports: [
            { protocol: 'tcp', port: 80 },
            { protocol: 'udp', port: 53 },
          ],
        },
      ],
    },
  };
  const ofPolicies = ({ images }: PolicyPlanner) => ({
    chains: images.ip.chainNames().filter((name) => name.includes('-policy-')).length,
    sets: [...images.ip.contents()].filter(({ set }) => /^(pods|ports)-/.test(set)).length,
  });

  test('has the chains and sets of a policy while it selects a pod of this node', () => {
    const planner = new PolicyPlanner();
    planner.setPolicy(web);
    planner.setPod(pod({ app: 'web' }, ['10.0.1.1'], false));
    planner.setPod(pod({}));
    expect(ofPolicies(planner)).toEqual({ chains: 0, sets: 0 });
    planner.setPod(pod({ app: 'web' }));
    expect(ofPolicies(planner)).toEqual({ chains: 1, sets: 2 });
    planner.setPod(pod({}));
    expect(ofPolicies(planner)).toEqual({ chains: 0, sets: 0 });
  });

  test('follows a policy that was changed while it selected nobody here', () => {
    const planner = new PolicyPlanner();
    planner.setPolicy(web);
    planner.setPod(pod({ app: 'web' }));
    expect(ofPolicies(planner).chains).toBe(1);
    planner.setPolicy({ ...web, subject: { namespace: 'b', pods: {} }, rules: { ingress: [] } });
    planner.setPolicy({ ...web, rules: { ingress: [] } });
    const to = { destination: '10.0.0.1', protocol: 'tcp', port: 80 } as const;
    planner.setPod(pod({ app: 'shop' }, ['10.0.1.1'], false));
    expect(judge(planner, { source: '10.0.1.1', ...to }).isAllowed).toBe(false);
    planner.setPolicy(web);
    expect(judge(planner, { source: '10.0.1.1', ...to }).isAllowed).toBe(true);
  });

  test('has no table of a family that no pod and no range here is of', () => {
    const planner = new PolicyPlanner();
    const written = () => {
      const { ip, ip6 } = planner.images;
      const requests = { ip: ip.changes(), ip6: ip6.changes() };
      for (const image of [ip, ip6]) image.committed();
      return { ip: requests.ip.length, ip6: requests.ip6.map((one) => `${one.do} ${one.kind}`) };
    };
    planner.setPod(pod({ app: 'web' }));
    planner.setPolicy(web);
    // Whatever a former process left there goes.
    expect(written().ip6).toEqual(['add table', 'delete table']);
    planner.setPod(pod({}));
    expect(written()).toEqual({ ip: expect.toSatisfy((count) => count > 0), ip6: [] });
    planner.setPodRanges(['10.0.0.0/24', 'fd00::/64']);
    expect(written().ip6).toContain('add rule');
    planner.setPodRanges(['10.0.0.0/24']);
    expect(written().ip6).toEqual(['add table', 'delete table']);
  });
});
