// The text that Prometheus reads, and labels that no client can make up.
import { describe, expect, test } from 'vitest';
import { PODS } from '../../../../src/api/resources.js';
import { makeInFlight } from '../../../../src/apiserver/load/inFlight.js';
import { makeRequestMetrics } from '../../../../src/apiserver/metrics/requests.js';
import { parseRequest } from '../../../../src/apiserver/requestInfo.js';
import { Counter, Gauge, Histogram, metricsText } from '../../../../src/base/metrics.js';
import { processMetrics } from '../../../../src/client/processMetrics.js';

test('families in their text', () => {
  const counter = new Counter({ name: 'b_total', help: 'B.' });
  counter.add({ z: 'a"b\\c\nd', a: '1' });
  counter.add({ z: 'a"b\\c\nd', a: '1' }, 2);
  const histogram = new Histogram({ name: 'c_seconds', help: 'C.', bounds: [0.1, 1] });
  for (const value of [0.05, 0.5, 5]) histogram.observe('verb="GET"', value);
  const gauge = new Gauge({ name: 'a', help: 'A.' }, () => [[{}, 7]]);
  expect(metricsText([counter, histogram, gauge])).toBe(
    [
      '# HELP a A.',
      '# TYPE a gauge',
      'a 7',
      '# HELP b_total B.',
      '# TYPE b_total counter',
      'b_total{a="1",z="a\\"b\\\\c\\nd"} 3',
      '# HELP c_seconds C.',
      '# TYPE c_seconds histogram',
      'c_seconds_bucket{verb="GET",le="0.1"} 1',
      'c_seconds_bucket{verb="GET",le="1"} 2',
      'c_seconds_bucket{verb="GET",le="+Inf"} 3',
      'c_seconds_sum{verb="GET"} 5.55',
      'c_seconds_count{verb="GET"} 3',
      '',
    ].join('\n'),
  );
});

test('a process tells what Prometheus expects of one', () => {
  const text = metricsText(processMetrics());
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_open_fds'])
    expect(text).toMatch(new RegExp(`^${name} [\\d.e+]+$`, 'm'));
});

describe('requests', () => {
  const metrics = makeRequestMetrics({ served: [PODS], inFlight: makeInFlight() });
  const ask = (method: string, path: string, code = 200) => {
    const url = new URL(path, 'http://x');
    const info = parseRequest(method, url.pathname, url.searchParams);
    const trace = { request: { method, url: path } as never, auditId: '', receivedAt: 0, started: 0, info };
    metrics.answered(trace, code, 30);
    return trace;
  };
  test.each([
    ['GET', '/api/v1/namespaces/a/pods/x', 'verb="GET"', 'scope="resource"'],
    ['GET', '/api/v1/namespaces/a/pods', 'verb="LIST"', 'scope="namespace"'],
    ['GET', '/api/v1/pods?watch=1', 'verb="WATCH"', 'scope="cluster"'],
    ['POST', '/api/v1/namespaces/a/pods?dryRun=All', 'verb="POST"', 'dry_run="All"'],
    ['POST', '/api/v1/namespaces/a/pods/x/exec', 'verb="CONNECT"', 'subresource="exec"'],
    ['GET', '/healthz/ping', 'verb="GET"', 'subresource="/healthz"'],
  ])('%s %s', (method, path, ...labels) => {
    ask(method, path);
    const lines = metricsText(metrics.families).split('\n');
    expect(
      lines.some(
        (line) =>
          line.startsWith('apiserver_request_total{code="200"') &&
          labels.every((label) => line.includes(label)),
      ),
    ).toBe(true);
  });
  test('hostile names make no labels', () => {
    for (let n = 0; n < 100; n += 1) {
      ask('GET', `/api/v1/evil${n}/x`, 404);
      ask('GET', `/evil${n}`, 404);
      ask('GET', `/api/v1/namespaces/a/pods/x/evil${n}`, 404);
    }
    expect(metricsText(metrics.families)).not.toContain('evil');
  });
  test('long requests are counted while they last', () => {
    const end = metrics.longRunning(ask('GET', '/api/v1/pods?watch=1'));
    const now = () => /apiserver_longrunning_requests\{.*\} (\d+)/.exec(metricsText(metrics.families))?.[1];
    expect(now()).toBe('1');
    end(10);
    end(10);
    expect(now()).toBe('0');
  });
});
