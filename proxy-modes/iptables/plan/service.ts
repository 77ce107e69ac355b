// What one port of a service adds: chains of its own, and rules in the chains that all share. Pure.
// Guarantees: kube-proxy's rules, spelled as iptables-save prints them.
import {
  type Endpoint,
  externalEndpoints,
  internalEndpoints,
  isExternal,
  type LocalDetector,
  type ServicePort,
  type TrafficOptions,
} from '../../mode.js';
import { allowedSources } from '../../sources.js';
import * as names from '../names.js';
import { inNetwork, isEverywhere, withoutComment } from '../spelling.js';

interface ServicePlan {
  /** The rules of its own chains in the nat table, without "-A chain ", by chain. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** Its rules in shared chains, each "chain rule". */
  readonly nat: readonly string[];
  readonly filter: readonly string[];
}

export interface PlanOptions extends TrafficOptions {
  /** Rules that are there once an endpoint have no comments: they would take the greater part of the tables. */
  readonly isLarge?: boolean;
}

const MASQ = `-j ${names.MARK_MASQ}`;
/** The tool quotes what has more than letters, digits, _ and -; every name of a service has. */
const comment = (text: string) => `-m comment --comment "${text}"`;
const host = (ip: string) => `${ip}/${ip.includes(':') ? 128 : 32}`;

export function planService(port: ServicePort, options: PlanOptions): ServicePlan {
  const chains = new Map<string, string[]>();
  const internal = internalEndpoints(port);
  const external = externalEndpoints(port);
  const isOutside = isExternal(port);
  // Even where both policies are Local, pods and the node reach addresses from outside by any endpoint.
  const usesAll = port.endpoints.length > 0 && (!port.internalLocal || isOutside);
  const usesLocal =
    port.localEndpoints.length > 0 && (port.internalLocal || (port.externalLocal && isOutside));
  const hasExternalChain = isOutside && (external.length > 0 || port.endpoints.length > 0);
  const masquerade = internalMasquerade(port, options);
  const about = options.isLarge === true ? () => '' : (text: string) => `${comment(text)} `;
  if (usesAll)
    chains.set(names.serviceChain(port), [
      ...(port.internalLocal ? [] : masquerade),
      ...balance(port, port.endpoints, about),
    ]);
  if (usesLocal)
    chains.set(names.localChain(port), [
      ...(port.internalLocal ? masquerade : []),
      ...balance(port, port.localEndpoints, about),
    ]);
  if (hasExternalChain) chains.set(names.externalChain(port), externalRules(port, options));
  const guarded = isGuarded(port);
  if (guarded && hasExternalChain) chains.set(names.firewallChain(port), firewallRules(port, options));
  const used = [...(usesAll ? port.endpoints : []), ...(usesLocal ? port.localEndpoints : [])];
  for (const endpoint of used)
    chains.set(names.endpointChain(port, endpoint), endpointRules(port, endpoint, about(port.name)));
  return {
    chains,
    nat: [
      ...(internal.length > 0 ? [clusterRule(port)] : []),
      ...(hasExternalChain ? entryRules(port, guarded) : []),
    ],
    filter: filterRules(port, options),
  };
}

/** Every rule of the port with its command and without comments. */
export function linesOf(port: ServicePort, options: TrafficOptions): Set<string> {
  const { chains, nat, filter } = planService(port, options);
  const own = [...chains].flatMap(([name, rules]) => rules.map((rule) => `${name} ${rule}`));
  return new Set([...own, ...nat, ...filter].map((rule) => withoutComment(`-A ${rule}`)));
}

const isGuarded = (port: ServicePort) => port.sourceRanges.length > 0 && port.loadBalancerIps.length > 0;

