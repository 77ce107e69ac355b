// What the Service API promises of packets, as cases that every mode is held to.
// Guarantees: a case names the whole of what may happen: which endpoints, with which source, or how it is refused.
import { withServiceCidrs } from '../../../proxy-modes/families.js';
import type {
  IpFamily,
  PerFamily,
  Protocol,
  ServicePort,
  TrafficOptions,
} from '../../../proxy-modes/mode.js';
import { type ConfigOverrides, settle, trafficOf } from '../../../src/proxy/config.js';
import { API_CASES } from './apiCases.js';
import { NODE_IP, NODE_IP6, type Packet, type Place, packetFrom } from './packet.js';
import { endpoint, servicePort } from './port.js';

/** Endpoints that may get it, each `address port`; or how it ends. */
type Expected = readonly string[] | 'drop' | 'reject' | 'untouched';

export interface SemanticCase {
  readonly name: string;
  /** Undefined: no service port is made of the service at all. */
  readonly port: ServicePort | undefined;
  readonly packet: Packet;
  /** One of OPTIONS; the usual ones when left out. */
  readonly options?: PerFamily<TrafficOptions>;
  readonly expected: Expected;
  readonly masqueraded?: boolean;
  /** What a mode that cannot keep the promise gives in its place. */
  readonly otherwise?: Readonly<Partial<Record<'ipvs' | 'userspace', Expected>>>;
}

const node = { ips: [NODE_IP, NODE_IP6], podCidrs: ['10.244.0.0/24', 'fd00:244::/96'] };
const clusterCidrs = ['10.244.0.0/16', 'fd00:244::/32'];
const SERVICE_CIDRS = ['10.96.0.0/16', 'fd00:96::/64'];
const made = (more: ConfigOverrides) =>
  withServiceCidrs(trafficOf(settle({ clusterCidrs, ...more }), node), SERVICE_CIDRS);

/** What a proxy may be configured with, as the configuration makes it. */
export const OPTIONS = {
  usual: made({}),
  masqueradeAll: made({ masqueradeAll: true }),
  nobody: made({ clusterCidrs: [] }),
  nodeCidr: made({ detectLocalMode: 'NodeCIDR' }),
  prefix: made({ detectLocalMode: 'InterfaceNamePrefix', interfaceNamePrefix: 'veth' }),
  device: made({ detectLocalMode: 'BridgeInterface', bridgeInterface: 'veth1' }),
  primary: made({ nodePortAddresses: ['primary'] }),
  network: made({ nodePortAddresses: ['192.168.0.0/24', 'fd00:1::/64'] }),
  otherNetwork: made({ nodePortAddresses: ['192.168.9.0/24', 'fd00:9::/64'] }),
} as const;
const { ip: TRAFFIC = {} } = OPTIONS.usual;

export { TRAFFIC };

/** What a family's cases are made of. */
const WORLDS = {
  ip: {
    here: endpoint('10.244.0.1'),
    there: endpoint('10.244.1.1', false),
    clusterIp: '10.96.0.1',
    nodeIp: NODE_IP,
    externalIp: '192.0.2.1',
    balancerIp: '198.51.100.1',
    clients: '203.0.113.0/24',
    stranger: '203.0.114.1',
    podGateway: '10.244.0.254',
    nobodysIp: '10.96.9.9',
    elsewhere: '192.168.0.9',
  },
  ip6: {
    here: endpoint('fd00:244::1'),
    there: endpoint('fd00:244:1::1', false),
    clusterIp: 'fd00:96::1',
    nodeIp: NODE_IP6,
    externalIp: '2001:db8:1::1',
    balancerIp: '2001:db8:2::1',
    clients: '2001:db8::/64',
    stranger: '2001:db8:0:1::5',
    podGateway: 'fd00:244::fe',
    nobodysIp: 'fd00:96::9:9',
    elsewhere: 'fd00:1::9',
  },
} as const;

const PLACES: readonly Place[] = ['pod', 'node', 'outside'];

/** Every way in, by every policy, from every place, to endpoints here, there and nowhere. */
function fromEverywhere(family: IpFamily, protocol: Protocol): SemanticCase[] {
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
  // A relay without endpoints ends connections as soon as they are there, and has no word for packets of UDP.
  const closed = { userspace: protocol === 'tcp' ? 'reject' : 'drop' } as const;
  const cases = PLACES.flatMap((place) => {
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
        otherwise: closed,
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
        // IPVS sees the node's own packets before any filter does.
        otherwise: { ...(place === 'node' ? { ipvs: 'reject' } : {}), ...closed },
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
          otherwise: closed,
        },
        {
          name: `${about}: ${entry} with policy Local from ${place} ${isOutside ? 'stays on the node and keeps its source' : 'reaches any endpoint'}`,
          port: local,
          packet: packet(ip, port),
          expected: isOutside ? [toHere] : [toHere, toThere],
          otherwise: { userspace: [toHere, toThere] },
          masqueraded: place === 'node',
        },
        {
          name: `${about}: ${entry} with policy Local and no local endpoint from ${place} is ${isOutside ? 'dropped' : 'served'}`,
          port: elsewhere,
          packet: packet(ip, port),
          expected: isOutside ? 'drop' : [toThere],
          otherwise: { userspace: [toThere] },
          masqueraded: place === 'node',
        },
      ]),
    ] satisfies SemanticCase[];
  });
  // No relay of SCTP is there.
  return protocol === 'sctp'
    ? cases.map((one) => ({ ...one, otherwise: { ...one.otherwise, userspace: 'untouched' } }))
    : cases;
}

