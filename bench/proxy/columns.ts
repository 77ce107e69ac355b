// What the comparison tells of each row, in the terminal as on the page. Pure.
import type { Row } from './measure.js';

export const round = (value: number) =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);

/** Median, and what one connection in a hundred takes longer than. */
const spread = (median: number, p99: number) => `${round(median)} / ${round(p99)}`;

export const COLUMNS: readonly (readonly [name: string, text: (row: Row) => string])[] = [
  ['services', (row) => row.services.toLocaleString('en')],
  ['mode', (row) => row.label],
  ['full sync, ms', (row) => round(row.fullMs)],
  ['CPU, ms', (row) => round(row.fullCpuMs)],
  ['one change, ms', (row) => round(row.changeMs)],
  ['CPU, ms', (row) => round(row.changeCpuMs)],
  ['sent', (row) => String(row.changeSent)],
  ['bare commits', (row) => (row.bareMs === undefined ? '' : round(row.changeMs / row.bareMs))],
  ['connect first, µs', (row) => spread(row.firstUs, row.firstP99Us)],
  ['middle, µs', (row) => spread(row.middleUs, row.middleP99Us)],
  ['last, µs', (row) => spread(row.lastUs, row.lastP99Us)],
  ['new conn/s', (row) => round(row.connectionsPerSecond)],
  ['requests/s', (row) => round(row.requestsPerSecond)],
  ['memory, MB', (row) => round(row.rssMb)],
  ['rules', (row) => row.kernelRules.toLocaleString('en')],
];

export const NOTES = [
  'CPU: processor time of the proxy and of the tools it ran, in user space and in the kernel.',
  'sent: messages or lines of that change. bare commits: the change as so many empty nf_tables transactions.',
  'connect: until a new connection is there, median / 99 of 100. memory: of the proxy, after the changes.',
];
