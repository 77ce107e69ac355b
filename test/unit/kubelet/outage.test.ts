// How often something that fails again and again is told.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Log, LogFields } from '../../../src/api/log.js';
import { Outage } from '../../../src/kubelet/outage.js';

const lines: [number, string, LogFields | undefined][] = [];
let now = 0;
const keep = (message: string, fields?: LogFields) => void lines.push([now / 1000, message, fields]);
const log: Log = { debug: keep, info: keep, warn: keep, error: keep, with: () => log };
const make = () => new Outage({ failing: 'it is away', over: 'it is back', log, now: () => now });

/** Each second from `from` to `to`. */
const fail = (outage: Outage, from: number, to: number) => {
  for (let second = from; second <= to; second++) {
    now = second * 1000;
    outage.failed(new Error('refused'));
  }
};

beforeEach(() => {
  lines.length = 0;
  now = 0;
});

describe('what fails each second', () => {
  test('is told at once, then at growing intervals, each time with since when', () => {
    fail(make(), 0, 100);
    expect(lines.map(([second, message]) => [second, message])).toEqual([
      [0, 'it is away'],
      [10, 'still: it is away'],
      [30, 'still: it is away'],
      [70, 'still: it is away'],
    ]);
    expect(lines[0]?.[2]).toEqual({ error: 'refused' });
    expect(lines[3]?.[2]).toEqual({ error: 'refused', forSeconds: 70 });
  });

  test('is told every ten minutes at last', () => {
    fail(make(), 0, 7200);
    const [before, last] = lines.slice(-2).map(([second]) => second);
    expect((last ?? 0) - (before ?? 0)).toBe(600);
    expect(lines.length).toBeLessThan(20);
  });

  test('is told to be over once, and told anew when it comes back', () => {
    const outage = make();
    fail(outage, 0, 5);
    outage.ended();
    outage.ended();
    fail(outage, 6, 8);
    expect(lines).toEqual([
      [0, 'it is away', { error: 'refused' }],
      [5, 'it is back', { afterSeconds: 5 }],
      [6, 'it is away', { error: 'refused' }],
    ]);
  });

  test('and never did is not told to be over', () => {
    make().ended();
    expect(lines).toEqual([]);
  });
});
