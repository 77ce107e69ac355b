// What the Service API promises of packets, as cases that every mode is held to.
// Guarantees: a case names the whole of what may happen: which endpoints, with which source, or how it is refused.
import type { IpFamily, ServicePort, TrafficOptions } from '../../../src/proxy/state.js';
import { NODE_IP, NODE_IP6, type Packet, type Place, packetFrom } from './packet.js';
import { endpoint, servicePort } from './port.js';

export const TRAFFIC: TrafficOptions = { local: { by: 'cidr', cidr: '10.244.0.0/16' } };
export const TRAFFIC6: TrafficOptions = { local: { by: 'cidr', cidr: 'fd00:244::/64' } };

export interface SemanticCase {
  readonly name: string;
  readonly port: ServicePort;
  readonly packet: Packet;
  readonly options?: TrafficOptions;
  /** Endpoints that may get it, each `address port`; or how it ends. */
  readonly expected: readonly string[] | 'drop' | 'reject' | 'untouched';
  readonly masqueraded?: boolean;
}

const EXTERNAL_IP = '192.0.2.1';
const LB_IP = '198.51.100.1';

/** What a family's cases are made of. */
const WORLDS = {
  ip: {
    here: endpoint('10.244.0.1'),
    there: endpoint('10.244.1.1', false),
    clusterIp: '10.96.0.1',
    nodeIp: NODE_IP,
    externalIp: EXTERNAL_IP,
    balancerIp: LB_IP,
  },
  ip6: {
    here: endpoint('fd00:244::1'),
    there: endpoint('fd00:244:1::1', false),
    clusterIp: 'fd00:96::1',
    nodeIp: NODE_IP6,
    externalIp: '2001:db8:1::1',
    balancerIp: '2001:db8:2::1',
  },
} as const;

const { here, there } = WORLDS.ip;
const both = { endpoints: [here, there] };
const BOTH = ['10.244.0.1 8080', '10.244.1.1 8080'];
const LOCAL = ['10.244.0.1 8080'];
const outside = { nodePort: 30_080, externalIps: [EXTERNAL_IP], loadBalancerIps: [LB_IP] };
const wide = servicePort(1, { ...both, ...outside });
const PLACES: readonly Place[] = ['pod', 'node', 'outside'];

/** Every way in, by every policy, from every place, to endpoints here, there and nowhere. */
function fromEverywhere(family: IpFamily, protocol: 'tcp' | 'udp'): SemanticCase[] {
  const { here, there, clusterIp, nodeIp, externalIp, balancerIp } = WORLDS[family];
  const ways = { nodePort: 30_080, externalIps: [externalIp], loadBalancerIps: [balancerIp] };
  const service = (more: Partial<ServicePort>) => servicePort(1, { family, protocol, ...ways, ...more });
  const all = service({ endpoints: [here, there] });
  const nowhere = service({ endpoints: [], served: false });
  const local = service({ endpoints: [here, there], localEndpoints: [here], externalLocal: true });
  const elsewhere = service({ endpoints: [there], externalLocal: true });
  const internal = service({ endpoints: [here, there], localEndpoints: [here], internalLocal: true });
  const internalElsewhere = servicePort(1, { family, protocol, endpoints: [], internalLocal: true });
  const [toHere, toThere] = [`${here.ip} 8080`, `${there.ip} 8080`];
  const entries: readonly [string, string, number][] = [
    ['its node port', nodeIp, 30_080],
    ['an external IP', externalIp, 80],
    ['a load balancer IP', balancerIp, 80],
  ];
  const about = `${protocol} over ${family}`;
  return PLACES.flatMap((place) => {
    const packet = (ip: string, port: number) => packetFrom(place, ip, port, { protocol });
    const isOutside = place === 'outside';
    return [
      {
        name: `${about}: the cluster IP from ${place} reaches any endpoint`,
        port: all,
        packet: packet(clusterIp, 80),
        expected: [toHere, toThere],
        masqueraded: place !== 'pod',
      },
      {
        name: `${about}: the cluster IP from ${place} without endpoints is refused`,
        port: nowhere,
        packet: packet(clusterIp, 80),
        expected: 'reject',
      },
      {
        name: `${about}: the cluster IP with internal policy Local from ${place} stays on the node`,
        port: internal,
        packet: packet(clusterIp, 80),
        expected: [toHere],
        masqueraded: place !== 'pod',
      },
      {
        name: `${about}: the cluster IP with internal policy Local and no local endpoint from ${place} is dropped`,
        port: internalElsewhere,
        packet: packet(clusterIp, 80),
        expected: 'drop',
      },
      ...entries.flatMap(([entry, ip, port]): SemanticCase[] => [
        {
          name: `${about}: ${entry} from ${place} reaches any endpoint, masqueraded`,
          port: all,
          packet: packet(ip, port),
          expected: [toHere, toThere],
          masqueraded: true,
        },
        {
          name: `${about}: ${entry} from ${place} without endpoints is refused`,
          port: nowhere,
          packet: packet(ip, port),
          expected: 'reject',
        },
        {
          name: `${about}: ${entry} with policy Local from ${place} ${isOutside ? 'stays on the node and keeps its source' : 'reaches any endpoint'}`,
          port: local,
          packet: packet(ip, port),
          expected: isOutside ? [toHere] : [toHere, toThere],
          masqueraded: place === 'node',
        },
        {
          name: `${about}: ${entry} with policy Local and no local endpoint from ${place} is ${isOutside ? 'dropped' : 'served'}`,
          port: elsewhere,
          packet: packet(ip, port),
          expected: isOutside ? 'drop' : [toThere],
          masqueraded: place === 'node',
        },
      ]),
    ] satisfies SemanticCase[];
  });
}

