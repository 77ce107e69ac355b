// Informers shared by all who ask: one reflector and one cache for each resource and selector.
// Guarantees: who asks for the same gets the same; what several clients of a process hold whole is held once.
import { setMaxListeners } from 'node:events';
import { type Log, silentLog } from '../api/log.js';
import type { KubeObject } from '../api/object.js';
import type { ResourceType } from '../api/resources.js';
import { qualifiedResource } from '../api/status.js';
import { CachedInformer } from './cachedInformer.js';
import type { Client } from './client.js';
import type { Informer, InformerOptions, Informers } from './informer.js';
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
    const informer = new CachedInformer<T>(type, { log, shared: isWhole ? shared : undefined });
    void runReflector<T>({
      client: client.of(type),
      what: qualifiedResource(type),
      query: { ...query, keep: (object) => informer.own(keep === undefined ? object : keep(object)) },
      onList: ({ items }) => informer.replace(items),
      onEvent: (event) => informer.apply(event),
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
