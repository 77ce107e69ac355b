// What one port of a service asks of IPVS, of the sets and of the device. Pure.
import {
  bitsOf,
  type Cidr,
  contains,
  parseCidr,
  printedCidr,
  printedIp,
  subnets,
} from '../../../src/api/ip.js';
import type { IpvsServiceKey, IpvsServiceOptions } from '../../../src/kernel/ipvs/port.js';
import {
  type Endpoint,
  externalEndpoints,
  internalEndpoints,
  type ServicePort,
  type TrafficOptions,
} from '../../mode.js';
import { allowedSources } from '../../sources.js';
import type { SetKind } from '../names.js';

export type ServerKey = Extract<IpvsServiceKey, { readonly address: string }>;

/** A destination; one that the kernel lists may have another weight or way of forwarding than ours have. */
export interface Destination extends Endpoint {
  readonly isForeign?: true;
}

export interface VirtualServer {
  readonly key: ServerKey;
  /** Of several ports that ask for one server, the least has it: service addresses before node ports, then by key. */
  readonly claim: string;
  readonly options: IpvsServiceOptions;
  readonly destinations: readonly Destination[];
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
  /** Every address of the node but those of our own device. */
  readonly localIps: readonly string[];
}

const PROTOCOL_SETS = {
  tcp: ['NODE-PORT-TCP', 'NODE-PORT-LOCAL-TCP'],
  udp: ['NODE-PORT-UDP', 'NODE-PORT-LOCAL-UDP'],
  sctp: ['NODE-PORT-SCTP-HASH', 'NODE-PORT-LOCAL-SCTP-HASH'],
} as const;

export function planService(port: ServicePort, options: IpvsOptions): ServicePlan {
  const outside = [...new Set([...port.externalIps, ...port.loadBalancerIps])];
  const portIps = port.nodePort === undefined ? [] : nodePortIps(port, options);
  const { scheduler, localIps } = options;
  const server = (
    address: string,
    number: number,
    destinations: readonly Endpoint[],
    rank = 0,
  ): VirtualServer => ({
    key: { protocol: port.protocol, address, port: number },
    claim: `${rank} ${port.key}`,
    options: {
      scheduler,
      // By the client's address alone all its connections would go to one endpoint.
      ...(scheduler === 'mh' ? { flags: ['mh-port'] } : {}),
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
      ...portIps.map((ip) => server(ip, port.nodePort ?? 0, external, 1)),
    ],
    // What is the node's own reaches IPVS as it is, and its other ports go on being the node's.
    addresses: [port.clusterIp, ...outside].filter((ip) => !localIps.includes(ip)),
    entries: [...new Set(entries(port, portIps, options))],
  };
}

/** From outside nothing is served here, for policy Local finds nobody; a load balancer tries another node. */
const lacksLocal = ({ externalLocal, localEndpoints }: ServicePort) =>
  externalLocal && localEndpoints.length === 0;

function nodePortIps(
  { family }: ServicePort,
  { localIps, nodePortCidrs, localhostNodePorts }: IpvsOptions,
): string[] {
  const cidrs = nodePortCidrs?.map(parseCidr);
  return localIps.filter((ip) => {
    if (ip.includes(':') !== (family === 'ip6')) return false;
    if (isLoopback(ip) && localhostNodePorts !== true) return false;
    return cidrs === undefined || cidrs.some((cidr) => cidr !== undefined && contains(cidr, ip));
  });
}

function entries(port: ServicePort, portIps: readonly string[], options: IpvsOptions): string[] {
  const { localIps, nodeIps = localIps.filter((ip) => !isLoopback(ip)) } = options;
  const at = (ip: string, number = port.port) => `${ip},${port.protocol}:${number}`;
  const put = (kind: SetKind, entry: string) => `${kind} ${entry}`;
  const used = [...port.endpoints, ...port.localEndpoints].filter(({ local, unplaced }) => local || unplaced);
  const [all, local] = PROTOCOL_SETS[port.protocol];
  const isGuarded = port.sourceRanges.length > 0;
  const { nodePort } = port;
  const allowed = allowedSources(port, { nodeIps }).flatMap((range) => networks(parseCidr(range)));
  const outside = [
    ...[...port.externalIps, ...port.loadBalancerIps].map((ip) => at(ip)),
    ...portIps.map((ip) => at(ip, nodePort)),
  ];
  return [
    put('CLUSTER-IP', at(port.clusterIp)),
    ...[port.clusterIp, ...port.externalIps, ...port.loadBalancerIps]
      .filter((ip) => !localIps.includes(ip))
      .map((ip) => put('IPVS-IPS', ip)),
    // A pod that reaches itself through its service.
    ...used.map(({ ip, port: number }) => put('LOOP-BACK', `${at(ip, number)},${ip}`)),
    ...port.externalIps.map((ip) => put(port.externalLocal ? 'EXTERNAL-IP-LOCAL' : 'EXTERNAL-IP', at(ip))),
    ...port.loadBalancerIps.flatMap((ip) => [
      put('LOAD-BALANCER', at(ip)),
      ...(port.externalLocal ? [put('LOAD-BALANCER-LOCAL', at(ip))] : []),
      ...(isGuarded ? [put('LOAD-BALANCER-FW', at(ip))] : []),
      ...allowed.map((net) => put('LOAD-BALANCER-SOURCE-CIDR', `${at(ip)},${net}`)),
    ]),
    ...(nodePort === undefined
      ? []
      : (port.externalLocal ? [all, local] : [all]).flatMap((kind) =>
          port.protocol === 'sctp'
            ? portIps.map((ip) => put(kind, at(ip, nodePort)))
            : [put(kind, String(nodePort))],
        )),
    ...(port.healthCheckNodePort === undefined
      ? []
      : [put('HEALTH-CHECK-NODE-PORT', String(port.healthCheckNodePort))]),
    ...(port.served && internalEndpoints(port).length === 0
      ? [put('NO-LOCAL-CLUSTER-IP', at(port.clusterIp))]
      : []),
    ...(port.served && lacksLocal(port) ? outside.map((entry) => put('NO-LOCAL-EXTERNAL', entry)) : []),
  ];
}

const isLoopback = (ip: string) => ip.startsWith('127.') || ip === '::1';

/** As a set lists them: none has length 0, so that the whole range is its two halves; a single address is without length. */
function networks(range: Cidr | undefined): string[] {
  if (range === undefined) return [];
  const all = bitsOf(range.family);
  if (range.prefix === 0) return [...subnets(range, 1)].map(printedCidr);
  return [range.prefix === all ? printedIp({ family: range.family, value: range.base }) : printedCidr(range)];
}
