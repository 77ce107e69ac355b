// A simulated packet, the machine it meets, and what becomes of it: the common words of the tracers.
import type { IpFamily, Protocol } from '../../../proxy-modes/mode.js';

export interface Packet {
  readonly family: IpFamily;
  readonly protocol: Protocol;
  readonly source: string;
  readonly sourcePort: number;
  readonly destination: string;
  readonly destinationPort: number;
  /** The device it came by; none for packets of the node itself. */
  readonly device?: string;
}

export interface Machine {
  /** Addresses of the node. */
  readonly addresses: readonly string[];
  /** From 0 to below 1. */
  random(): number;
}

export interface Outcome {
  readonly verdict: 'accept' | 'drop' | 'reject';
  /** Where it went in the end, `address port`. */
  readonly to: string;
  /** With the node's address as its source. */
  readonly masqueraded: boolean;
}

export const NODE_IP = '192.168.0.1';
export const NODE_IP6 = 'fd00:1::1';

export const machine = (random: () => number = () => 0): Machine => ({
  addresses: [NODE_IP, NODE_IP6, '127.0.0.1', '::1', '10.244.0.254', 'fd00:244::fe'],
  random,
});

export const isLocal = ({ addresses }: Machine, ip: string) =>
  addresses.includes(ip) || ip.startsWith('127.');

export type Place = 'pod' | 'node' | 'outside';
const SOURCES: Readonly<Record<IpFamily, Record<Place, string>>> = {
  ip: { pod: '10.244.0.77', node: NODE_IP, outside: '203.0.113.5' },
  ip6: { pod: 'fd00:244::77', node: NODE_IP6, outside: '2001:db8::5' },
};

export function packetFrom(
  place: Place,
  destination: string,
  port: number,
  more: Partial<Packet> = {},
): Packet {
  const family: IpFamily = destination.includes(':') ? 'ip6' : 'ip';
  return {
    family,
    protocol: 'tcp',
    source: SOURCES[family][place],
    sourcePort: 40_000,
    destination,
    destinationPort: port,
    ...(place === 'node' ? {} : { device: place === 'pod' ? 'veth1' : 'eth0' }),
    ...more,
  };
}
