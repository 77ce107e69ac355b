// What the Service API promises of packets, as cases that every mode is held to.
// Guarantees: a case names the whole of what may happen: which endpoints, with which source, or how it is refused.
import type { ServicePort, TrafficOptions } from '../../../src/proxy/state.js';
import { NODE_IP, type Packet, type Place, packetFrom } from './packet.js';
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

const here = endpoint('10.244.0.1');
const there = endpoint('10.244.1.1', false);
const both = { endpoints: [here, there] };
const BOTH = ['10.244.0.1 8080', '10.244.1.1 8080'];
const LOCAL = ['10.244.0.1 8080'];
const EXTERNAL_IP = '192.0.2.1';
const LB_IP = '198.51.100.1';

const outside = { nodePort: 30_080, externalIps: [EXTERNAL_IP], loadBalancerIps: [LB_IP] };
const wide = servicePort(1, { ...both, ...outside });
const local = servicePort(1, { ...both, ...outside, externalLocal: true, localEndpoints: [here] });
const nowhere = servicePort(1, { ...outside, endpoints: [], served: false });
const elsewhere = servicePort(1, { ...outside, endpoints: [there], externalLocal: true });
const entries: readonly [string, string, number][] = [
  ['its node port', NODE_IP, 30_080],
  ['an external IP', EXTERNAL_IP, 80],
  ['a load balancer IP', LB_IP, 80],
];
const PLACES: readonly Place[] = ['pod', 'node', 'outside'];

function fromEverywhere(): SemanticCase[] {
  return PLACES.flatMap((place) => [
    {
      name: `the cluster IP from ${place} reaches any endpoint`,
      port: wide,
      packet: packetFrom(place, '10.96.0.1', 80),
      expected: BOTH,
      masqueraded: place !== 'pod',
    },
    {
      name: `the cluster IP from ${place} without endpoints is refused`,
      port: nowhere,
      packet: packetFrom(place, '10.96.0.1', 80),
      expected: 'reject',
    },
    ...entries.flatMap(([entry, ip, port]): SemanticCase[] => [
      {
        name: `${entry} from ${place} reaches any endpoint, masqueraded`,
        port: wide,
        packet: packetFrom(place, ip, port),
        expected: BOTH,
        masqueraded: true,
      },
      {
        name: `${entry} from ${place} without endpoints is refused`,
        port: nowhere,
        packet: packetFrom(place, ip, port),
        expected: 'reject',
      },
      {
        name: `${entry} with policy Local from ${place} ${place === 'outside' ? 'stays on the node and keeps its source' : 'reaches any endpoint'}`,
        port: local,
        packet: packetFrom(place, ip, port),
        expected: place === 'outside' ? LOCAL : BOTH,
        masqueraded: place === 'node',
      },
      {
        name: `${entry} with policy Local and no local endpoint from ${place} is ${place === 'outside' ? 'dropped' : 'served'}`,
        port: elsewhere,
        packet: packetFrom(place, ip, port),
        expected: place === 'outside' ? 'drop' : ['10.244.1.1 8080'],
        masqueraded: place === 'node',
      },
    ]),
  ]);
}

const guarded = servicePort(1, { ...both, ...outside, sourceRanges: ['203.0.113.0/24'] });
const internal = servicePort(1, { ...both, internalLocal: true, localEndpoints: [here] });
const internalElsewhere = servicePort(1, { endpoints: [], internalLocal: true });

const SPECIAL: readonly SemanticCase[] = [
  {
    name: 'internal policy Local reaches only local endpoints',
    port: internal,
    packet: packetFrom('pod', '10.96.0.1', 80),
    expected: LOCAL,
  },
  {
    name: 'internal policy Local without a local endpoint drops',
    port: internalElsewhere,
    packet: packetFrom('pod', '10.96.0.1', 80),
    expected: 'drop',
  },
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
    name: 'UDP is served',
    port: servicePort(1, { ...both, protocol: 'udp' }),
    packet: packetFrom('pod', '10.96.0.1', 80, { protocol: 'udp' }),
    expected: BOTH,
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
  {
    name: 'IPv6 cluster IP',
    port: servicePort(1, { family: 'ip6' }),
    packet: packetFrom('pod', 'fd00:96::1', 80),
    expected: ['fd00:244::1 8080'],
  },
  {
    name: 'IPv6 without endpoints is refused',
    port: servicePort(1, { family: 'ip6', endpoints: [], served: false }),
    packet: packetFrom('pod', 'fd00:96::1', 80),
    expected: 'reject',
  },
  {
    name: 'IPv6 node port from outside',
    port: servicePort(1, { family: 'ip6', nodePort: 30_080 }),
    packet: packetFrom('outside', 'fd00:1::1', 30_080),
    expected: ['fd00:244::1 8080'],
    masqueraded: true,
  },
];

export const SEMANTIC_CASES: readonly SemanticCase[] = [...fromEverywhere(), ...SPECIAL];
export const optionsOf = ({ options, port }: SemanticCase): TrafficOptions =>
  options ?? (port.family === 'ip' ? TRAFFIC : TRAFFIC6);
