// What a URL asks for: verb, resource and object, or a path that names no resource. Pure.
// Guarantees: two requests that reach the same object parse to the same names, so authorization cannot be sidestepped.
import { statusError } from '../api/status.js';

export interface RequestInfo {
  /** False for paths such as /version; then only `verb` and `path` say anything. */
  readonly isResource: boolean;
  readonly path: string;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** What follows the subresource, for proxies. */
  readonly rest: readonly string[];
}

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

// Below /namespaces/<name>/ these are parts of the namespace itself, everything else is a resource inside it.
const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize']);

export function parseRequest(method: string, pathname: string, query: URLSearchParams): RequestInfo {
  const segments = pathname.split('/').filter((segment) => segment !== '');
  const parts = segments.map(decodeSegment);
  const none = {
    isResource: false,
    path: pathname,
    verb: method.toLowerCase(),
    group: '',
    version: '',
    resource: '',
    subresource: '',
    namespace: '',
    name: '',
    rest: [],
  };
  const found = resourcePath(parts);
  if (found === undefined) return none;
  // The old way to ask for a watch: /api/v1/watch/pods.
  const isLegacyWatch = found.path[0] === 'watch' && found.path.length > 1 && method === 'GET';
  const located = locate(isLegacyWatch ? found.path.slice(1) : found.path);
  const listName = located.name === '' ? nameInFieldSelector(query.get('fieldSelector')) : '';
  const verb = isLegacyWatch ? 'watch' : verbOf(method, located.name, query);
  return {
    ...none,
    isResource: true,
    verb,
    group: found.group,
    version: found.version,
    ...located,
    name: located.name === '' && (verb === 'list' || verb === 'watch') ? listName : located.name,
  };
}

function decodeSegment(segment: string): string {
  let decoded = segment;
  try {
    if (segment.includes('%')) decoded = decodeURIComponent(segment);
  } catch (cause) {
    throw statusError('BadRequest', `invalid URL escape in ${JSON.stringify(segment)}`, undefined, { cause });
  }
  if (decoded === '.' || decoded === '..' || decoded.includes('/') || decoded.includes('\0')) {
    throw statusError('BadRequest', `invalid path segment ${JSON.stringify(decoded)}`);
  }
  return decoded;
}

function resourcePath(parts: readonly string[]) {
  const [root, first = '', second = ''] = parts;
  if (root === 'api' && parts.length > 2) return { group: '', version: first, path: parts.slice(2) };
  if (root === 'apis' && parts.length > 3) return { group: first, version: second, path: parts.slice(3) };
  return undefined;
}

function locate(path: readonly string[]) {
  const [first = '', second = '', third = ''] = path;
  if (first === 'namespaces' && path.length > 2 && !NAMESPACE_SUBRESOURCES.has(third)) {
    return { namespace: second, ...names(path.slice(2)) };
  }
  // Kubernetes counts a namespace as lying in itself: a Role inside may grant `get namespaces`.
  return { namespace: first === 'namespaces' ? second : '', ...names(path) };
}

function names(path: readonly string[]) {
  const [resource = '', name = '', subresource = '', ...rest] = path;
  return { resource, name, subresource, rest };
}

function verbOf(method: string, name: string, query: URLSearchParams): string {
  const verb = VERBS[method] ?? method.toLowerCase();
  if (verb === 'get' && isTrue(query.get('watch'))) return 'watch';
  if (verb === 'get' && name === '') return 'list';
  if (verb === 'delete' && name === '') return 'deletecollection';
  return verb;
}

export function isTrue(value: string | null): boolean {
  return value !== null && ['', '1', 'true', 't', 'T', 'TRUE', 'True'].includes(value);
}

/** A list of one name is authorized as that name. */
function nameInFieldSelector(selector: string | null): string {
  const match = /(?:^|,)metadata\.name==?([^,=!]+)(?:,|$)/.exec(selector ?? '');
  return match?.[1] ?? '';
}
