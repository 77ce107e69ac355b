// Requests for the API that are almost right: real paths, verbs, kinds and fields with a fault here and there. Pure.
// Guarantees: a seed always makes the same requests; none makes the server dial an address that it was given.
import { stringify } from 'yaml';
import { schemas } from '../../src/api/gen/schemas.js';
import type { KindDefinition } from '../../src/api/kind.js';
import { KINDS } from '../../src/api/kinds/index.js';
import { smallest } from '../unit/api/kinds/smallest.js';

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

const STRINGS = [
  '',
  'a',
  'x',
  'default',
  'kubernetes',
  'UPPER',
  'a/b',
  'a.b/c',
  'a b',
  '-',
  '*',
  '..',
  '.',
  '日本',
  '\u0000',
  '\ud800',
  'TCP',
  'Always',
  'Never',
  'NodePort',
  'ExternalName',
  'None',
  'ClusterIP',
  'Delete',
  'Recreate',
  'Local',
  'Exists',
  'In',
  '10.96.0.7',
  '::1',
  '10.0.0.0/8',
  '/var/x',
  '../etc',
  'https://x',
  '1Gi',
  '-1',
  '1e9999',
  '0.5',
  '50%',
  '8080',
  'system:masters',
  'cluster-admin',
  'get',
  'rbac.authorization.k8s.io',
  'apps/v1',
  'v1',
  'Pod',
  'Node',
  'Deployment',
  '2026-01-01T00:00:00Z',
  '2026-01-01',
  '* * * * *',
  '*/0 * * * *',
  'True',
  'null',
  '__proto__',
  'constructor',
  'x'.repeat(64),
  'y'.repeat(300),
  'kubernetes.io/tls',
  'kubernetes.io/kube-apiserver-client',
  'LS0tLS0=',
];
const NUMBERS = [0, 1, -1, 2, 80, 443, 30_080, 65_536, 2 ** 31, 2 ** 53, -(2 ** 63), 1.5, 1e30];
const NAMES = [
  'x',
  'y',
  'default',
  'kubernetes',
  'missing',
  'system:node',
  '10.96.0.1',
  'UPPER',
  '%2e%2e',
  '%00',
  '%ff',
  'z'.repeat(300),
];
/** What would make the server dial an address is only asked of what is not there. */
const DIALS = new Set(['proxy', 'log', 'exec', 'attach', 'portforward']);
const SUBRESOURCES = [
  'status',
  'scale',
  'binding',
  'eviction',
  'ephemeralcontainers',
  'token',
  'approval',
  'finalize',
  'nothing',
  ...DIALS,
];
const PATHS = [
  '/',
  '/api',
  '/api/v1',
  '/apis',
  '/apis/apps',
  '/apis/apps/v1',
  '/apis/nothing/v1',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/api/v1',
  '/openapi/v3/__proto__',
  '/version',
  '/healthz',
  '/livez?verbose',
  '/readyz/ping',
  '/metrics',
  '/.well-known/openid-configuration',
  '/openid/v1/jwks',
  '/%zz',
  '//',
  '/api/v1/watch/pods?timeoutSeconds=1',
  '/api/v2/pods',
  '/../x',
];
const QUERIES = [
  'limit=1',
  'limit=-1',
  'limit=x',
  'continue=x',
  'resourceVersion=0',
  'resourceVersion=1',
  'resourceVersion=x',
  'resourceVersionMatch=Exact',
  'resourceVersionMatch=NotOlderThan',
  'labelSelector=a%3Db',
  'labelSelector=a+in+(b)',
  'labelSelector=!!',
  'fieldSelector=metadata.name%3Dx',
  'fieldSelector=spec.nodeName!%3D',
  'fieldSelector=%3D',
  'pretty=true',
  'dryRun=All',
  'dryRun=x',
  'fieldManager=f',
  'fieldManager=',
  'fieldValidation=Strict',
  'fieldValidation=x',
  'force=true',
  'gracePeriodSeconds=0',
  'gracePeriodSeconds=-1',
  'propagationPolicy=Orphan',
  'propagationPolicy=Foreground',
  'propagationPolicy=x',
  'orphanDependents=true',
  'watch=0',
  'watch=true',
  'watch=true&allowWatchBookmarks=true',
  'includeObject=x',
  'exclude=ping',
  'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
  '%ff=%ff',
  '&&=',
  'timeout=1s',
];
const ACCEPTS = [
  'application/json',
  '*/*',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'text/html',
  ';;,',
  '',
  'application/json;as=Table;g=meta.k8s.io;v=v1',
  'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
];
const PATCHES = ['merge-patch+json', 'strategic-merge-patch+json', 'json-patch+json', 'apply-patch+yaml'];
const METHODS = [
  'GET',
  'GET',
  'GET',
  'POST',
  'POST',
  'POST',
  'PUT',
  'PUT',
  'PATCH',
  'PATCH',
  'PATCH',
  'DELETE',
];
const MAX_DEPTH = 7;