/** What needs a service or options of its own. */
function special(family: IpFamily): SemanticCase[] {
  const world = WORLDS[family];
  const { here, there, clusterIp, nodeIp, externalIp, balancerIp, clients, stranger } = world;
  const ways = { nodePort: 30_080, externalIps: [externalIp], loadBalancerIps: [balancerIp] };
  const service = (more: Partial<ServicePort>) => servicePort(1, { family, ...ways, ...more });
  const wide = service({ endpoints: [here, there] });
  const guarded = service({ endpoints: [here, there], sourceRanges: [clients] });
  const [toHere, toThere] = [`${here.ip} 8080`, `${there.ip} 8080`];
  const any = [toHere, toThere];
  const cases: SemanticCase[] = [
    {
      name: 'source ranges let a listed client in',
      port: guarded,
      packet: packetFrom('outside', balancerIp, 80),
      expected: any,
      masqueraded: true,
    },
    {
      name: 'source ranges keep another client out',
      port: guarded,
      packet: packetFrom('outside', balancerIp, 80, { source: stranger }),
      expected: 'drop',
    },
    {
      name: 'source ranges keep a pod out that is in none of them',
      port: guarded,
      packet: packetFrom('pod', balancerIp, 80),
      expected: 'drop',
    },
    {
      name: 'source ranges let in the node that is in one of them',
      port: service({ endpoints: [here, there], sourceRanges: [`${nodeIp}/${family === 'ip' ? 32 : 128}`] }),
      packet: packetFrom('node', balancerIp, 80),
      expected: any,
      masqueraded: true,
    },
    {
      name: 'source ranges let in the node that is in one of them and has the load balancer’s address',
      port: service({ endpoints: [here, there], sourceRanges: [`${nodeIp}/${family === 'ip' ? 32 : 128}`] }),
      packet: packetFrom('node', balancerIp, 80, { source: balancerIp }),
      expected: any,
      masqueraded: true,
    },
    {
      name: 'source ranges keep out the node that is in none of them',
      port: guarded,
      packet: packetFrom('node', balancerIp, 80),
      expected: 'drop',
    },
    {
      name: 'source ranges do not guard the external IP',
      port: guarded,
      packet: packetFrom('outside', externalIp, 80, { source: stranger }),
      expected: any,
      masqueraded: true,
    },
    {
      name: 'source ranges do not guard the node port',
      port: guarded,
      packet: packetFrom('outside', nodeIp, 30_080, { source: stranger }),
      expected: any,
      masqueraded: true,
    },
    {
      name: 'source ranges do not guard the cluster IP',
      port: guarded,
      packet: packetFrom('pod', clusterIp, 80),
      expected: any,
    },
    {
      name: 'source ranges and policy Local: a listed client keeps its source',
      port: service({
        endpoints: [here, there],
        localEndpoints: [here],
        externalLocal: true,
        sourceRanges: [clients],
      }),
      packet: packetFrom('outside', balancerIp, 80),
      expected: [toHere],
      otherwise: { userspace: any },
    },
    ...(['tcp', 'udp', 'sctp'] as const).map(
      (protocol): SemanticCase => ({
        name: `an endpoint that reaches itself is masqueraded (${protocol})`,
        port: servicePort(1, { family, protocol, endpoints: [here] }),
        packet: packetFrom('pod', clusterIp, 80, { protocol, source: here.ip }),
        expected: [toHere],
        masqueraded: true,
        ...(protocol === 'sctp' ? { otherwise: { userspace: 'untouched' } } : {}),
      }),
    ),
    {
      name: 'an endpoint that reaches itself is masqueraded where nobody says on which node it runs',
      port: servicePort(1, { family, endpoints: [{ ...here, local: false, unplaced: true }] }),
      packet: packetFrom('pod', clusterIp, 80, { source: here.ip }),
      expected: [toHere],
      masqueraded: true,
    },
    {
      name: 'an endpoint that reaches itself by an outside address is masqueraded',
      port: service({ endpoints: [here], localEndpoints: [here], externalLocal: true }),
      packet: packetFrom('pod', balancerIp, 80, { source: here.ip }),
      expected: [toHere],
      masqueraded: true,
    },
    {
      name: 'masquerade-all masquerades pods too',
      port: wide,
      packet: packetFrom('pod', clusterIp, 80),
      options: OPTIONS.masqueradeAll,
      expected: any,
      masqueraded: true,
    },
    {
      name: 'without a way to tell pods nothing to the cluster IP is masqueraded',
      port: wide,
      packet: packetFrom('outside', clusterIp, 80),
      options: OPTIONS.nobody,
      expected: any,
    },
    {
      name: 'pods told by the node’s own range: theirs is not masqueraded',
      port: wide,
      packet: packetFrom('pod', clusterIp, 80),
      options: OPTIONS.nodeCidr,
      expected: any,
    },
    {
      name: 'pods told by the node’s own range: that of others is masqueraded',
      port: wide,
      packet: packetFrom('outside', clusterIp, 80),
      options: OPTIONS.nodeCidr,
      expected: any,
      masqueraded: true,
    },
    {
      name: 'pods told by the prefix of the device: theirs is not masqueraded',
      port: wide,
      packet: packetFrom('pod', clusterIp, 80, family === 'ip' ? { source: '172.16.0.9' } : {}),
      options: OPTIONS.prefix,
      expected: any,
    },
    {
      name: 'pods told by the prefix of the device: that of others is masqueraded',
      port: wide,
      packet: packetFrom('outside', clusterIp, 80),
      options: OPTIONS.prefix,
      expected: any,
      masqueraded: true,
    },
    {
      name: 'pods told by the device: theirs is not masqueraded',
      port: wide,
      packet: packetFrom('pod', clusterIp, 80, family === 'ip' ? { source: '172.16.0.9' } : {}),
      options: OPTIONS.device,
      expected: any,
    },
    {
      name: 'pods told by the device: that of others is masqueraded',
      port: wide,
      packet: packetFrom('outside', clusterIp, 80),
      options: OPTIONS.device,
      expected: any,
      masqueraded: true,
    },
    {
      name: 'another protocol is not its service',
      port: servicePort(1, { family, endpoints: [here, there], nodePort: 30_080 }),
      packet: packetFrom('outside', nodeIp, 30_080, { protocol: 'udp' }),
      expected: 'untouched',
    },
    ...PLACES.flatMap((place): SemanticCase[] => [
      {
        name: `a port that the service has not is refused from ${place}`,
        port: wide,
        packet: packetFrom(place, clusterIp, 81),
        expected: 'reject',
      },
      {
        name: `an address of the service range that no service has is dropped from ${place}`,
        port: undefined,
        packet: packetFrom(place, world.nobodysIp, 80),
        expected: 'drop',
      },
    ]),
    {
      name: 'node ports are on every address of the node',
      port: wide,
      packet: packetFrom('pod', world.podGateway, 30_080),
      expected: any,
      masqueraded: true,
    },
    {
      name: 'node ports are on the primary address',
      port: wide,
      packet: packetFrom('outside', nodeIp, 30_080),
      options: OPTIONS.primary,
      expected: any,
      masqueraded: true,
    },
    {
      name: 'node ports are on the primary address alone',
      port: wide,
      packet: packetFrom('pod', world.podGateway, 30_080),
      options: OPTIONS.primary,
      expected: 'untouched',
    },
    {
      name: 'node ports are on the chosen networks',
      port: wide,
      packet: packetFrom('outside', nodeIp, 30_080),
      options: OPTIONS.network,
      expected: any,
      masqueraded: true,
    },
    {
      name: 'node ports are on no other network',
      port: wide,
      packet: packetFrom('outside', nodeIp, 30_080),
      options: OPTIONS.otherNetwork,
      expected: 'untouched',
    },
    {
      name: 'node ports are not on loopback unless asked for',
      port: wide,
      packet: packetFrom('node', family === 'ip' ? '127.0.0.1' : '::1', 30_080),
      expected: 'untouched',
      // Its relay is on the node itself, where loopback needs no leave.
      otherwise: { userspace: any },
    },
    {
      name: 'a packet through the node to the same port elsewhere is not a node port',
      port: wide,
      packet: packetFrom('outside', world.elsewhere, 30_080),
      expected: 'untouched',
    },
  ];
  return cases.map((one) => ({ ...one, name: `${family}: ${one.name}` }));
}

const FAMILIES = ['ip', 'ip6'] as const;
export const SEMANTIC_CASES: readonly SemanticCase[] = [
  ...FAMILIES.flatMap((family) =>
    (['tcp', 'udp', 'sctp'] as const).flatMap((protocol) => fromEverywhere(family, protocol)),
  ),
  ...FAMILIES.flatMap(special),
  ...API_CASES,
];
export const optionsOf = ({ options = OPTIONS.usual, packet }: SemanticCase): TrafficOptions =>
  options[packet.family] ?? {};