/** Its rules in the shared chains of the filter table. */
export const filterRules = (port: ServicePort, { serviceCidrs = [] }: TrafficOptions): string[] => [
  ...refusals(port),
  // Once for each port of the service, so that the rule goes with the last of them.
  ...(serviceCidrs.length === 0
    ? []
    : [`${names.CLUSTER_IPS} -d ${host(port.clusterIp)} ${rejection(port.family)}`]),
  ...(isGuarded(port) ? firewallDrops(port) : []),
  // The proxy answers there itself; a host that takes nothing else in must let it through.
  ...(port.healthCheckNodePort === undefined
    ? []
    : [
        `${names.NODE_PORTS} -p tcp ${comment(`${port.name} health check node port`)} -m tcp --dport ${port.healthCheckNodePort} -j ACCEPT`,
      ]),
];

/** `-d address -p tcp -m comment --comment "..." -m tcp --dport port`: what every entry begins with. */
const to = ({ protocol, port }: ServicePort, ip: string, text: string) =>
  `-d ${host(ip)} -p ${protocol} ${comment(text)} -m ${protocol} --dport ${port}`;
const policyChain = (port: ServicePort, isLocal: boolean) =>
  isLocal ? names.localChain(port) : names.serviceChain(port);

const clusterRule = (port: ServicePort) =>
  `${names.SERVICES} ${to(port, port.clusterIp, `${port.name} cluster IP`)} -j ${policyChain(port, port.internalLocal)}`;

function entryRules(port: ServicePort, guarded: boolean): string[] {
  const outside = names.externalChain(port);
  return [
    ...port.externalIps.map(
      (ip) => `${names.SERVICES} ${to(port, ip, `${port.name} external IP`)} -j ${outside}`,
    ),
    ...port.loadBalancerIps.map(
      (ip) =>
        `${names.SERVICES} ${to(port, ip, `${port.name} loadbalancer IP`)} -j ${guarded ? names.firewallChain(port) : outside}`,
    ),
    ...(port.nodePort === undefined
      ? []
      : [
          `${names.NODE_PORTS} -p ${port.protocol} ${comment(port.name)} -m ${port.protocol} --dport ${port.nodePort} -j ${outside}`,
        ]),
  ];
}

/** How traffic of pods is matched, with a blank behind it; source and device come first in a rule, as the tool prints them. */
function ofPods(local: LocalDetector): string {
  if (local.by === 'cidr') return inNetwork('-s', local.cidr);
  return `-i ${local.by === 'interface' ? local.name : `${local.prefix}+`} `;
}

/** How all other is matched. */
function ofOthers(local: LocalDetector): string {
  if (local.by === 'cidr') return `! -s ${local.cidr}`;
  return `! -i ${local.by === 'interface' ? local.name : `${local.prefix}+`}`;
}

function internalMasquerade(port: ServicePort, { masqueradeAll, local }: TrafficOptions): string[] {
  const entry = to(port, port.clusterIp, `${port.name} cluster IP`);
  if (masqueradeAll === true) return [`${entry} ${MASQ}`];
  if (local === undefined) return [];
  if (local.by === 'cidr' && isEverywhere(local.cidr)) return [];
  // The tool prints addresses before devices.
  if (local.by === 'cidr') return [`${ofOthers(local)} ${entry} ${MASQ}`];
  const [destination, ...rest] = entry.split(' -p ');
  return [`${destination} ${ofOthers(local)} -p ${rest.join(' -p ')} ${MASQ}`];
}

function externalRules(port: ServicePort, { local }: TrafficOptions): string[] {
  const about = `${port.name} external destinations`;
  const all = names.serviceChain(port);
  if (!port.externalLocal) return [`${comment(`masquerade traffic for ${about}`)} ${MASQ}`, `-j ${all}`];
  const near =
    port.endpoints.length === 0
      ? []
      : [
          ...(local === undefined
            ? []
            : [`${ofPods(local)}${comment(`pod traffic for ${about}`)} -j ${all}`]),
          `${comment(`masquerade LOCAL traffic for ${about}`)} -m addrtype --src-type LOCAL ${MASQ}`,
          `${comment(`route LOCAL traffic for ${about}`)} -m addrtype --src-type LOCAL -j ${all}`,
        ];
  return [...near, ...(port.localEndpoints.length > 0 ? [`-j ${names.localChain(port)}`] : [])];
}

