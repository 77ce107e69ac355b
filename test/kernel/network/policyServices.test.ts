// Network policies beside a proxy mode: what reaches a pod through a Service is judged by the pods at both ends, whatever
// address and port was asked for. Connections from a pod, the node, outside and the pod itself; three protocols, both families.
// TRELLIS_POLICY_MODE=ipvs asks a kernel that has IPVS.
import { afterEach, expect, test, vi } from 'vitest';
import type { ProxyMode, ServicePort } from '../../../proxy-modes/mode.js';
import type { V1NetworkPolicySpec } from '../../../src/api/gen/types.js';
import { silentLog } from '../../../src/api/log.js';
import { NAMESPACES, NETWORK_POLICIES, PODS } from '../../../src/api/resources.js';
import { openConntrack } from '../../../src/kernel/conntrack/adapter.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { PolicyEnforcer } from '../../../src/network/policy/enforcer.js';
import { openMode } from '../../../src/proxy/modes.js';
import { podObject } from '../../support/policy/worldPlanner.js';
import { NODE_IP, NODE_IP6 } from '../../support/proxy/packet.js';
import { endpoint, servicePort, stateOf } from '../../support/proxy/port.js';
import { OPTIONS } from '../../support/proxy/semantics.js';
import { ASKERS, type Asker, type TruthLab, truthLab } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';
import { StaticInformers } from '../../support/staticInformers.js';

vi.setConfig({ testTimeout: 600_000 });

const MODE = process.env['TRELLIS_POLICY_MODE'];
const MODES = (MODE === undefined ? ['nftables', 'iptables'] : [MODE]) as ProxyMode['name'][];

const { open, closing } = truthLab();
const enforcers: PolicyEnforcer[] = [];
afterEach(async () => {
  for (const enforcer of enforcers.splice(0)) await enforcer.stop();
});

const PROTOCOLS = ['tcp', 'udp', 'sctp'] as const;
const NODE_PORT = 30_001;
/** Where nothing may come. */
const SILENCE_MS = 1500;
/** The pods of the lab by their addresses. */
const POD_IPS = {
  client: ['10.244.0.77', 'fd00:244::77'],
  server: ['10.244.0.1', 'fd00:244::1'],
  remote: ['10.244.1.1', 'fd00:244:1::1'],
} as const;
const OUTSIDE = ['192.168.0.2', 'fd00:1::2'] as const;

/** Service 1 has the server behind it, service 2 the pod of another node. */
const services = PROTOCOLS.flatMap((protocol): ServicePort[] =>
  (['ip', 'ip6'] as const).flatMap((family, i) => {
    const [server, remote] = [endpoint(POD_IPS.server[i] ?? ''), endpoint(POD_IPS.remote[i] ?? '', false)];
    return [
      servicePort(1, {
        family,
        protocol,
        nodePort: NODE_PORT,
        externalLocal: true,
        endpoints: [server],
        localEndpoints: [server],
      }),
      servicePort(2, { family, protocol, endpoints: [remote] }),
    ];
  }),
);

interface WayOf {
  readonly asker: Asker;
  readonly to: readonly string[];
  readonly source?: readonly string[];
  readonly port?: number;
}

/** Who asks for what; `source` is what the pod must see of the asker, where it is kept. */
const WAYS = {
  'a pod, by the cluster IP': { asker: 'pod', to: ['10.96.0.1', 'fd00:96::1'], source: POD_IPS.client },
  'a pod, by the cluster IP of a pod elsewhere': {
    asker: 'pod',
    to: ['10.96.0.2', 'fd00:96::2'],
    source: POD_IPS.client,
  },
  'the world, by the node port': {
    asker: 'outside',
    to: [NODE_IP, NODE_IP6],
    source: OUTSIDE,
    port: NODE_PORT,
  },
  'the pod itself, by the cluster IP': { asker: 'here', to: ['10.96.0.1', 'fd00:96::1'] },
  'the node, by the cluster IP': { asker: 'node', to: ['10.96.0.1', 'fd00:96::1'] },
} as const satisfies Record<
  string,
  { asker: Asker; to: readonly string[]; source?: readonly string[]; port?: number }
>;
type Way = keyof typeof WAYS;
const [POD, ELSEWHERE, WORLD, ITSELF, NODE] = Object.keys(WAYS) as [Way, Way, Way, Way, Way];

const role = (name: string) => ({ podSelector: { matchLabels: { role: name } } });
const blocks = (...cidrs: readonly string[]) => cidrs.map((cidr) => ({ ipBlock: { cidr } }));
const ports = (...numbers: readonly number[]) =>
  numbers.flatMap((port) => ['TCP', 'UDP', 'SCTP'].map((protocol) => ({ protocol, port })));

