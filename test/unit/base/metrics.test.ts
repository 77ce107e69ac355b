import { expect, test } from 'vitest';
import {
  Counter,
  doublingBounds,
  Gauge,
  Histogram,
  metricsText,
  type Sample,
  seriesKey,
} from '../../../src/base/metrics.js';

test('labels are escaped, unknown numbers left out, empty families not told', () => {
  const samples: Sample[] = [
    [{ a: 'x"\\\n' }, 1],
    [{}, Number.NaN],
    [{ b: '1' }, undefined],
  ];
  const gauge = (read: Sample[]) => new Gauge({ name: 'm', help: 'h' }, () => read);
  expect(metricsText([gauge(samples)])).toBe('# HELP m h\n# TYPE m gauge\nm{a="x\\"\\\\\\n"} 1\n');
  const described = { name: 'm', help: 'h', bounds: [1] };
  expect(metricsText([gauge([]), new Counter(described), new Histogram(described)])).toBe('');
});

test('labels may be written once and told often', () => {
  const key = `${seriesKey({ pod: 'web' })},cpu="total"`;
  const gauge = new Gauge({ name: 'm', help: 'h', type: 'counter' }, () => [[key, 2]]);
  expect(metricsText([gauge])).toContain('# TYPE m counter\nm{pod="web",cpu="total"} 2\n');
});

test('a histogram counts each value in every bucket above it, and one that was asked for is told from the start', () => {
  const histogram = new Histogram({ name: 'm', help: 'h', bounds: [1, 10] });
  const one = histogram.series('');
  const numbers = () => [...histogram.lines()].slice(2).map((line) => Number(line.split(' ')[1]));
  expect(numbers()).toEqual([0, 0, 0, 0, 0]);
  for (const value of [0.5, 5, 50]) one.observe(value);
  expect(numbers()).toEqual([1, 2, 3, 55.5, 3]);
});

test('a counter forgets what is gone', () => {
  const counter = new Counter({ name: 'm', help: 'h' });
  for (const pod of ['a', 'b', 'a']) counter.add({ pod });
  counter.drop(({ pod }) => pod === 'b');
  expect([...counter.lines()].slice(2)).toEqual(['m{pod="a"} 2']);
});

test('a family holds ten thousand series, and no more', () => {
  const counter = new Counter({ name: 'm', help: 'h' });
  for (let at = 0; at < 10_001; at++) counter.add({ at: String(at) });
  expect([...counter.lines()]).toHaveLength(2 + 10_000);
});

test('bounds that double are written as people expect', () => {
  expect(doublingBounds(0.001, 5)).toEqual([0.001, 0.002, 0.004, 0.008, 0.016]);
  expect(doublingBounds(0.001, 15).at(-1)).toBe(16.384);
});
