// Answers the paths that name no resource: discovery, OpenAPI, version, health.
// Guarantees: health paths answer from memory; they never wait for the store.
import { statusError } from '../../api/status.js';
import { type ApiResponse, jsonResponse, textResponse } from '../exchange.js';
import type { Negotiated } from '../output/negotiate.js';
import { servedForms } from '../verbs/served.js';
import { aggregated, apiGroup, apiGroupList, apiVersions, resourceList } from './documents.js';
import { openApiDocument, openApiIndex } from './openapi.js';
import type { Served, ServedResource } from './resources.js';
import { servedResources } from './resources.js';

export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  readonly goVersion: string;
  readonly compiler: string;
  readonly platform: string;
}

export interface HealthCheck {
  readonly name: string;
  /** The reason why not, or undefined when all is well. */
  failure(): string | undefined;
}

export interface PathsOptions extends Served {
  readonly version: VersionInfo;
  readonly ready: readonly HealthCheck[];
}

export type PathHandler = (path: string, query: URLSearchParams, negotiated: Negotiated) => ApiResponse;

const HEALTH = new Set(['healthz', 'livez', 'readyz']);

export function makePathHandler(options: PathsOptions): PathHandler {
  const resources = servedResources(options);
  return (path, query, negotiated) => {
    const parts = path.split('/').filter((part) => part !== '');
    const [root = '', first = '', second = ''] = parts;
    if (HEALTH.has(root)) return health(root, first, query, root === 'readyz' ? options.ready : []);
    if (path === '/version' || path === '/version/') return jsonResponse(200, options.version);
    const document =
      root === 'openapi'
        ? openApi(options, parts)
        : discovery(resources, negotiated, { root, first, second, length: parts.length });
    if (document !== undefined) return document;
    throw statusError('NotFound', 'the server could not find the requested resource', {});
  };
}

function discovery(
  resources: readonly ServedResource[],
  { form, version }: Negotiated,
  { root, first, second, length }: { root: string; first: string; second: string; length: number },
): ApiResponse | undefined {
  const found = (value: object | undefined) => (value === undefined ? undefined : jsonResponse(200, value));
  if (root === '' && length === 0) return jsonResponse(200, { paths: rootPaths(resources) });
  if (root !== 'api' && root !== 'apis') return undefined;
  if (length === 1 && form === 'aggregatedDiscovery') {
    const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
    const answer = jsonResponse(200, aggregated(resources, root, version));
    return { ...answer, headers: { 'content-type': type, vary: 'Accept' } };
  }
  if (root === 'api') {
    if (length === 1) return jsonResponse(200, apiVersions());
    return length === 2 ? found(resourceList(resources, '', first)) : undefined;
  }
  if (length === 1) return jsonResponse(200, apiGroupList(resources));
  if (length === 2) return found(apiGroup(resources, first));
  return length === 3 ? found(resourceList(resources, first, second)) : undefined;
}

function openApi({ kinds, version }: PathsOptions, parts: readonly string[]): ApiResponse | undefined {
  if (parts[1] !== 'v3') return undefined;
  if (parts.length === 2) return jsonResponse(200, openApiIndex(servedForms(kinds)));
  const document = openApiDocument(servedForms(kinds), parts.slice(2).join('/'), version.gitVersion);
  return document === undefined ? undefined : jsonResponse(200, document);
}

function rootPaths(resources: readonly ServedResource[]): readonly string[] {
  const groups = resources
    .filter(({ type }) => type.group !== '')
    .flatMap(({ type }) => [`/apis/${type.group}`, `/apis/${type.group}/${type.version}`]);
  const others = ['/api', '/api/v1', '/apis', '/healthz', '/livez', '/openapi/v3', '/readyz', '/version'];
  return [...new Set([...others, ...groups])].sort();
}

function health(
  root: string,
  one: string,
  query: URLSearchParams,
  checks: readonly HealthCheck[],
): ApiResponse {
  const all: readonly HealthCheck[] = [{ name: 'ping', failure: () => undefined }, ...checks];
  const asked = one === '' ? all : all.filter(({ name }) => name === one);
  if (asked.length === 0) throw statusError('NotFound', `no health check is called ${JSON.stringify(one)}`);
  const excluded = new Set(query.getAll('exclude'));
  const lines = asked.map(({ name, failure }) => {
    if (excluded.has(name)) return `[+]${name} excluded: ok`;
    return failure() === undefined ? `[+]${name} ok` : `[-]${name} failed: reason withheld`;
  });
  if (lines.some((line) => line.startsWith('[-]'))) {
    return textResponse(500, `${lines.join('\n')}\n${root} check failed\n`);
  }
  return textResponse(200, query.has('verbose') ? `${lines.join('\n')}\n${root} check passed\n` : 'ok');
}
