// What one port of a service asks of IPVS, of the sets and of the device. Pure.
import { contains, parseCidr } from '../../../src/api/ip.js';
import type { IpvsServiceKey, IpvsServiceOptions } from '../../../src/kernel/ipvs/port.js';
import {
  type Endpoint,
  externalEndpoints,
  internalEndpoints,
  type ServicePort,
  type TrafficOptions,
} from '../../../src/proxy/state.js';
import type { SetKind } from '../names.js';

export type ServerKey = Extract<IpvsServiceKey, { readonly address: string }>;

export interface VirtualServer {
  readonly key: ServerKey;
  readonly options: IpvsServiceOptions;
  readonly destinations: readonly Endpoint[];
}

export interface ServicePlan {
  readonly servers: readonly VirtualServer[];
  /** Service addresses that the device holds. */
  readonly addresses: readonly string[];
  /** Entries of sets, each `kind entry`. */
  readonly entries: readonly string[];
}

export interface IpvsOptions extends TrafficOptions {
  readonly scheduler: string;
  /** Addresses of the node that may have node ports. */
  readonly nodeIps: readonly string[];
}

const PROTOCOL_SETS = {
  tcp: ['NODE-PORT-TCP', 'NODE-PORT-LOCAL-TCP'],
  udp: ['NODE-PORT-UDP', 'NODE-PORT-LOCAL-UDP'],
  sctp: ['NODE-PORT-SCTP-HASH', 'NODE-PORT-LOCAL-SCTP-HASH'],
} as const;

export function planService(port: ServicePort, options: IpvsOptions): ServicePlan {
  const outside = [...new Set([...port.externalIps, ...port.loadBalancerIps])];
  const nodeIps = port.nodePort === undefined ? [] : nodePortIps(port, options);
  const server = (address: string, number: number, destinations: readonly Endpoint[]): VirtualServer => ({
    key: { protocol: port.protocol, address, port: number },
    options: {
      scheduler: options.scheduler,
      ...(port.affinitySeconds === undefined ? {} : { persistence: port.affinitySeconds }),
    },
    destinations,
  });
  // Without a local endpoint only pods and the node itself get here, and they may go to any.
  const external = lacksLocal(port) ? port.endpoints : externalEndpoints(port);
  return {
    servers: [
      server(port.clusterIp, port.port, internalEndpoints(port)),
      ...outside.map((ip) => server(ip, port.port, external)),
      ...nodeIps.map((ip) => server(ip, port.nodePort ?? 0, external)),
    ],
    addresses: [port.clusterIp, ...outside],
    entries: [...new Set(entries(port, nodeIps))],
  };
}

/** From outside nothing is served here, for policy Local finds nobody; a load balancer tries another node. */
const lacksLocal = ({ externalLocal, localEndpoints }: ServicePort) =>
  externalLocal && localEndpoints.length === 0;

function nodePortIps(
  { family }: ServicePort,
  { nodeIps, nodePortCidrs, localhostNodePorts }: IpvsOptions,
): string[] {
  const cidrs = nodePortCidrs?.map(parseCidr);
  return nodeIps.filter((ip) => {
    if (ip.includes(':') !== (family === 'ip6')) return false;
    if ((ip.startsWith('127.') || ip === '::1') && localhostNodePorts !== true) return false;
    return cidrs === undefined || cidrs.some((cidr) => cidr !== undefined && contains(cidr, ip));
  });
}

function entries(port: ServicePort, nodeIps: readonly string[]): string[] {
  const at = (ip: string, number = port.port) => `${ip},${port.protocol}:${number}`;
  const put = (kind: SetKind, entry: string) => `${kind} ${entry}`;
  const used = [...port.endpoints, ...port.localEndpoints].filter(({ local }) => local);
  const [all, local] = PROTOCOL_SETS[port.protocol];
  const isGuarded = port.sourceRanges.length > 0;
  const { nodePort } = port;
  const outside = [
    ...[...port.externalIps, ...port.loadBalancerIps].map((ip) => at(ip)),
    ...nodeIps.map((ip) => at(ip, nodePort)),
  ];
  return [
    put('CLUSTER-IP', at(port.clusterIp)),
    ...[port.clusterIp, ...port.externalIps, ...port.loadBalancerIps].map((ip) => put('IPVS-IPS', ip)),
    // A pod that reaches itself through its service.
    ...used.map(({ ip, port: number }) => put('LOOP-BACK', `${at(ip, number)},${ip}`)),
    ...port.externalIps.map((ip) => put(port.externalLocal ? 'EXTERNAL-IP-LOCAL' : 'EXTERNAL-IP', at(ip))),
    ...port.loadBalancerIps.flatMap((ip) => [
      put('LOAD-BALANCER', at(ip)),
      ...(port.externalLocal ? [put('LOAD-BALANCER-LOCAL', at(ip))] : []),
      ...(isGuarded ? [put('LOAD-BALANCER-FW', at(ip))] : []),
      ...port.sourceRanges.flatMap((range) =>
        halves(range).map((net) => put('LOAD-BALANCER-SOURCE-CIDR', `${at(ip)},${net}`)),
      ),
    ]),
    ...(nodePort === undefined
      ? []
      : (port.externalLocal ? [all, local] : [all]).flatMap((kind) =>
          port.protocol === 'sctp'
            ? nodeIps.map((ip) => put(kind, at(ip, nodePort)))
            : [put(kind, String(nodePort))],
        )),
    ...(port.served && internalEndpoints(port).length === 0
      ? [put('NO-LOCAL-CLUSTER-IP', at(port.clusterIp))]
      : []),
    ...(port.served && lacksLocal(port) ? outside.map((entry) => put('NO-LOCAL-EXTERNAL', entry)) : []),
  ];
}

/** Sets of networks hold none of length 0: the whole range is its two halves. */
function halves(range: string): string[] {
  if (range === '0.0.0.0/0') return ['0.0.0.0/1', '128.0.0.0/1'];
  return range === '::/0' ? ['::/1', '8000::/1'] : [range];
}