/** What falls through is dropped in the filter table. */
const firewallRules = (port: ServicePort, options: TrafficOptions) =>
  allowedSources(port, options).map(
    (range) =>
      `${inNetwork('-s', range)}${comment(`${port.name} loadbalancer IP`)} -j ${names.externalChain(port)}`,
  );

const firewallDrops = (port: ServicePort) =>
  port.loadBalancerIps.map(
    (ip) =>
      `${names.PROXY_FIREWALL} ${to(port, ip, `${port.name} traffic not accepted by ${names.firewallChain(port)}`)} -j DROP`,
  );

/** The comment about something, with a blank behind it, unless it is left out. */
type About = (text: string) => string;

function balance(port: ServicePort, endpoints: readonly Endpoint[], about: About): string[] {
  const named = (endpoint: Endpoint) => about(`${port.name} -> ${names.placeOf(endpoint)}`);
  const mask = port.family === 'ip' ? '255.255.255.255' : 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff';
  const stuck =
    port.affinitySeconds === undefined
      ? []
      : endpoints.map((endpoint) => {
          const chain = names.endpointChain(port, endpoint);
          return `${named(endpoint)}-m recent --rcheck --seconds ${port.affinitySeconds} --reap --name ${chain} --mask ${mask} --rsource -j ${chain}`;
        });
  const picked = endpoints.map((endpoint, index) => {
    const left = endpoints.length - index;
    const chance = left === 1 ? '' : `-m statistic --mode random --probability ${probability(left)} `;
    return `${named(endpoint)}${chance}-j ${names.endpointChain(port, endpoint)}`;
  });
  return [...stuck, ...picked];
}

/** One in n, in the steps of 2^-31 that the kernel has. */
const probability = (n: number) => (Math.round(0x80000000 / n) / 0x80000000).toFixed(11);

function endpointRules(port: ServicePort, endpoint: Endpoint, about: string): string[] {
  const { protocol, family, affinitySeconds } = port;
  const mask = family === 'ip' ? '255.255.255.255' : 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff';
  const remember =
    affinitySeconds === undefined
      ? ''
      : `-m recent --set --name ${names.endpointChain(port, endpoint)} --mask ${mask} --rsource `;
  return [
    // A pod that reaches itself: without another source it would answer itself directly.
    `-s ${host(endpoint.ip)} ${about}${MASQ}`,
    `-p ${protocol} ${about}${remember}-m ${protocol} -j DNAT --to-destination ${names.placeOf(endpoint)}`,
  ];
}

export const rejection = (family: ServicePort['family']) =>
  `-j REJECT --reject-with ${family === 'ip' ? 'icmp-port-unreachable' : 'icmp6-port-unreachable'}`;

/** Nobody serves: refused. Somebody does, but not on this node: dropped, for a load balancer tries another node. */
function refusals(port: ServicePort): string[] {
  const why = `${port.name} has no ${port.served ? 'local ' : ''}endpoints`;
  const end = port.served ? '-j DROP' : rejection(port.family);
  const { protocol, nodePort } = port;
  const inside =
    internalEndpoints(port).length === 0 ? [`${names.SERVICES} ${to(port, port.clusterIp, why)} ${end}`] : [];
  if (externalEndpoints(port).length > 0) return inside;
  const ips = new Set([...port.externalIps, ...port.loadBalancerIps]);
  return [
    ...inside,
    ...[...ips].map((ip) => `${names.EXTERNAL_SERVICES} ${to(port, ip, why)} ${end}`),
    ...(nodePort === undefined
      ? []
      : [
          `${names.EXTERNAL_SERVICES} -p ${protocol} ${comment(why)} -m addrtype --dst-type LOCAL -m ${protocol} --dport ${nodePort} ${end}`,
        ]),
  ];
}
