// The kernel's own trace of packets: each rule of nf_tables that a packet with the trace mark met, and its verdict.
// Guarantees: in the order in which a packet met them; nothing is delivered after close.
import { formatIp } from '../../api/ip.js';
import { addon, type NetNs } from '../addon.js';
import { type Watch, Watches } from '../watch.js';
import type { Hex, Verdict } from './expression.js';
import type { NftFamily } from './port.js';

/** "lost": the kernel had to drop events. */
export type TraceEvent = ({ readonly event?: undefined } & TracedStep) | { readonly event: 'lost' };

export interface TracedStep {
  /** The same for all steps of one packet. */
  readonly id: number;
  readonly family: NftFamily;
  readonly table: string;
  readonly chain: string;
  /** "rule": one that matched; "return": the end of a chain; "policy": what the base chain does by default. */
  readonly type: 'rule' | 'return' | 'policy';
  /** Of the rule. */
  readonly handle?: number;
  readonly verdict?: Verdict;
  readonly policy?: 'accept' | 'drop';
  /** The beginning of the packet, as it came to this hook; with the first step of a base chain alone. */
  readonly network?: Hex;
  readonly transport?: Hex;
}

export interface TracedPacket {
  readonly source: string;
  readonly destination: string;
  /** Its number: 6 is TCP. */
  readonly protocol: number;
  readonly sourcePort?: number;
  readonly port?: number;
}

/** Of the table of that name, or of all tables for ''. */
export function watchTraces(
  table: string,
  onEvents: (events: readonly TraceEvent[]) => void,
  netns?: NetNs,
): Watch {
  return new Watches().start((onBytes) => addon().watchTraces(netns, table, onBytes), onEvents);
}

const WITH_PORTS: readonly number[] = [6, 17, 132];

/** What the headers say; undefined when they are too short. */
export function packetOf({
  network = '',
  transport = '',
}: Pick<TracedStep, 'network' | 'transport'>): TracedPacket | undefined {
  const [ip, rest] = [Buffer.from(network, 'hex'), Buffer.from(transport, 'hex')];
  const isSix = (ip[0] ?? 0) >> 4 === 6;
  if (ip.length < (isSix ? 40 : 20)) return undefined;
  const protocol = ip[isSix ? 6 : 9] ?? 0;
  const [source, destination] = isSix
    ? [ipv6Text(ip.subarray(8, 24)), ipv6Text(ip.subarray(24, 40))]
    : [ip.subarray(12, 16).join('.'), ip.subarray(16, 20).join('.')];
  if (!WITH_PORTS.includes(protocol) || rest.length < 4) return { source, destination, protocol };
  return { source, destination, protocol, sourcePort: rest.readUInt16BE(0), port: rest.readUInt16BE(2) };
}

const ipv6Text = (bytes: Buffer) => formatIp({ family: 'IPv6', value: BigInt(`0x${bytes.toString('hex')}`) });
