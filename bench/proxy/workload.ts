// The services of the comparison: N service ports of two endpoints each, in one family. Pure.
import type { ServicePort } from '../../src/proxy/state.js';

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
  const key = `bench/s${n}:http/tcp/ip`;
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

export const addressOf = (n: number) => `10.${100 + (n >> 16)}.${octets(n)}`;

/** The same services, with one endpoint of the middle one changed. */
export function withOneChange(
  state: ReadonlyMap<string, ServicePort>,
  round: number,
): { state: Map<string, ServicePort>; changed: Set<string> } {
  const key = [...state.keys()][state.size >> 1] ?? '';
  const port = state.get(key);
  const changed = new Map(state);
  if (port !== undefined) {
    const [first, second] = port.endpoints;
    const other = { ip: `10.245.${octets(round + 1)}`, port: 8080, local: false };
    changed.set(key, {
      ...port,
      endpoints: [first, other].flatMap((one) => one ?? []),
      served: second !== undefined,
    });
  }
  return { state: changed, changed: new Set([key]) };
}
