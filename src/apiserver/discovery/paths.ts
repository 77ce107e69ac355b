// Answers the paths that name no resource: discovery, OpenAPI, version, health.
// Guarantees: health paths answer from memory; they never wait for the store.
import { statusError } from '../../api/status.js';
import { type ApiResponse, bytesResponse, jsonResponse } from '../exchange.js';
import { indented } from '../output/indent.js';
import { type Negotiated, negotiate } from '../output/negotiate.js';
import { aggregated, apiGroup, apiGroupList, apiVersions, resourceList } from './documents.js';
import { HEALTH_ROOTS, type Health } from './health.js';
import { makeOpenApi } from './openapiDocuments.js';
import { OPENAPI_V2_TYPE, wantsV2Protobuf } from './openapiV2.js';
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

interface PathsOptions extends Served {
  readonly version: VersionInfo;
  readonly health: Health;
  /** Where clients reach the server: host and port. */
  serverAddress(): string;
  /** Paths that other parts answer, such as /metrics. */
  readonly others?: ReadonlyMap<string, () => ApiResponse>;
}

export type PathHandler = (
  path: string,
  query: URLSearchParams,
  accept: string | undefined,
) => Promise<ApiResponse>;

export function makePathHandler(options: PathsOptions): PathHandler {
  const served = keptResources(options);
  const openApi = makeOpenApi(options);
  return async (path, query, accept) => {
    // Its own media type, which nothing else here speaks.
    if (path === '/openapi/v2' && wantsV2Protobuf(accept)) {
      return bytesResponse(200, await openApi.v2Protobuf(), OPENAPI_V2_TYPE);
    }
    const negotiated = negotiate(accept);
    const parts = path.split('/').filter((part) => part !== '');
    const [root = '', first = '', second = ''] = parts;
    const checked = HEALTH_ROOTS.find((known) => known === root);
    if (checked !== undefined) return options.health.answer(checked, parts.slice(1).join('/'), query);
    const other = options.others?.get(path);
    if (other !== undefined) return other();
    if (path === '/version' || path === '/version/') return indented(jsonResponse(200, options.version));
    const document =
      root === 'openapi'
        ? await openApi.answer(parts)
        : discovery(options, served(), negotiated, { root, first, second, length: parts.length });
    if (document !== undefined) return document;
    throw statusError('NotFound', 'the server could not find the requested resource', {});
  };
}

/** Made anew when a definition came, changed or went. */
function keptResources(options: PathsOptions): () => readonly ServedResource[] {
  let madeOf = options.definitions?.version;
  let made = servedResources(options);
  return () => {
    if (options.definitions?.version !== madeOf) made = servedResources(options);
    madeOf = options.definitions?.version;
    return made;
  };
}

function discovery(
  options: PathsOptions,
  resources: readonly ServedResource[],
  { form, version }: Negotiated,
  { root, first, second, length }: { root: string; first: string; second: string; length: number },
): ApiResponse | undefined {
  const found = (value: object | undefined) => (value === undefined ? undefined : jsonResponse(200, value));
  if (root === '' && length === 0)
    return indented(jsonResponse(200, { paths: rootPaths(resources, options) }));
  if (root !== 'api' && root !== 'apis') return undefined;
  if (length === 1 && form === 'aggregatedDiscovery') {
    const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
    const answer = jsonResponse(200, aggregated(resources, root, version));
    return { ...answer, headers: { 'content-type': type, vary: 'Accept' } };
  }
  if (root === 'api') {
    if (length === 1) return jsonResponse(200, apiVersions(options.serverAddress()));
    return length === 2 ? found(resourceList(resources, '', first)) : undefined;
  }
  if (length === 1) return jsonResponse(200, apiGroupList(resources));
  if (length === 2) return found(apiGroup(resources, first));
  return length === 3 ? found(resourceList(resources, first, second)) : undefined;
}

function rootPaths(
  resources: readonly ServedResource[],
  { others, health }: PathsOptions,
): readonly string[] {
  const groups = resources
    .filter(({ type }) => type.group !== '')
    .flatMap(({ type }) => [`/apis/${type.group}`, `/apis/${type.group}/${type.version}`]);
  const more = [...(others?.keys() ?? []), ...health.paths];
  const own = [
    '/api',
    '/api/v1',
    '/apis',
    '/apis/',
    '/openapi/v2',
    '/openapi/v3',
    '/openapi/v3/',
    '/version',
  ];
  return [...new Set([...own, ...more, ...groups])].sort();
}
