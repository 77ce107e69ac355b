// What the comparison must reach, as figures of the rows that were measured. Pure.
// Guarantees: a goal whose sizes were not measured is left out, never taken from another size.
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import type { Quantity } from './columns.js';
import type { Row } from './measure.js';

const count = (services: number) => `${services.toLocaleString('en')} services`;
const IPTABLES = ['iptables-nft', 'iptables-legacy'];
const samplesOf = ({ runs }: Row, quantity: Quantity) => runs.map((run) => run[quantity]);

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
  quantity: Quantity,
  unit: string,
  most: number,
];

const LIMITS: readonly Limit[] = [
  ['nftables', 10_000, 'full sync', 'fullMs', 'ms', 2000],
  ['nftables', 44_000, 'full sync', 'fullMs', 'ms', 10_000],
  ['nftables', 10_000, 'one changed endpoint', 'changeMs', 'ms', 5],
  ...IPTABLES.map((label): Limit => [label, 10_000, 'one changed endpoint', 'changeMs', 'ms', 200]),
  ...['nftables', ...IPTABLES].map((label): Limit => [label, 10_000, 'memory', 'rssMb', 'MB', 150]),
];

/** How one column grows from a size to a larger one. */
function growth(
  rows: Rows,
  label: string,
  { from, to, what, quantity, unit, most }: Growth,
): Figure | undefined {
  const [small, large] = [rows.at(label, from), rows.at(label, to)];
  if (small === undefined || large === undefined) return undefined;
  const name = `${label}: ${what}, ${count(to)}`;
  const peer = { peer: `with ${count(from)}`, peerSamples: samplesOf(small, quantity) };
  return againstPeer({ name, unit, samples: samplesOf(large, quantity), ...peer }, most);
}

interface Growth {
  readonly from: number;
  readonly to: number;
  readonly what: string;
  readonly unit: string;
  readonly most: number;
  readonly quantity: Quantity;
}

const CHANGE = { what: 'one changed endpoint', quantity: 'changeMs' as const, unit: 'ms' };

export function hostGoals(measured: readonly Row[]): Figure[] {
  const rows = new Rows(measured);
  const limits = LIMITS.map(([label, services, what, quantity, unit, most]) => {
    const row = rows.at(label, services);
    const name = `${label}: ${what}, ${count(services)}`;
    return row && againstLimit({ name, unit, samples: samplesOf(row, quantity) }, most);
  });
  const connection = { what: 'new connection', quantity: 'lastUs' as const, unit: 'µs' };
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
  return [
    ipvs && besideBareCommit(ipvs),
    most > 1000 ? growth(rows, 'ipvs', { ...CHANGE, from: 1000, to: most, most: 1.5 }) : undefined,
    against(rows, 'ipvs', 'iptables-legacy'),
  ].flatMap((figure) => figure ?? []);
}

function besideBareCommit(row: Row): Figure | undefined {
  const peerSamples = row.runs.flatMap(({ bareMs }) => bareMs ?? []);
  if (peerSamples.length === 0) return undefined;
  const name = `ipvs: one changed endpoint, ${count(row.services)}`;
  const samples = samplesOf(row, 'changeMs');
  const peer = { peer: 'a bare nf_tables commit', peerSamples };
  return againstPeer({ name, unit: 'ms', samples, ...peer }, IPVS_BARE_COMMITS);
}

/** Where the number of services begins to tell: with fewer a whole table is as quick as a message. */
const MANY = 1000;

/** One change in a mode against another, at the largest size that both have. */
function against(rows: Rows, label: string, other: string): Figure | undefined {
  const most = rows.sizes(label, other).findLast((size) => size >= MANY);
  const [ours, theirs] = most === undefined ? [] : [rows.at(label, most), rows.at(other, most)];
  if (most === undefined || ours === undefined || theirs === undefined) return undefined;
  const name = `${label}: one changed endpoint, ${count(most)}`;
  const peer = { peer: other, peerSamples: samplesOf(theirs, 'changeMs') };
  return againstPeer({ name, unit: 'ms', samples: samplesOf(ours, 'changeMs'), ...peer }, 0.5);
}
