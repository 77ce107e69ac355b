// Sets of addresses and ports as sorted intervals that do not touch. Pure.
// Guarantees: what a network excepts is outside of the result, whatever the order; text that is no network holds nothing.
import { bitsOf, cidrSize, type Family, formatIp, parseCidr } from '../../api/ip.js';
import type { IpBlock, PolicyProtocol, PortMatch } from './model.js';

interface Interval {
  readonly from: bigint;
  /** Included. */
  readonly to: bigint;
}

/** Overlapping and neighbouring intervals become one. */
function united(intervals: readonly Interval[]): Interval[] {
  const sorted = intervals.toSorted((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0));
  const result: Interval[] = [];
  for (const { from, to } of sorted) {
    const last = result.at(-1);
    if (last === undefined || from > last.to + 1n) result.push({ from, to });
    else if (to > last.to) result[result.length - 1] = { from: last.from, to };
  }
  return result;
}

/** `whole` without `holes`, which are united. */
function without(whole: Interval, holes: readonly Interval[]): Interval[] {
  const result: Interval[] = [];
  let { from } = whole;
  for (const hole of holes) {
    if (hole.to < from) continue;
    if (hole.from > whole.to) break;
    if (hole.from > from) result.push({ from, to: hole.from - 1n });
    from = hole.to + 1n;
  }
  if (from <= whole.to) result.push({ from, to: whole.to });
  return result;
}

function networkInterval(text: string, family: Family): Interval[] {
  const cidr = parseCidr(text);
  return cidr?.family === family ? [{ from: cidr.base, to: cidr.base + cidrSize(cidr) - 1n }] : [];
}

/** The addresses of one family that any of the blocks has. */
export function blockIntervals(blocks: readonly IpBlock[], family: Family): Interval[] {
  return united(
    blocks.flatMap(({ cidr, except }) => {
      const holes = united(except.flatMap((text) => networkInterval(text, family)));
      return networkInterval(cidr, family).flatMap((whole) => without(whole, holes));
    }),
  );
}

/** As the key of an interval set, "10.0.0.0-10.0.0.255". */
export function addressIntervalKey({ from, to }: Interval, family: Family): string {
  const last = (1n << BigInt(bitsOf(family))) - 1n;
  if (from === 0n && to === last) return family === 'IPv4' ? '0.0.0.0/0' : '::/0';
  const text = (value: bigint) => formatIp({ family, value });
  return from === to ? text(from) : `${text(from)}-${text(to)}`;
}

/** Ports of one protocol that follow each other. */
export interface PortRange {
  readonly protocol: PolicyProtocol;
  readonly from: number;
  /** Included. */
  readonly to: number;
}

const LAST_PORT = 65_535n;

/** The numbered ports of each protocol that any of the matches has; names are left out. */
export function portIntervals(
  matches: readonly PortMatch[],
): ReadonlyMap<PolicyProtocol, readonly Interval[]> {
  const found = new Map<PolicyProtocol, Interval[]>();
  for (const match of matches) {
    if ('name' in match) continue;
    const { protocol, port, endPort = port } = match;
    const interval =
      port === undefined || endPort === undefined
        ? { from: 0n, to: LAST_PORT }
        : { from: BigInt(port), to: BigInt(endPort) };
    if (interval.to >= interval.from) found.set(protocol, [...(found.get(protocol) ?? []), interval]);
  }
  return new Map([...found].map(([protocol, intervals]) => [protocol, united(intervals)]));
}

/** The numbered ports of the matches if they are one range of one protocol. */
export function onlyRange(matches: readonly PortMatch[]): PortRange | undefined {
  const [first, ...others] = [...portIntervals(matches)].flatMap(([protocol, intervals]) =>
    intervals.map(({ from, to }) => ({ protocol, from: Number(from), to: Number(to) })),
  );
  return others.length === 0 ? first : undefined;
}
