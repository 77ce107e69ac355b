// What a URL asks for: verb, resource and object, or a path that names no resource. Pure.
// Guarantees: two requests that reach the same object parse to the same names, so authorization cannot be sidestepped.
import { VERB_OF_METHOD } from '../api/requestVerbs.js';
import { demandedFields, demandedName, type FieldTerm } from '../api/selectors.js';
import { statusError } from '../api/status.js';
import type { Attributes } from './identity.js';

export interface RequestInfo extends Omit<Attributes, 'user'> {
  /** False for paths such as /version; then only `verb` and `path` say anything. */
  readonly isResource: boolean;
  readonly path: string;
  /** What the objects that are listed, watched or deleted together have in common. */
  readonly fieldSelector: readonly FieldTerm[];
  /** What follows the subresource, for proxies. */
  readonly rest: readonly string[];
}

// Below /namespaces/<name>/ these are parts of the namespace itself, everything else is a resource inside it.
const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize']);

export function parseRequest(method: string, pathname: string, query: URLSearchParams): RequestInfo {
  const parts = segmentsOf(pathname);
  const start = startOfResource(parts);
  if (start === 0) return pathRequest(method, pathname);
  // The old way to ask for a watch: /api/v1/watch/pods.
  const isLegacyWatch = parts[start] === 'watch' && parts.length > start + 1 && method === 'GET';
  const at = isLegacyWatch ? start + 1 : start;
  const [first = '', second = '', third = ''] = [parts[at], parts[at + 1], parts[at + 2]];
  const isInNamespace = first === 'namespaces' && parts.length > at + 2 && !NAMESPACE_SUBRESOURCES.has(third);
  const own = isInNamespace ? at + 2 : at;
  const named = parts[own + 1] ?? '';
  const verb = isLegacyWatch ? 'watch' : verbOf(method, parts.slice(own + 1), query);
  const fieldSelector = named === '' && SELECTING.has(verb) ? selectorOf(query) : NO_TERMS;
  const isRead = verb === 'list' || verb === 'watch';
  return {
    isResource: true,
    path: pathname,
    verb,
    group: start === GROUPED ? (parts[1] ?? '') : '',
    version: parts[start - 1] ?? '',
    resource: parts[own] ?? '',
    subresource: parts[own + 2] ?? '',
    // Kubernetes counts a namespace as lying in itself: a Role inside may grant `get namespaces`.
    namespace: first === 'namespaces' ? second : '',
    // A list of one name is authorized as that name.
    name: named === '' && isRead ? (demandedName(fieldSelector) ?? '') : named,
    fieldSelector,
    rest: parts.length > own + 3 ? parts.slice(own + 3) : NONE,
  };
}

const NONE: readonly string[] = [];
const NO_TERMS: readonly FieldTerm[] = [];
const SELECTING = new Set(['list', 'watch', 'deletecollection']);

function selectorOf(query: URLSearchParams): readonly FieldTerm[] {
  const text = query.get('fieldSelector');
  return text === null ? NO_TERMS : demandedFields(text);
}

/** Where the resource begins: /api/<version>/ and /apis/<group>/<version>/. */
const CORE = 2;
const GROUPED = 3;

function startOfResource(parts: readonly string[]): number {
  if (parts[0] === 'api' && parts.length > CORE) return CORE;
  return parts[0] === 'apis' && parts.length > GROUPED ? GROUPED : 0;
}

function pathRequest(method: string, path: string): RequestInfo {
  const nothing = {
    group: '',
    version: '',
    resource: '',
    subresource: '',
    namespace: '',
    name: '',
    fieldSelector: NO_TERMS,
    rest: NONE,
  };
  return { isResource: false, path, verb: method.toLowerCase(), ...nothing };
}

function segmentsOf(pathname: string): string[] {
  const parts: string[] = [];
  // Nothing to decode and nothing to refuse in most paths: one look at the whole instead of several at each part.
  const isPlain = !(pathname.includes('%') || pathname.includes('/.') || pathname.includes('\0'));
  for (const segment of pathname.split('/'))
    if (segment !== '') parts.push(isPlain ? segment : decodeSegment(segment));
  return parts;
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

/** `parts` is what follows the resource. The query of a subresource is its own: a proxied page may be asked to watch. */
function verbOf(method: string, [name = '', subresource]: readonly string[], query: URLSearchParams): string {
  const verb = VERB_OF_METHOD[method] ?? method.toLowerCase();
  if (verb === 'get' && subresource === undefined && isTrue(query.get('watch'))) return 'watch';
  if (verb === 'get' && name === '') return 'list';
  if (verb === 'delete' && name === '') return 'deletecollection';
  return verb;
}

export function isTrue(value: string | null): boolean {
  return value !== null && ['', '1', 'true', 't', 'T', 'TRUE', 'True'].includes(value);
}
