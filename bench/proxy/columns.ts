// What the comparison tells of each row, in the terminal as on the pages. Pure.
import { round, type Summary, summarize, withSpread } from '../lib/samples.js';
import type { Row, Run } from './measure.js';

/** Numbers that every run has. */
export type Quantity = Exclude<keyof Run, 'bareMs'>;

const summaryOf = ({ runs }: Row, quantity: Quantity): Summary => summarize(runs.map((run) => run[quantity]));

export const medianOf = (row: Row, quantity: Quantity): number => summaryOf(row, quantity).median;

const spread = (quantity: Quantity) => (row: Row) => withSpread(summaryOf(row, quantity));
const single = (quantity: Quantity) => (row: Row) => round(medianOf(row, quantity));

/** Median, and what one connection in a hundred takes longer than. */
const connect = (middle: Quantity, p99: Quantity) => (row: Row) =>
  `${round(medianOf(row, middle))} / ${round(medianOf(row, p99))}`;

/** The bare commit of each run stands beside its change: both met the same machine. */
function bareCommits({ runs }: Row): Summary | undefined {
  const ratios = runs.flatMap(({ changeMs, bareMs }) => (bareMs === undefined ? [] : [changeMs / bareMs]));
  return ratios.length === 0 ? undefined : summarize(ratios);
}

export const COLUMNS: readonly (readonly [name: string, text: (row: Row) => string])[] = [
  ['services', (row) => row.services.toLocaleString('en')],
  ['mode', (row) => row.label],
  ['runs', (row) => String(row.runs.length)],
  ['full sync, ms', spread('fullMs')],
  ['its CPU, ms', spread('fullCpuMs')],
  ['one change, ms', spread('changeMs')],
  ['its CPU, ms', spread('changeCpuMs')],
  ['sent', single('changeSent')],
  ['bare commits', (row) => round(bareCommits(row)?.median ?? Number.NaN).replace('NaN', '')],
  ['connect first, µs', connect('firstUs', 'firstP99Us')],
  ['middle, µs', connect('middleUs', 'middleP99Us')],
  ['last, µs', connect('lastUs', 'lastP99Us')],
  ['new conn/s', single('connectionsPerSecond')],
  ['requests/s', single('requestsPerSecond')],
  ['memory, MB', single('rssMb')],
  ['rules', single('kernelRules')],
];

export const NOTES = [
  'Medians of runs in fresh namespaces and processes, with the least and the most of them in brackets.',
  'CPU: processor time of the proxy and of the tools it ran, in user space and in the kernel.',
  'sent: messages or lines of that change. bare commits: the change as so many empty nf_tables transactions.',
  'connect: until a new connection is there, median / 99 of 100. memory: of the proxy, after the changes.',
];
