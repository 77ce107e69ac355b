// The page of the proxy comparison: whole in itself, every row shown and drawn.
import { describe, expect, test } from 'vitest';
import { renderChart } from '../../../../bench/proxy/chart.js';
import { renderPage } from '../../../../bench/proxy/html.js';
import type { Row, Run } from '../../../../bench/proxy/measure.js';
import { renderRows } from '../../../../bench/proxy/report.js';

const row = (label: string, services: number, factor: number): Row => {
  const run = (times: number): Run => ({
    fullMs: 10 * factor * times,
    fullCpuMs: 5 * factor,
    changeMs: 0.3 * factor,
    changeCpuMs: 0.2,
    changeSent: 2,
    firstUs: 200,
    middleUs: 210,
    lastUs: 220 * factor,
    rssMb: 60,
    bareMs: 0.1,
    firstP99Us: 900,
    middleP99Us: 900,
    lastP99Us: 900,
    connectionsPerSecond: 1000,
    requestsPerSecond: 9000,
    kernelRules: 4 * services,
  });
  return { label, services, runs: [run(0.9), run(1), run(4)] };
};
const page = (...rows: Row[]) =>
  renderPage({ machine: 'Linux <6> & more', date: '2026-01-01', sections: [{ title: 'Here "now"', rows }] });

describe('the page of the comparison', () => {
  const html = page(
    row('nftables', 100, 1),
    row('nftables', 1000, 1.1),
    row('ip<tables', 100, 3),
    row('ip<tables', 1000, 40),
  );

  test('needs nothing from elsewhere', () => {
    expect(html).not.toMatch(/<script|<link|<img|https?:|url\(/);
    expect(html).toMatch(/^<!doctype html>/);
  });

  test('draws a line for each mode in each plot, within the plot', () => {
    const plots = html.match(/<figure>.*?<\/figure>/gs) ?? [];
    expect(plots).toHaveLength(6);
    for (const plot of plots) {
      expect(plot).not.toMatch(/NaN|Infinity|undefined/);
      const lines = [...plot.matchAll(/<polyline points="([^"]+)"/g)].map(([, points = '']) =>
        points.split(' '),
      );
      expect(lines.map((points) => points.length)).toEqual([2, 2]);
      for (const [x = 0, y = 0] of lines.flat().map((point) => point.split(',').map(Number))) {
        expect(x).toBeGreaterThan(60);
        expect(x).toBeLessThan(450);
        expect(y).toBeGreaterThan(10);
        expect(y).toBeLessThan(260);
      }
    }
  });

  test('tells every row, with its texts escaped', () => {
    expect(html.match(/<tr>/g)).toHaveLength(5);
    expect(html).toContain('ip&lt;tables, 1,000 services: 400 ms');
    expect(html).toContain('Linux &lt;6&gt; &amp; more');
    expect(html).not.toContain('ip<tables');
  });

  test('can be of one size only', () => {
    expect(page(row('ipvs', 100, 1))).not.toMatch(/NaN|Infinity/);
  });
});

describe('the picture of the comparison', () => {
  const picture = renderChart({
    title: 'In a <machine>',
    rows: ['ipvs', 'iptables-legacy'].flatMap((label) => [row(label, 100, 1), row(label, 10_000, 7)]),
  });

  test('draws every mode in every plot, IPVS beside iptables', () => {
    expect(picture.match(/<polyline points="[^"]+ [^"]+"/g)).toHaveLength(6);
    expect(picture).toContain('>ipvs</text>');
    expect(picture).toContain('>iptables-legacy</text>');
    expect(picture).toContain('iptables-legacy, 10,000 services: 2.1 ms');
  });

  test('is whole in itself', () => {
    expect(picture).toMatch(/^<svg xmlns="[^"]+"/);
    expect(picture).toContain('In a &lt;machine&gt;');
    expect(picture).not.toMatch(/<script|<image|url\(|NaN|undefined/);
  });
});

describe('the table in the terminal', () => {
  test('tells of every row what the page tells: medians, their spread and the number of runs', () => {
    const section = { title: 'Here', rows: [row('nftables', 1000, 1)] };
    const [, header, line, first] = renderRows(section).split('\n');
    expect(header?.trim().split(/ {2,}/)).toEqual([
      'services',
      'mode',
      'runs',
      'full sync, ms',
      'its CPU, ms',
      'one change, ms',
      'its CPU, ms',
      'sent',
      'bare commits',
      'connect first, µs',
      'middle, µs',
      'last, µs',
      'new conn/s',
      'requests/s',
      'memory, MB',
      'rules',
    ]);
    expect(first?.trim().split(/ {2,}/)).toEqual([
      '1,000',
      'nftables',
      '3',
      '10 (9–40)',
      '5 (5–5)',
      '0.3 (0.3–0.3)',
      '0.2 (0.2–0.2)',
      '2',
      '3',
      '200 / 900',
      '210 / 900',
      '220 / 900',
      '1,000',
      '9,000',
      '60',
      '4,000',
    ]);
    expect(first).toHaveLength(line?.length ?? 0);
  });
});
