// Informers shared by all who ask: one reflector and one cache for each resource and selector.
// Guarantees: handlers are called in order, each change once; one that throws is logged and stops nobody else.
import { setMaxListeners } from 'node:events';
import { type Log, silentLog } from '../api/log.js';
import type { KubeObject, Stored } from '../api/object.js';
import { apiVersionOf, type ResourceType } from '../api/resources.js';
import { qualifiedResource } from '../api/status.js';
import { messageOf } from '../base/errorMessage.js';
import { type Change, ObjectCache } from './cache.js';
import type { Client } from './client.js';
import type { IndexFunction, Informer, InformerHandler, InformerOptions, Informers } from './informer.js';
import { type ReflectorOptions, runReflector } from './reflector.js';
import type { SharedObjects } from './sharedObjects.js';

interface InformersOptions {
  readonly log?: Log;
  /** For tests: how the reflectors wait. */
  readonly pause?: NonNullable<ReflectorOptions<KubeObject>['pause']>;
  /** For informers of several clients in one process: what they all hold is held once. */
  readonly shared?: SharedObjects;
}

export function openInformers(client: Client, options: InformersOptions = {}): Informers {
  const { log = silentLog, pause, shared } = options;
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // every informer listens
  const informers = new Map<string, Informer<KubeObject>>();
  const keepers = new Map<unknown, number>();
  const numberOf = (keep: unknown) => {
    if (!keepers.has(keep)) keepers.set(keep, keepers.size);
    return keepers.get(keep);
  };
  const start = <T extends KubeObject>(type: ResourceType<T>, query: InformerOptions<T>): Informer<T> => {
    const { keep, metadataOnly = false } = query;
    // What was kept of an object is not the object: only whole ones are shared.
    const isWhole = keep === undefined && !metadataOnly;
    const { informer, own, ...news } = makeInformer(type, log, isWhole ? shared : undefined);
    void runReflector<T>({
      client: client.of(type),
      what: qualifiedResource(type),
      query: { ...query, keep: (object) => own(keep === undefined ? object : keep(object)) },
      ...news,
      log,
      signal: stopping.signal,
      ...(pause === undefined ? {} : { pause }),
    });
    return informer;
  };
  return {
    of<T extends KubeObject, Kept extends KubeObject = T>(
      type: ResourceType<T>,
      options: InformerOptions<T, Kept> = {},
    ) {
      const { namespace = '', labelSelector = '', fieldSelector = '', metadataOnly = false, keep } = options;
      const { group, version, resource } = type;
      const query = [namespace, labelSelector, fieldSelector, metadataOnly, numberOf(keep)];
      const key = JSON.stringify([group, version, resource, ...query]);
      const known = informers.get(key) as Informer<Kept> | undefined;
      if (known !== undefined) return known;
      // From here on the objects are what was kept of them.
      const informer = start(
        type as unknown as ResourceType<Kept>,
        options as unknown as InformerOptions<Kept>,
      );
      informers.set(key, informer as unknown as Informer<KubeObject>);
      return informer;
    },
    async synced() {
      await Promise.all([...informers.values()].map((informer) => informer.synced()));
    },
    stop: () => stopping.abort(),
  };
}

type News<T extends KubeObject> = Pick<ReflectorOptions<T>, 'onList' | 'onEvent'> & {
  /** The copy that is held of an object. */
  own(object: Stored<T>): Stored<T>;
};

function makeInformer<T extends KubeObject>(
  type: ResourceType<T>,
  log: Log,
  shared: SharedObjects | undefined,
): { informer: Informer<T> } & News<T> {
  const kind = `${apiVersionOf(type)} ${type.kind}`;
  const cache = new ObjectCache<T>(shared === undefined ? undefined : { objects: shared, kind });
  const handlers = new Set<InformerHandler<T>>();
  let hasSynced = false;
  let sync = () => {};
  const synced = new Promise<void>((resolve) => {
    sync = resolve;
  });
  const tell = (handler: InformerHandler<T>, change: Change<T>) => {
    try {
      if (change.type === 'updated') handler.updated?.(change.object, change.previous);
      else handler[change.type]?.(change.object);
    } catch (error) {
      log.error('an informer handler failed', {
        resource: type.resource,
        change: change.type,
        error: messageOf(error),
      });
    }
  };
  // An index that cannot make sense of one object must not keep all others from arriving.
  const tolerant =
    (values: IndexFunction<T>): IndexFunction<T> =>
    (object) => {
      try {
        return values(object);
      } catch (error) {
        log.error('an index function failed', { resource: type.resource, error: messageOf(error) });
        return [];
      }
    };
  const deliver = (changes: readonly Change<T>[]) => {
    // Whoever joins during a delivery is told of everything that is there, so it must not be told again here.
    const present = [...handlers];
    for (const change of changes) {
      for (const handler of present) if (handlers.has(handler)) tell(handler, change);
    }
  };
  const informer: Informer<T> = {
    type,
    get: (key) => cache.get(key),
    list: () => cache.list(),
    index: (name, values) => cache.index(name, tolerant(values)),
    byIndex: (name, value) => cache.byIndex(name, value),
    on(wanted) {
      // A copy, so that the same handler registered twice is two registrations.
      const handler: InformerHandler<T> = {
        added: (object) => wanted.added?.(object),
        updated: (object, previous) => wanted.updated?.(object, previous),
        deleted: (object) => wanted.deleted?.(object),
      };
      handlers.add(handler);
      for (const object of cache.list()) tell(handler, { type: 'added', object });
      return () => void handlers.delete(handler);
    },
    synced: () => synced,
    hasSynced: () => hasSynced,
  };
  return {
    informer,
    own: (object) => cache.own(object),
    onList({ items }) {
      deliver(cache.replace(items));
      hasSynced = true;
      sync();
    },
    onEvent: (event) => deliver(cache.apply(event)),
  };
}