export class ApiFuzz {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  request(): FuzzRequest {
    if (this.#chance(0.05)) return this.#elsewhere();
    const kind = this.#one(KINDS);
    const method = this.#chance(0.02) ? this.#one(['HEAD', 'OPTIONS', 'TRACE', 'PURGE']) : this.#one(METHODS);
    const name = this.#name(method);
    const subresource = name !== '' && this.#chance(0.25) ? this.#one(SUBRESOURCES) : '';
    const path = this.#path(kind, DIALS.has(subresource) ? 'missing' : name, subresource);
    // A role that all others rest on is not to go: the rest of the run would meet nothing but refusals.
    const spared = method === 'DELETE' && kind.type.group === 'rbac.authorization.k8s.io' && name === '';
    return {
      method: spared ? 'GET' : method,
      path: `${path}${this.#query()}`,
      ...this.#content(kind, method, name),
    };
  }

  #elsewhere(): FuzzRequest {
    const headers = { accept: this.#one(ACCEPTS) };
    return { method: this.#one(METHODS), path: this.#one(PATHS), headers, body: undefined };
  }

  #name(method: string): string {
    if (method === 'POST') return this.#chance(0.85) ? '' : this.#one(NAMES);
    return this.#chance(method === 'GET' ? 0.5 : 0.92) ? this.#one(NAMES) : '';
  }

  #path({ type }: KindDefinition, name: string, subresource: string): string {
    const { group, version, resource, namespaced } = type;
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const inside = this.#chance(0.02) ? !namespaced : namespaced;
    const space = inside ? `/namespaces/${this.#chance(0.95) ? 'default' : this.#one(NAMES)}` : '';
    return [`${root}${space}/${resource}`, name, subresource].filter(Boolean).join('/');
  }

