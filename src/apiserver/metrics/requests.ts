// Requests counted and timed under Kubernetes' names.
// Guarantees: labels come from what the server serves, never from what a client wrote.

import type { GroupVersionResource } from '../../api/resources.js';
import {
  type Count,
  Counter,
  type Family,
  Gauge,
  Histogram,
  type Labels,
  type Observations,
  seriesKey,
} from '../../base/metrics.js';
import type { InFlight } from '../load/inFlight.js';
import type { RequestInfo } from '../requestInfo.js';
import { isLongRunning, type RequestTrace } from '../requestTrace.js';

export interface RequestMetrics {
  readonly families: readonly Family[];
  answered(trace: RequestTrace, code: number, now: number): void;
  /** A long request begins; answers what to call, once, when it ends. */
  longRunning(trace: RequestTrace): (now: number) => void;
}

/** The series of requests that look alike. */
interface Counted {
  readonly key: string;
  readonly codes: Map<number, Count>;
  readonly duration: Observations;
}

const SECONDS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const VERBS: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
  head: 'HEAD',
  post: 'POST',
  put: 'PUT',
};
const SUBRESOURCES = new Set([
  'approval',
  'attach',
  'binding',
  'ephemeralcontainers',
  'eviction',
  'exec',
  'finalize',
  'log',
  'portforward',
  'proxy',
  'resize',
  'scale',
  'status',
  'token',
]);
const CONNECTIONS = new Set(['attach', 'exec', 'portforward', 'proxy']);
const PATHS = [
  '/api',
  '/apis',
  '/healthz',
  '/livez',
  '/metrics',
  '/openapi',
  '/openid',
  '/readyz',
  '/version',
];

export function makeRequestMetrics(options: {
  readonly served: readonly GroupVersionResource[];
  readonly inFlight: InFlight;
}): RequestMetrics {
  const { inFlight } = options;
  const served = new Set(options.served.map(placeOf));
  const total = new Counter({
    name: 'apiserver_request_total',
    help: 'Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.',
  });
  const duration = new Histogram({
    name: 'apiserver_request_duration_seconds',
    help: 'Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.',
    bounds: SECONDS,
  });
  const long = new Map<string, number>();
  // Making the text of the labels costs more than counting; few are different.
  const known = new Map<string, Counted>();
  const countedOf = ({ info, request }: RequestTrace): Counted => {
    const dry = request.url.includes('dryRun=') ? 'All' : '';
    const short =
      info === undefined
        ? dry
        : `${info.verb}|${info.group}|${info.version}|${info.resource}|${info.subresource}|${scopeOf(info)}|${dry}|${pathOf(info)}`;
    const held = known.get(short);
    if (held !== undefined) return held;
    const key = seriesKey({ ...labelsOf(served, info), dry_run: dry, component: 'apiserver' });
    const fresh = { key, codes: new Map<number, Count>(), duration: duration.series(key) };
    if (known.size > 2000) known.clear();
    known.set(short, fresh);
    return fresh;
  };
  return {
    families: [total, duration, ...loadFamilies(inFlight, long)],
    answered(trace, code, now) {
      const counted = countedOf(trace);
      let count = counted.codes.get(code);
      if (count === undefined) {
        count = total.series(`code="${code}",${counted.key}`);
        counted.codes.set(code, count);
      }
      count.value += 1;
      if (!isLongRunning(trace)) counted.duration.observe((now - trace.started) / 1000);
    },
    longRunning(trace) {
      const { key, duration } = countedOf(trace);
      long.set(key, (long.get(key) ?? 0) + 1);
      let open = true;
      return (now) => {
        if (!open) return;
        open = false;
        long.set(key, (long.get(key) ?? 1) - 1);
        duration.observe((now - trace.started) / 1000);
      };
    },
  };
}

function loadFamilies(inFlight: InFlight, long: ReadonlyMap<string, number>): readonly Family[] {
  const byKind = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([kind, count]) => [{ request_kind: kind }, count] as const);
  return [
    new Gauge(
      {
        name: 'apiserver_current_inflight_requests',
        help: 'Number of requests that are worked on now, of each kind.',
      },
      () => byKind(inFlight.current),
    ),
    new Gauge(
      {
        name: 'apiserver_dropped_requests_total',
        help: 'Number of requests refused because too many were in flight.',
        type: 'counter',
      },
      () => byKind(inFlight.dropped),
    ),
    {
      name: 'apiserver_longrunning_requests',
      *lines() {
        yield '# HELP apiserver_longrunning_requests Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope and component.';
        yield '# TYPE apiserver_longrunning_requests gauge';
        for (const [key, count] of long) yield `apiserver_longrunning_requests{${key}} ${count}`;
      },
    },
  ];
}

function labelsOf(served: ReadonlySet<string>, info: RequestInfo | undefined): Labels {
  const none = { verb: 'other', group: '', version: '', resource: '', subresource: '', scope: '' };
  if (info === undefined) return none;
  const verb = VERBS[info.verb] ?? 'other';
  if (!info.isResource) return { ...none, verb, subresource: pathOf(info) };
  if (!served.has(placeOf(info))) return { ...none, verb };
  const { group, version, resource } = info;
  const subresource = SUBRESOURCES.has(info.subresource) ? info.subresource : '';
  return {
    group,
    version,
    resource,
    subresource,
    scope: scopeOf(info),
    verb: CONNECTIONS.has(subresource) ? 'CONNECT' : verb,
  };
}

function scopeOf(info: RequestInfo | undefined): string {
  if (info === undefined || !info.isResource) return '';
  if (info.name !== '' || info.verb === 'create') return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}

/** The first part of a path that is served, so that no client makes labels up. */
function pathOf(info: RequestInfo | undefined): string {
  if (info === undefined || info.isResource) return '';
  return PATHS.find((path) => info.path === path || info.path.startsWith(`${path}/`)) ?? '';
}

function placeOf({ group, version, resource }: GroupVersionResource): string {
  return `${group}/${version}/${resource}`;
}