const CASES: readonly { name: string; spec?: V1NetworkPolicySpec; reached: readonly Way[] }[] = [
  { name: 'no policy', reached: [POD, ELSEWHERE, WORLD, ITSELF, NODE] },
  {
    name: 'nobody may come in',
    spec: { ...role('server'), policyTypes: ['Ingress'] },
    reached: [ELSEWHERE, ITSELF, NODE],
  },
  {
    name: "the client may come in to the pod's own port",
    spec: { ...role('server'), ingress: [{ from: [role('client')], ports: ports(8080) }] },
    reached: [POD, ELSEWHERE, ITSELF, NODE],
  },
  {
    name: 'ports of the Service are no ports of the pod',
    spec: { ...role('server'), ingress: [{ ports: ports(80, NODE_PORT) }] },
    reached: [ELSEWHERE, ITSELF, NODE],
  },
  {
    name: 'the world may come in under its own address',
    spec: { ...role('server'), ingress: [{ from: blocks(`${OUTSIDE[0]}/32`, `${OUTSIDE[1]}/128`) }] },
    reached: [ELSEWHERE, WORLD, ITSELF, NODE],
  },
  {
    name: 'addresses of the node and of Services are not those of a client',
    spec: {
      ...role('server'),
      ingress: [{ from: blocks(`${NODE_IP}/32`, `${NODE_IP6}/128`, '10.96.0.0/16', 'fd00:96::/64') }],
    },
    reached: [ELSEWHERE, ITSELF, NODE],
  },
  {
    name: 'a client may go to addresses of Services, which are those of no pod',
    spec: {
      ...role('client'),
      policyTypes: ['Egress'],
      egress: [{ to: blocks('10.96.0.0/16', 'fd00:96::/64') }],
    },
    reached: [WORLD, ITSELF, NODE],
  },
  {
    name: 'a client may go to the server, and to nobody else',
    spec: {
      ...role('client'),
      policyTypes: ['Egress'],
      egress: [{ to: [role('server')], ports: ports(8080) }],
    },
    reached: [POD, WORLD, ITSELF, NODE],
  },
];

/** What differs from what is to be reached: nothing, if all is well. */
async function surprises(lab: TruthLab, reached: readonly Way[]) {
  const cases = (Object.keys(WAYS) as Way[]).flatMap((name) => {
    const { asker, to, source, port = 80 }: WayOf = WAYS[name];
    const isReached = reached.includes(name);
    return PROTOCOLS.flatMap((protocol) =>
      to.map((destination, i) => {
        const question = { protocol, destination, port, patienceMs: isReached ? 60_000 : SILENCE_MS };
        return { name, asker, isReached, question, source: source?.[i] };
      }),
    );
  });
  // Each asker answers one list at a time.
  const asked = ASKERS.map(async (asker) => {
    const own = cases.filter((one) => one.asker === asker);
    const answers = await lab.ask(
      asker,
      own.map(({ question }) => question),
    );
    return own.map((one, i) => ({ ...one, answer: answers[i] }));
  });
  return (await Promise.all(asked))
    .flat()
    .filter(({ isReached, source, answer }) =>
      isReached
        ? typeof answer !== 'object' || (source !== undefined && answer.source !== source)
        : answer !== 'silence',
    );
}

const needs = { root: true, tools: ['nsenter', 'ip', 'perl', 'iptables-legacy-restore'] };
describeWith(needs, 'network policies of pods behind Services', () => {
  test.each(MODES)('are those of the pods, in the %s mode', async (name) => {
    const lab = await open();
    const netns = lab.node.path;
    const mode = await openMode(name, {
      table: 'trellis-services',
      families: ['ip', 'ip6'],
      traffic: OPTIONS.usual,
      backend: 'legacy',
      netns,
      setSysctl: async (key, value) =>
        void (await lab.node.run('sh', '-c', `echo ${value} > /proc/sys/${key}`)),
    });
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
    enforcers.push(enforcer);
    informers.of(NAMESPACES).set({ metadata: { name: 'a' } });
    for (const [pod, ips] of Object.entries(POD_IPS)) {
      const isLocal = pod !== 'remote';
      const object = podObject({ namespace: 'a', name: pod, labels: { role: pod }, ips, ports: [] }, isLocal);
      informers.of(PODS).set(object);
    }
    await enforcer.setPodRanges(['10.244.0.0/24', 'fd00:244::/64']);
    enforcer.follow(informers);
    try {
      await mode.sync(stateOf(...services));
      for (const { name: what, spec, reached } of CASES) {
        if (spec !== undefined)
          informers.of(NETWORK_POLICIES).set({ metadata: { namespace: 'a', name: 'one' }, spec });
        await enforcer.synced();
        expect([what, await surprises(lab, reached)]).toEqual([what, []]);
      }
    } finally {
      mode.close();
    }
  });
});
