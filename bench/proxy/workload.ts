// The services of the comparison: N service ports of two endpoints each, in one family. Pure.
import type { ServicePort } from '../../proxy-modes/mode.js';

const octets = (n: number) => `${(n >> 8) & 255}.${n & 255}`;

/** Every service is served by `server`, so that any of them can be connected to. */
export function workload(
  services: number,
  server: { ip: string; ports: readonly [number, number] },
): Map<string, ServicePort> {
  return new Map(Array.from({ length: services }, (_, n) => entry(n, server)));
}

function entry(
  n: number,
  { ip, ports }: { ip: string; ports: readonly [number, number] },
): [string, ServicePort] {
  const key = keyOf(n);
  const endpoints = ports.map((port) => ({ ip, port, local: true }));
  return [
    key,
    {
      key,
      name: `bench/s${n}:http`,
      family: 'ip',
      protocol: 'tcp',
      clusterIp: addressOf(n),
      port: 80,
      externalIps: [],
      loadBalancerIps: [],
      sourceRanges: [],
      internalLocal: false,
      externalLocal: false,
      endpoints,
      localEndpoints: [],
      served: true,
    },
  ];
}

const keyOf = (n: number) => `bench/s${n}:http/tcp/ip`;
export const addressOf = (n: number) => `10.${100 + (n >> 16)}.${octets(n)}`;

/** Changes one endpoint of the middle service, in place as the proxy's tracker does; answers which service. */
export function changeOne(state: Map<string, ServicePort>, round: number): Set<string> {
  const key = keyOf(state.size >> 1);
  const port = state.get(key);
  if (port !== undefined) {
    const other = { ip: `10.245.${octets(round + 1)}`, port: 8080, local: false };
    state.set(key, { ...port, endpoints: [...port.endpoints.slice(0, 1), other] });
  }
  return new Set([key]);
}