  #query(): string {
    const parts = this.#some(this.#chance(0.4) ? 3 : 0, () => this.#one(QUERIES));
    // A watch is to end by itself, and soon.
    if (parts.some((part) => part.startsWith('watch='))) parts.push('timeoutSeconds=1');
    return parts.length === 0 ? '' : `?${parts.join('&')}`;
  }

  #content(kind: KindDefinition, method: string, name: string): Pick<FuzzRequest, 'headers' | 'body'> {
    const accept: Record<string, string> = this.#chance(0.2) ? { accept: this.#one(ACCEPTS) } : {};
    if (this.#chance(0.02))
      accept['impersonate-user'] = this.#one(['jane', '', 'system:serviceaccount:a:b', 'é']);
    if (this.#chance(0.01)) accept['impersonate-extra-%zz'] = 'x';
    if (method === 'GET' || (method === 'DELETE' && this.#chance(0.7)))
      return { headers: accept, body: undefined };
    const [type, body] =
      method === 'PATCH' ? this.#patch(kind, name) : this.#encoded(this.#object(kind, name));
    const sent = this.#chance(0.1) ? this.#damaged(body) : body;
    const declared = this.#chance(0.03)
      ? this.#one(['text/plain', '', 'application/json; charset=x', ';'])
      : type;
    return { headers: { ...accept, 'content-type': declared }, body: sent };
  }

  #encoded(value: unknown): [type: string, body: Buffer] {
    const pick = this.#next();
    if (pick < 0.06) return ['application/vnd.kubernetes.protobuf', this.#protobuf()];
    if (pick < 0.16) return ['application/yaml', Buffer.from(stringify(value))];
    return ['application/json', Buffer.from(JSON.stringify(value))];
  }

  #patch(kind: KindDefinition, name: string): [type: string, body: Buffer] {
    const type = this.#one(PATCHES);
    const value = type === 'json-patch+json' ? this.#operations(kind) : this.#object(kind, name);
    return [`application/${type}`, Buffer.from(JSON.stringify(value))];
  }

  #operations(kind: KindDefinition): unknown {
    const pointer = () =>
      this.#one([
        `/${this.#one(['spec', 'metadata', 'status', 'data'])}`,
        '',
        '/metadata/labels/a',
        '/x/-',
        '/metadata/finalizers/0',
        '/spec/containers/0/image',
        'x',
        '/~2',
      ]);
    return this.#some(4, () => ({
      op: this.#one(['add', 'remove', 'replace', 'move', 'copy', 'test', 'x']),
      path: pointer(),
      from: pointer(),
      value: this.#value(this.#one(Object.values(schemas[kind.model] ?? { a: 's' })), 3),
    }));
  }

  /** The least object of the kind, with fields of its model added or replaced. */
  #object(kind: KindDefinition, name: string): unknown {
    if (this.#chance(0.02)) return this.#wrong();
    const { type } = kind;
    const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`;
    const least = smallest(kind);
    const own = name === '' || this.#chance(0.05) ? this.#one(['x', 'y', 'z']) : decodeURIComponentOr(name);
    const object: Record<string, unknown> = { apiVersion, kind: type.kind, ...least };
    const metadata: Record<string, unknown> = { name: own, namespace: least.metadata.namespace };
    if (this.#chance(0.3)) Object.assign(metadata, this.#model('V1ObjectMeta', 2), { name: own });
    object['metadata'] = metadata;
    for (const [field, code] of Object.entries(schemas[kind.model] ?? {})) {
      if (field === 'metadata' || field === 'kind' || field === 'apiVersion' || !this.#chance(0.35)) continue;
      const value = this.#value(code, 1);
      const before = object[field];
      object[field] = isPlain(before) && isPlain(value) ? { ...before, ...value } : value;
    }
    return object;
  }

  #model(model: string, depth: number): Record<string, unknown> {
    const made: Record<string, unknown> = {};
    for (const [field, code] of Object.entries(schemas[model] ?? {})) {
      if (this.#chance(code.startsWith('!') ? 0.9 : 1.5 / depth / 4))
        made[field] = this.#value(code, depth + 1);
    }
    if (this.#chance(0.02)) made[this.#one(STRINGS)] = this.#wrong();
    return made;
  }

  #value(code: string, depth: number): unknown {
    if (this.#chance(0.02)) return this.#wrong();
    const plain = code.replace(/^!/, '');
    if (depth > MAX_DEPTH) return plain.startsWith('[]') ? [] : {};
    if (plain.startsWith('[]')) return this.#some(2, () => this.#value(plain.slice(2), depth + 1));
    if (plain.startsWith('{}')) {
      return Object.fromEntries(
        this.#some(2, () => [this.#one(STRINGS), this.#value(plain.slice(2), depth + 1)]),
      );
    }
    switch (plain) {
      case 's':
      case 't':
      case 'u':
      case 'y':
        return this.#one(STRINGS);
      case 'i':
      case 'n':
        return this.#one(NUMBERS);
      case 'b':
        return this.#chance(0.5);
      case 'x':
        return this.#one([...NUMBERS, ...STRINGS]);
      case 'any':
        return this.#wrong();
      default:
        return this.#model(plain, depth);
    }
  }

  #wrong(): unknown {
    return this.#one<unknown>([
      null,
      0,
      '',
      'x',
      [],
      {},
      true,
      [null],
      [{}],
      { a: null },
      [[1]],
      { a: { b: [1] } },
    ]);
  }

  #protobuf(): Buffer {
    const bytes = () => Buffer.from(this.#some(20, () => Math.floor(this.#next() * 256)));
    const field = (number: number, value: Buffer | string) => {
      const content = Buffer.from(value as string).subarray(0, 127);
      return Buffer.concat([Buffer.from([number * 8 + 2, content.length]), content]);
    };
    const kind = Buffer.concat([
      field(1, 'v1'),
      field(2, this.#one(['ConfigMap', 'Pod', 'Service', 'Nothing', 'DeleteOptions'])),
    ]);
    const metadata = Buffer.concat([
      field(1, this.#one(STRINGS)),
      this.#chance(0.5) ? bytes() : Buffer.alloc(0),
    ]);
    const raw = Buffer.concat([field(1, metadata), this.#chance(0.5) ? field(2, bytes()) : bytes()]);
    return Buffer.concat([Buffer.from('k8s\0'), field(1, kind), field(2, raw)]);
  }

  #damaged(body: Buffer): Buffer {
    const copy = Buffer.from(body);
    const at = () => Math.floor(this.#next() * copy.length);
    if (this.#chance(0.3)) return copy.subarray(0, at());
    for (const _ of this.#some(3, () => 0)) copy[at()] = Math.floor(this.#next() * 256);
    return this.#chance(0.3) ? Buffer.concat([copy, copy.subarray(at())]) : copy;
  }

  #some<T>(most: number, make: () => T): T[] {
    return Array.from({ length: Math.floor(this.#next() * (most + 1)) }, make);
  }

  #one<T>(from: readonly T[]): T {
    return from[Math.floor(this.#next() * from.length)] as T;
  }

  #chance(probability: number): boolean {
    return this.#next() < probability;
  }

  /** Mulberry32: small, and the same everywhere. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function decodeURIComponentOr(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // an escape that is none: it is sent as it is
  }
}
