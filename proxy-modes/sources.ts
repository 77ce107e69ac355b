// Who may reach a load balancer's addresses, with what follows for the node itself. Pure.
import { contains, parseCidr } from '../src/api/ip.js';
import type { ServicePort, TrafficOptions } from './mode.js';

/**
 * The port's source ranges. Where one of them holds the node's address the load balancer's own addresses are sources too:
 * a node that has such an address as its own sends from it.
 */
export function allowedSources(
  { sourceRanges, loadBalancerIps, family }: ServicePort,
  { nodeIps = [] }: Pick<TrafficOptions, 'nodeIps'>,
): string[] {
  const ranges = sourceRanges.map(parseCidr).filter((range) => range !== undefined);
  const holds = (ip: string) => ranges.some((range) => contains(range, ip));
  if (!nodeIps.some(holds)) return [...sourceRanges];
  const own = loadBalancerIps.filter((ip) => !holds(ip));
  return [...sourceRanges, ...own.map((ip) => `${ip}/${family === 'ip' ? 32 : 128}`)];
}
