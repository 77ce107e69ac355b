// Which service port has an address and port that several ask for: the one whose cluster IP it is, else the one whose key
// comes first. Pure.
// Guarantees: no two ports that it hands out share a place, so that a mode never meets the same key twice; nobody takes a
// cluster IP from its service; who loses one address keeps the others; work follows the change, not the number of services.
import type { ServicePort } from '../../proxy-modes/mode.js';

export class Claims {
  /** Every port as it was asked for. */
  readonly #asked = new Map<string, ServicePort>();
  /** Those who ask for each place, in order of precedence: their rank there, and their key. */
  readonly #claimants = new Map<string, string[]>();

  /** Sets or removes a port; answers the keys whose granted form may have changed, its own included. */
  set(key: string, port: ServicePort | undefined): Set<string> {
    const touched = new Set([key]);
    const before = this.#asked.get(key);
    for (const [place, rank] of before === undefined ? [] : places(before))
      this.#leave(place, rank + key, touched);
    if (port === undefined) this.#asked.delete(key);
    else this.#asked.set(key, port);
    for (const [place, rank] of port === undefined ? [] : places(port))
      this.#join(place, rank + key, touched);
    return touched;
  }

  /** The port with what it holds alone; the very object that was asked for if that is all of it; undefined without its cluster IP. */
  granted(key: string): ServicePort | undefined {
    const port = this.#asked.get(key);
    if (port === undefined) return undefined;
    const holds = (ip: string, number = port.port) =>
      this.#claimants.get(place(port, ip, number))?.[0]?.slice(1) === key;
    if (!holds(port.clusterIp)) return undefined;
    const externalIps = port.externalIps.filter((ip) => holds(ip));
    const loadBalancerIps = port.loadBalancerIps.filter((ip) => holds(ip));
    const keepsNodePort = port.nodePort === undefined || holds('*', port.nodePort);
    const isWhole =
      keepsNodePort &&
      externalIps.length === port.externalIps.length &&
      loadBalancerIps.length === port.loadBalancerIps.length;
    if (isWhole) return port;
    const { nodePort, ...rest } = port;
    return {
      ...rest,
      ...(keepsNodePort && nodePort !== undefined ? { nodePort } : {}),
      externalIps,
      loadBalancerIps,
    };
  }

  #join(at: string, ranked: string, touched: Set<string>): void {
    const list = this.#claimants.get(at);
    if (list === undefined) {
      this.#claimants.set(at, [ranked]);
      return;
    }
    list.push(ranked);
    list.sort();
    for (const other of list) touched.add(other.slice(1));
  }

  #leave(at: string, ranked: string, touched: Set<string>): void {
    const left = (this.#claimants.get(at) ?? []).filter((other) => other !== ranked);
    if (left.length === 0) this.#claimants.delete(at);
    else this.#claimants.set(at, left);
    for (const other of left) touched.add(other.slice(1));
  }
}

const place = ({ family, protocol }: ServicePort, ip: string, port: number) =>
  `${family} ${protocol} ${ip} ${port}`;

/** With the rank of each, as a digit. An address may be an external IP and the load balancer's at once: it is one place. */
function places(port: ServicePort): Map<string, '0' | '1'> {
  const others = [...port.externalIps, ...port.loadBalancerIps].map((ip) => place(port, ip, port.port));
  if (port.nodePort !== undefined) others.push(place(port, '*', port.nodePort));
  return new Map([
    ...others.map((at) => [at, '1'] as const),
    [place(port, port.clusterIp, port.port), '0'] as const,
  ]);
}
