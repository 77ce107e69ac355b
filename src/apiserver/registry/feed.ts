// Keeps the caches of all resources true to the store: one list at the start, one watch for ever after.
// Guarantees: one order of changes over all resources; `current()` resolves only when the caches hold every finished write.
import type { KindDefinition } from '../../api/kind.js';
import type { Log } from '../../api/log.js';
import { qualifiedResource } from '../../api/status.js';
import type { Entry, Store, StoreEvent } from '../../store/store.js';
import type { CachedObject } from './cached.js';
import { History } from './history.js';
import { NODE_PORT_CLAIMS, ROOT, resourceOfKey } from './keys.js';
import { ResourceCache } from './resourceCache.js';
import { tooLarge } from './selection.js';

const PAGE = 1000;
const RETRY_MS = 500;
const PATIENCE_MS = 10_000;
const EXPIRE_MS = 15_000;

export class Feed {
  readonly #store: Store;
  readonly #log: Log;

  readonly #caches = new Map<string, ResourceCache>();
  readonly #nodePorts = new Map<string, Entry>();
  readonly #byKind = new Map<KindDefinition, ResourceCache>();
  /** What happened to kinds that are still being read. */
  readonly #filling = new Map<string, StoreEvent[]>();
  readonly #waiting = new Set<{ readonly revision: number; readonly done: () => void }>();
  readonly #expiring: NodeJS.Timeout;
  #revision = 0;
  #watch: { close(): void } | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    store: Store,
    kinds: readonly KindDefinition[],
    log: Log,
    readonly history = new History(),
  ) {
    this.#store = store;
    this.#log = log;

    this.#expiring = setInterval(() => history.expire(), EXPIRE_MS).unref();
    const read = store.valueAt?.bind(store);
    for (const kind of kinds) {
      const cache = new ResourceCache(kind, history, read);
      this.#caches.set(qualifiedResource(kind.type), cache);
      this.#byKind.set(kind, cache);
    }
  }

  /** The revision up to which the caches are complete. */
  get revision(): number {
    return this.#revision;
  }

  /** Whether the store tells of its changes. */
  get isWatching(): boolean {
    return this.#watch !== undefined && !this.#closed;
  }

  /** The claims of node ports, by key. */
  get nodePortClaims(): ReadonlyMap<string, Entry> {
    return this.#nodePorts;
  }

  /** A kind that came while the server runs. Resolves when its objects can be read. */
  async addKind(kind: KindDefinition): Promise<void> {
    const resource = qualifiedResource(kind.type);
    const cache = new ResourceCache(kind, this.history);
    const events: StoreEvent[] = [];
    this.#caches.set(resource, cache);
    this.#filling.set(resource, events);
    const { entries, revision } = await this.#listAllOf(cache.prefix);
    if (this.#filling.get(resource) !== events) return; // removed, or read anew with everything else
    this.#filling.delete(resource);
    cache.fill(
      entries.map((entry) => cache.objectOf(entry)),
      revision,
    );
    for (const event of events) if (event.revision > revision) cache.apply(event);
  }

  /** The kind's definition has changed; its objects stay. */
  changeKind(kind: KindDefinition): void {
    this.#caches.get(qualifiedResource(kind.type))?.become(kind);
  }

  removeKind(kind: KindDefinition): void {
    const resource = qualifiedResource(kind.type);
    this.#filling.delete(resource);
    this.#caches.get(resource)?.close();
    this.#caches.delete(resource);
  }

  cacheOf(kind: KindDefinition): ResourceCache {
    const cache = this.#byKind.get(kind) ?? this.#caches.get(qualifiedResource(kind.type));
    if (cache === undefined) throw new Error(`no cache for ${qualifiedResource(kind.type)}`);
    return cache;
  }

  async open(): Promise<void> {
    const { objects, claims, revision } = await this.#listAll();
    this.#filling.clear();
    for (const [resource, cache] of this.#caches) cache.fill(objects.get(resource) ?? [], revision);
    this.#nodePorts.clear();
    for (const claim of claims) this.#nodePorts.set(claim.key, claim);
    this.#advance(revision);
    this.#watch = await this.#store.watch({
      prefix: ROOT,
      after: revision,
      onEvents: (events) => this.#apply(events),
      // Others may write to the same etcd, and readers would wait for ever for a revision that is not ours.
      onProgress: (revision) => this.#advance(revision),
      onError: (error) => this.#reopen(error),
    });
  }

  /** Resolves when the caches hold every write that had been answered before the call; undefined when they do already. */
  current(): Promise<void> | undefined {
    const newest = this.#store.revision();
    if (newest instanceof Promise) return newest.then((revision) => this.reached(revision));
    return newest > this.#revision ? this.reached(newest) : undefined;
  }

  /** Throws Timeout when the store does not tell of that revision in time: better than an answer that may be old. */
  reached(revision: number): Promise<void> {
    if (revision <= this.#revision || this.#closed) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiter = { revision, done: () => {} };
      const late = setTimeout(() => {
        this.#waiting.delete(waiter);
        reject(tooLarge(revision, this.#revision));
      }, PATIENCE_MS);
      waiter.done = () => {
        clearTimeout(late);
        resolve();
      };
      this.#waiting.add(waiter);
    });
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    clearInterval(this.#expiring);
    this.#watch?.close();
    for (const { done } of this.#waiting) done();
    this.#waiting.clear();
  }

  /** By resource. A page's entries become the caches' objects at once: the store's bytes are never all held beside them. */
  async #listAll(): Promise<{
    objects: ReadonlyMap<string, CachedObject[]>;
    claims: Entry[];
    revision: number;
  }> {
    const claims: Entry[] = [];
    const objects = new Map([...this.#caches.keys()].map((resource) => [resource, [] as CachedObject[]]));
    const take = (entry: Entry) => {
      const resource = resourceOfKey(entry.key) ?? '';
      if (resource === NODE_PORT_CLAIMS) claims.push(entry);
      const cache = this.#caches.get(resource);
      if (cache !== undefined) objects.get(resource)?.push(cache.objectOf(entry));
    };
    const revision = await this.#readAll(ROOT, take);
    return { objects, claims, revision };
  }

  async #listAllOf(prefix: string): Promise<{ entries: readonly Entry[]; revision: number }> {
    const entries: Entry[] = [];
    const revision = await this.#readAll(prefix, (entry) => entries.push(entry));
    return { entries, revision };
  }

  /** Everything below the prefix at one revision, which it answers. */
  async #readAll(prefix: string, take: (entry: Entry) => void): Promise<number> {
    const first = await this.#store.list({ prefix, limit: PAGE });
    first.entries.forEach(take);
    let { remaining } = first;
    let after = first.entries.at(-1)?.key ?? prefix;
    while (remaining > 0) {
      const page = await this.#store.list({ prefix, limit: PAGE, after, revision: first.revision });
      page.entries.forEach(take);
      after = page.entries.at(-1)?.key ?? after;
      remaining = page.entries.length === 0 ? 0 : page.remaining;
    }
    return first.revision;
  }

  #apply(events: readonly StoreEvent[]): void {
    for (const event of events) {
      const resource = resourceOfKey(event.key);
      if (resource === NODE_PORT_CLAIMS) applyClaim(this.#nodePorts, event);
      else if (resource !== undefined) this.#applyTo(resource, event);
    }
    this.#advance(events.at(-1)?.revision ?? this.#revision);
  }

  #applyTo(resource: string, event: StoreEvent): void {
    const cache = this.#caches.get(resource);
    const filling = this.#filling.get(resource);
    if (filling !== undefined) filling.push(event);
    // What a kind's own reading has seen already is not told again.
    else if (cache !== undefined && event.revision > cache.filledAt) cache.apply(event);
  }

  #advance(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
    for (const waiter of this.#waiting) {
      if (waiter.revision > this.#revision) continue;
      this.#waiting.delete(waiter);
      waiter.done();
    }
  }

  /** The watch broke: everything is read again, and watchers are told to list anew. */
  #reopen(error: Error): void {
    if (this.#closed) return;
    this.#log.warn('the watch on the store ended; reading everything again', { error: error.message });
    this.#watch = undefined;
    const attempt = () => {
      this.open().catch((cause: Error) => {
        if (this.#closed) return;
        this.#log.error('the store cannot be read', { error: cause.message });
        this.#retry = setTimeout(attempt, RETRY_MS);
      });
    };
    this.#retry = setTimeout(attempt, 0);
  }
}

function applyClaim(claims: Map<string, Entry>, { type, key, value, revision }: StoreEvent): void {
  if (type === 'put') claims.set(key, { key, value, revision });
  else claims.delete(key);
}