const guarded = servicePort(1, { ...both, ...outside, sourceRanges: ['203.0.113.0/24'] });

const SPECIAL: readonly SemanticCase[] = [
  {
    name: 'source ranges let a listed client in',
    port: guarded,
    packet: packetFrom('outside', LB_IP, 80),
    expected: BOTH,
    masqueraded: true,
  },
  {
    name: 'source ranges keep another client out',
    port: guarded,
    packet: packetFrom('outside', LB_IP, 80, { source: '203.0.114.1' }),
    expected: 'drop',
  },
  {
    name: 'source ranges do not guard the external IP',
    port: guarded,
    packet: packetFrom('outside', EXTERNAL_IP, 80, { source: '203.0.114.1' }),
    expected: BOTH,
    masqueraded: true,
  },
  {
    name: 'source ranges do not guard the cluster IP',
    port: guarded,
    packet: packetFrom('pod', '10.96.0.1', 80),
    expected: BOTH,
  },
  {
    name: 'an endpoint that reaches itself is masqueraded',
    port: servicePort(1, { endpoints: [here] }),
    packet: packetFrom('pod', '10.96.0.1', 80, { source: here.ip }),
    expected: LOCAL,
    masqueraded: true,
  },
  {
    name: 'an endpoint that reaches itself from outside addresses is masqueraded',
    port: servicePort(1, { ...outside, endpoints: [here], localEndpoints: [here], externalLocal: true }),
    packet: packetFrom('pod', LB_IP, 80, { source: here.ip }),
    expected: LOCAL,
    masqueraded: true,
  },
  {
    name: 'masquerade-all masquerades pods too',
    port: wide,
    packet: packetFrom('pod', '10.96.0.1', 80),
    options: { ...TRAFFIC, masqueradeAll: true },
    expected: BOTH,
    masqueraded: true,
  },
  {
    name: 'without a way to tell pods nothing to the cluster IP is masqueraded',
    port: wide,
    packet: packetFrom('outside', '10.96.0.1', 80),
    options: {},
    expected: BOTH,
  },
  {
    name: 'pods told by the device: theirs is not masqueraded',
    port: wide,
    packet: packetFrom('pod', '10.96.0.1', 80, { source: '172.16.0.9' }),
    options: { local: { by: 'interface-prefix', prefix: 'veth' } },
    expected: BOTH,
  },
  {
    name: 'pods told by the device: that of others is masqueraded',
    port: wide,
    packet: packetFrom('outside', '10.96.0.1', 80),
    options: { local: { by: 'interface', name: 'cni0' } },
    expected: BOTH,
    masqueraded: true,
  },
  {
    name: 'another protocol is not its service',
    port: servicePort(1, { ...both, nodePort: 30_080 }),
    packet: packetFrom('outside', NODE_IP, 30_080, { protocol: 'udp' }),
    expected: 'untouched',
  },
  {
    name: 'SCTP is served',
    port: servicePort(1, { ...both, protocol: 'sctp' }),
    packet: packetFrom('pod', '10.96.0.1', 80, { protocol: 'sctp' }),
    expected: BOTH,
  },
  {
    name: 'node ports are on the chosen networks',
    port: wide,
    packet: packetFrom('outside', NODE_IP, 30_080),
    options: { ...TRAFFIC, nodePortCidrs: ['192.168.0.0/24'] },
    expected: BOTH,
    masqueraded: true,
  },
  {
    name: 'node ports are on no other network',
    port: wide,
    packet: packetFrom('outside', NODE_IP, 30_080),
    options: { ...TRAFFIC, nodePortCidrs: ['192.168.9.0/24'] },
    expected: 'untouched',
  },
  {
    name: 'a packet through the node to the same port elsewhere is not a node port',
    port: wide,
    packet: packetFrom('outside', '192.168.0.9', 30_080),
    expected: 'untouched',
  },
];

export const SEMANTIC_CASES: readonly SemanticCase[] = [
  ...(['ip', 'ip6'] as const).flatMap((family) =>
    (['tcp', 'udp'] as const).flatMap((protocol) => fromEverywhere(family, protocol)),
  ),
  ...SPECIAL,
];
export const optionsOf = ({ options, port }: SemanticCase): TrafficOptions =>
  options ?? (port.family === 'ip' ? TRAFFIC : TRAFFIC6);
