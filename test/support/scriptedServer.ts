// A very small apiserver for the client's tests: one collection with revisions, list pages, watches and scripted faults.
// Guarantees: the same handler answers over HTTP and by direct call, and what it sends can be cut into any chunks.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { V1ConfigMap } from '../../src/api/gen/types.js';
import { keyOf, type Stored } from '../../src/api/object.js';
import { openHttps } from '../../src/client/httpTransport.js';
import type { Transport, TransportRequest, TransportResponse } from '../../src/client/transport.js';

type Item = Stored<V1ConfigMap>;
type Fault = (request: TransportRequest) => TransportResponse | undefined;

interface Event {
  readonly version: number;
  readonly line: Uint8Array;
}

interface Watcher {
  send(bytes: Uint8Array): void;
  end(): void;
}

export class ScriptedServer {
  readonly objects = new Map<string, Item>();
  readonly requests: TransportRequest[] = [];
  readonly watchers = new Set<Watcher>();
  /** Taken one by one, each for one request; undefined lets the request through. */
  readonly faults: Fault[] = [];
  /** Watch bytes are cut into pieces of this size. */
  chunkSize = Number.POSITIVE_INFINITY;
  #events: Event[] = [];
  #version = 10;
  #oldest = 0;

  put(name: string, data: Record<string, string> = {}, namespace = 'default'): Item {
    const version = ++this.#version;
    const known = this.objects.get(keyOf({ name, namespace }));
    const metadata = {
      name,
      namespace,
      uid: known?.metadata.uid ?? `uid-${version}`,
      resourceVersion: String(version),
      creationTimestamp: '2026-01-01T00:00:00Z',
    };
    const item: Item = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
    this.objects.set(keyOf(metadata), item);
    this.#record(known === undefined ? 'ADDED' : 'MODIFIED', item);
    return item;
  }

  remove(name: string, namespace = 'default'): void {
    const key = keyOf({ name, namespace });
    const item = this.objects.get(key);
    if (item === undefined) return;
    this.objects.delete(key);
    const metadata = { ...item.metadata, resourceVersion: String(++this.#version) };
    this.#record('DELETED', { ...item, metadata });
  }

  /** Forgets the history: whoever resumes from before now gets 410. */
  compact(): void {
    this.#oldest = this.#version;
    this.#events = [];
  }

  cutWatches(): void {
    for (const watcher of [...this.watchers]) watcher.end();
  }

  sendRaw(text: string): void {
    for (const watcher of this.watchers) watcher.send(Buffer.from(text));
  }

  async handle(request: TransportRequest): Promise<TransportResponse> {
    this.requests.push(request);
    const fault = this.faults.shift()?.(request);
    if (fault !== undefined) return fault;
    const url = new URL(request.path, 'http://api');
    if (url.searchParams.get('watch') === 'true') return this.#watch(request, url);
    const [, , , , namespace = '', , name] = url.pathname.split('/');
    if (request.method === 'GET') return name === undefined ? this.#list(url) : this.#get(namespace, name);
    if (request.method === 'DELETE') return this.#delete(namespace, name ?? '');
    const body = JSON.parse(String(request.body)) as V1ConfigMap;
    const wanted = name ?? body.metadata?.name ?? '';
    const exists = this.objects.has(keyOf({ namespace, name: wanted }));
    if (request.method === 'POST' && exists)
      return status(409, 'AlreadyExists', `configmaps "${wanted}" already exists`);
    if (request.method !== 'POST' && !exists) return notFound(wanted);
    return json(request.method === 'POST' ? 201 : 200, this.put(wanted, body.data, namespace));
  }

  #get(namespace: string, name: string): TransportResponse {
    const item = this.objects.get(keyOf({ namespace, name }));
    return item === undefined ? notFound(name) : json(200, item);
  }

  #delete(namespace: string, name: string): TransportResponse {
    if (!this.objects.has(keyOf({ namespace, name }))) return notFound(name);
    this.remove(name, namespace);
    return json(200, { kind: 'Status', status: 'Success' });
  }

  #list(url: URL): TransportResponse {
    const items = [...this.objects.values()].sort((a, b) => (keyOf(a.metadata) < keyOf(b.metadata) ? -1 : 1));
    const start = Number(url.searchParams.get('continue') ?? 0);
    const end = start + Number(url.searchParams.get('limit') ?? items.length);
    const metadata = {
      resourceVersion: String(this.#version),
      ...(end < items.length ? { continue: String(end) } : {}),
    };
    return json(200, { kind: 'ConfigMapList', apiVersion: 'v1', metadata, items: items.slice(start, end) });
  }

  #watch({ signal }: TransportRequest, url: URL): TransportResponse {
    const after = Number(url.searchParams.get('resourceVersion'));
    if (after < this.#oldest) return status(410, 'Expired', 'too old resource version');
    const stream = makeStream(this.chunkSize);
    const watcher: Watcher = {
      send: (bytes) => stream.push(bytes),
      end: () => {
        this.watchers.delete(watcher);
        stream.end();
      },
    };
    this.watchers.add(watcher);
    signal?.addEventListener('abort', () => watcher.end(), { once: true });
    for (const { version, line } of this.#events) if (version > after) watcher.send(line);
    return { status: 200, headers: { 'content-type': 'application/json' }, body: stream.body };
  }

  #record(type: string, object: Item): void {
    const line = Buffer.from(`${JSON.stringify({ type, object })}\n`);
    this.#events.push({ version: this.#version, line });
    for (const watcher of this.watchers) watcher.send(line);
  }
}

export function json(code: number, value: unknown, headers: Record<string, string> = {}): TransportResponse {
  return text(code, JSON.stringify(value), { 'content-type': 'application/json', ...headers });
}

export function text(code: number, body: string, headers: Record<string, string> = {}): TransportResponse {
  const bytes = Buffer.from(body);
  return {
    status: code,
    headers,
    body: (async function* () {
      yield bytes;
    })(),
  };
}

export function status(code: number, reason: string, message: string, headers: Record<string, string> = {}) {
  return json(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }, headers);
}

function notFound(name: string): TransportResponse {
  return status(404, 'NotFound', `configmaps "${name}" not found`);
}

function makeStream(chunkSize: number) {
  const pieces: Uint8Array[] = [];
  let ended = false;
  let wake = () => {};
  return {
    push(bytes: Uint8Array) {
      const size = Math.min(chunkSize, bytes.length);
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    body: (async function* () {
      for (;;) {
        const piece = pieces.shift();
        if (piece !== undefined) yield piece;
        else if (ended) return;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    })(),
  };
}

export interface Door {
  readonly transport: Transport;
  close(): Promise<void>;
}

/** The handler called in this process. */
export async function openDirect(api: ScriptedServer): Promise<Door> {
  return {
    transport: { request: (request) => api.handle(request), close: () => api.cutWatches() },
    close: async () => api.cutWatches(),
  };
}

/** The handler behind a real socket. */
export async function openHttp(api: ScriptedServer): Promise<Door> {
  const server = http.createServer(async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const method = incoming.method as TransportRequest['method'];
    const { accept = '' } = incoming.headers;
    const response = await api.handle({
      method,
      path: incoming.url ?? '',
      headers: { accept },
      signal: gone.signal,
      body: Buffer.concat(chunks),
    });
    outgoing.writeHead(response.status, response.headers);
    outgoing.flushHeaders();
    for await (const chunk of response.body) outgoing.write(chunk);
    outgoing.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const transport = openHttps({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  return {
    transport,
    close: async () => {
      transport.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
