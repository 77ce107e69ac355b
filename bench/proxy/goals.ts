// What the comparison must reach, as figures of the rows that were measured. Pure.
// Guarantees: a goal whose sizes were not measured is left out, never taken from another size.
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import type { Row } from './measure.js';

const count = (services: number) => `${services.toLocaleString('en')} services`;
const IPTABLES = ['iptables-nft', 'iptables-legacy'];

class Rows {
  constructor(readonly rows: readonly Row[]) {}

  at(label: string, services: number): Row | undefined {
    return this.rows.find((row) => row.label === label && row.services === services);
  }

  /** Sizes at which all of the labels were measured, ascending. */
  sizes(...labels: readonly string[]): number[] {
    const all = [...new Set(this.rows.map(({ services }) => services))].sort((a, b) => a - b);
    return all.filter((services) => labels.every((label) => this.at(label, services) !== undefined));
  }
}

type Limit = readonly [
  label: string,
  services: number,
  what: string,
  value: (row: Row) => number,
  unit: string,
  most: number,
];

const LIMITS: readonly Limit[] = [
  ['nftables', 10_000, 'full sync', (row) => row.fullMs, 'ms', 2000],
  ['nftables', 44_000, 'full sync', (row) => row.fullMs, 'ms', 10_000],
  ['nftables', 10_000, 'one changed endpoint', (row) => row.changeMs, 'ms', 5],
  ...IPTABLES.map(
    (label): Limit => [label, 10_000, 'one changed endpoint', (row) => row.changeMs, 'ms', 200],
  ),
  ...['nftables', ...IPTABLES].map(
    (label): Limit => [label, 10_000, 'memory', (row) => row.rssMb, 'MB', 150],
  ),
];

/** How one column grows from a size to a larger one. */
function growth(
  rows: Rows,
  label: string,
  { from, to, what, value, unit, most }: Growth,
): Figure | undefined {
  const [small, large] = [rows.at(label, from), rows.at(label, to)];
  if (small === undefined || large === undefined) return undefined;
  const name = `${label}: ${what}, ${count(to)}`;
  return againstPeer({ name, value: value(large), unit, peer: count(from), peerValue: value(small) }, most);
}

interface Growth {
  readonly from: number;
  readonly to: number;
  readonly what: string;
  readonly unit: string;
  readonly most: number;
  value(row: Row): number;
}

const CHANGE = { what: 'one changed endpoint', value: (row: Row) => row.changeMs, unit: 'ms' };

export function hostGoals(measured: readonly Row[]): Figure[] {
  const rows = new Rows(measured);
  const limits = LIMITS.map(([label, services, what, value, unit, most]) => {
    const row = rows.at(label, services);
    const name = `${label}: ${what}, ${count(services)}`;
    return row && againstLimit({ name, value: value(row), unit }, most);
  });
  const connection = { what: 'new connection', value: (row: Row) => row.lastUs, unit: 'µs' };
  return [
    ...limits,
    growth(rows, 'nftables', { ...CHANGE, from: 1000, to: 30_000, most: 1.5 }),
    growth(rows, 'nftables', { ...connection, from: 100, to: 30_000, most: 1.3 }),
    against(rows, 'nftables', 'iptables-nft'),
  ].flatMap((figure) => figure ?? []);
}

/** Three milliseconds on a machine of its own, where a bare commit takes 0.3. */
const IPVS_BARE_COMMITS = 10;

/** In the virtual machine only ratios tell: to a bare commit, to another size, to another mode. */
export function vmGoals(measured: readonly Row[]): Figure[] {
  const rows = new Rows(measured);
  const most = rows.sizes('ipvs').at(-1) ?? 0;
  const ipvs = rows.at('ipvs', most);
  const name = `ipvs: one changed endpoint, ${count(most)}`;
  return [
    ipvs?.bareMs !== undefined
      ? againstPeer(
          { name, value: ipvs.changeMs, unit: 'ms', peer: 'a bare nf_tables commit', peerValue: ipvs.bareMs },
          IPVS_BARE_COMMITS,
        )
      : undefined,
    most > 1000 ? growth(rows, 'ipvs', { ...CHANGE, from: 1000, to: most, most: 1.5 }) : undefined,
    against(rows, 'ipvs', 'iptables-legacy'),
  ].flatMap((figure) => figure ?? []);
}

/** Where the number of services begins to tell: with fewer a whole table is as quick as a message. */
const MANY = 1000;

/** One change in a mode against another, at the largest size that both have. */
function against(rows: Rows, label: string, other: string): Figure | undefined {
  const most = rows.sizes(label, other).findLast((size) => size >= MANY);
  const [ours, theirs] = most === undefined ? [] : [rows.at(label, most), rows.at(other, most)];
  if (most === undefined || ours === undefined || theirs === undefined) return undefined;
  const name = `${label}: one changed endpoint, ${count(most)}`;
  return againstPeer(
    { name, value: ours.changeMs, unit: 'ms', peer: other, peerValue: theirs.changeMs },
    0.5,
  );
}
