// The definitions of custom resources as this server knows them, and the kinds that it serves because of them.
// Guarantees: what is served follows the store's order: a definition is there before its first object is; a kind is served
// once its objects have been read; nothing that a definition says touches a built-in kind.
import type { V1CustomResourceDefinition } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import { isTrue } from '../../api/kinds/customResource/conditions.js';
import { customResourceDefinitionKind } from '../../api/kinds/customResource/definition.js';
import type { Log } from '../../api/log.js';
import { sameJson } from '../../api/ownKeys.js';
import { apiVersionOf, type GroupVersionResource } from '../../api/resources.js';
import { qualifiedResource } from '../../api/status.js';
import {
  type Currency,
  type CustomKinds,
  compareVersions,
  customKinds,
} from '../../api/structural/customKind.js';
import type { CachedObject } from '../registry/cached.js';
import type { Feed } from '../registry/feed.js';
import { resourcePrefix } from '../registry/keys.js';
import type { Served } from '../verbs/served.js';
import { KnownConversions } from './conversion/knownConversions.js';
import { ConversionMetrics } from './conversion/metrics.js';
import { VersionConversion } from './conversion/versionConversion.js';
import { WebhookConverter } from './conversion/webhookConverter.js';

export type Definition = V1CustomResourceDefinition;

interface Entry {
  readonly definition: Definition;
  readonly currency: Currency;
  readonly kinds: CustomKinds;
  /** True once its objects are in the caches. */
  readonly isReady: boolean;
}

/**
 * Who had begun to write before the definition changed has written, or given up. Until then what is stored may still be as
 * the former definition had it.
 */
const SETTLED_MS = 120_000;

export class Definitions {
  readonly #feed: Feed;
  readonly #builtIn: readonly KindDefinition[];
  readonly #log: Log;

  readonly #entries = new Map<string, Entry>();
  readonly #builtInNames: ReadonlySet<string>;
  readonly #listeners = new Set<(name: string) => void>();
  readonly #known = new KnownConversions();
  readonly #converters = new Map<string, WebhookConverter>();
  readonly conversionMetrics = new ConversionMetrics();
  readonly #settling = new Set<NodeJS.Timeout>();
  #stop: (() => void) | undefined;
  /** Grows with every change of what is served: what was made of it is made anew. */
  version = 0;

  constructor(feed: Feed, builtIn: readonly KindDefinition[], log: Log) {
    this.#feed = feed;
    this.#builtIn = builtIn;
    this.#log = log;

    this.#builtInNames = new Set(builtIn.map(({ type }) => qualifiedResource(type)));
  }

  /** Reads the definitions that are there. Resolves when all of them are served that can be. */
  async open(): Promise<void> {
    const cache = this.#feed.cacheOf(customResourceDefinitionKind);
    this.#stop = cache.listen({
      onChange: ({ object, deleted, revision }) => void this.#change(object, deleted ? undefined : revision),
      onReset: () => void this.#readAll(),
    });
    await this.#readAll();
  }

  close(): void {
    this.#stop?.();
    this.#listeners.clear();
    for (const timer of this.#settling) clearTimeout(timer);
    for (const converter of this.#converters.values()) converter.close();
  }

  /** Told the name of each definition that came, changed or went. */
  listen(listener: (name: string) => void): void {
    this.#listeners.add(listener);
  }

  get(name: string): Definition | undefined {
    return this.#entries.get(name)?.definition;
  }

  get all(): readonly Definition[] {
    return [...this.#entries.values()].map(({ definition }) => definition);
  }

  isBuiltIn(name: string): boolean {
    return this.#builtInNames.has(name);
  }

  /** The kind under which a definition's objects lie; undefined while they cannot be read. */
  storedKind(name: string): KindDefinition | undefined {
    const entry = this.#entries.get(name);
    return entry?.isReady === true ? entry.kinds.stored : undefined;
  }

  served({ group, version, resource }: GroupVersionResource): Served | undefined {
    const entry = this.#entries.get(`${resource}.${group}`);
    if (entry?.isReady !== true) return undefined;
    const isServed = entry.definition.spec.versions.some(({ name, served }) => name === version && served);
    const kind = isServed ? entry.kinds.kinds.get(version) : undefined;
    return kind === undefined ? undefined : { kind, version: entry.kinds.forms.get(version) };
  }

  /** Every version that is served, the preferred one of each group first. */
  get forms(): readonly Served[] {
    const found = [...this.#entries.values()]
      .filter(({ isReady }) => isReady)
      .flatMap(({ definition: { spec } }) =>
        spec.versions.flatMap(({ name, served }) => {
          const place = { group: spec.group, version: name, resource: spec.names.plural };
          const form = served ? this.served(place) : undefined;
          return form === undefined ? [] : [form];
        }),
      );
    const versionOf = ({ kind, version }: Served) => (version?.type ?? kind.type).version;
    return found.sort(
      (a, b) =>
        compareVersions(versionOf(a), versionOf(b)) || (a.kind.type.resource < b.kind.type.resource ? -1 : 1),
    );
  }

  async #readAll(): Promise<void> {
    const cache = this.#feed.cacheOf(customResourceDefinitionKind);
    const present = [...cache.range(resourcePrefix(customResourceDefinitionKind.type))];
    const names = new Set(present.map(({ summary }) => summary.metadata?.name ?? ''));
    for (const name of this.#entries.keys()) if (!names.has(name)) this.#remove(name);
    await Promise.all(present.map((object) => this.#change(object, object.revision)));
  }

  /** One that another program wrote to the store may say anything: it is left out, and holds nobody up. */
  async #change(object: CachedObject, revision: number | undefined): Promise<void> {
    try {
      await this.#follow(object, revision);
    } catch (error) {
      this.#log.error('a definition cannot be served', { key: object.key, error: String(error) });
    }
  }

  /** `revision` is undefined for a definition that is gone. */
  async #follow(object: CachedObject, revision: number | undefined): Promise<void> {
    const definition = object.parse<Definition>();
    const name = definition.metadata?.name ?? '';
    if (revision === undefined) this.#remove(name);
    else {
      const filled = this.#take(name, definition, revision);
      this.#tell(name);
      await filled;
    }
    this.#tell(name);
  }

  #remove(name: string): void {
    const entry = this.#entries.get(name);
    this.#entries.delete(name);
    this.#converters.delete(name);
    this.version += 1;
    if (entry !== undefined && isKept(entry.definition) && !this.isBuiltIn(name))
      this.#feed.removeKind(entry.kinds.stored);
  }

  #take(name: string, definition: Definition, revision: number): Promise<void> | undefined {
    const held = this.#entries.get(name);
    const isSame = held !== undefined && isSameSpec(held.definition, definition);
    const currency = isSame ? held.currency : this.#currencyOf(definition, revision);
    const kinds =
      isSame && isSameState(held.definition, definition)
        ? held.kinds
        : this.#kindsOf(name, definition, currency);
    const wasKept = held !== undefined && isKept(held.definition);
    this.#entries.set(name, { definition, currency, kinds, isReady: held?.isReady ?? false });
    this.version += 1;
    if (!isKept(definition) || this.isBuiltIn(name)) return undefined;
    if (wasKept) {
      if (!isSame) this.#feed.changeKind(kinds.stored);
      return undefined;
    }
    return this.#feed.addKind(kinds.stored).then(
      () => this.#ready(name),
      (error: Error) =>
        this.#log.error('objects of a definition cannot be read', { name, error: error.message }),
    );
  }

  /** Of one that has never been another, all that is stored later is current. */
  #currencyOf({ metadata }: Definition, revision: number): Currency {
    if (metadata?.generation === 1) return { since: revision };
    const currency = { since: Number.POSITIVE_INFINITY };
    const timer = setTimeout(() => {
      this.#settling.delete(timer);
      currency.since = this.#feed.revision;
    }, SETTLED_MS).unref();
    this.#settling.add(timer);
    return currency;
  }

  #kindsOf(name: string, definition: Definition, currency: Currency): CustomKinds {
    const made = customKinds(definition, currency);
    const { converted } = made;
    // Those who wait for the one before are still answered; its connections end when they have been idle.
    this.#converters.delete(name);
    if (converted === undefined) return made;
    const cluster = { feed: this.#feed, kinds: this.#builtIn };
    const converter = new WebhookConverter({ definition, cluster, metrics: this.conversionMetrics });
    this.#converters.set(name, converter);
    const forms = new Map([...converted.values()].map((form) => [form.apiVersion, form]));
    const byVersion = new Map([...made.kinds.values()].map((kind) => [apiVersionOf(kind.type), kind]));
    const kinds = new Map(
      [...converted].map(([version, own]) => {
        const kind = made.kinds.get(version) as KindDefinition;
        const parts = { kind, forms, kinds: byVersion, own, converter, known: this.#known };
        return [version, { ...kind, conversion: new VersionConversion(parts) }];
      }),
    );
    return { ...made, kinds };
  }

  #ready(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.set(name, { ...entry, isReady: true });
    this.version += 1;
  }

  #tell(name: string): void {
    for (const listener of this.#listeners) listener(name);
  }
}

/** Once established, always: its objects may be there. */
const isKept = (definition: Definition) => isTrue(definition, 'Established');

const isSameSpec = (one: Definition, other: Definition) =>
  one.metadata?.uid === other.metadata?.uid && sameJson(one.spec, other.spec);

const isSameState = (one: Definition, other: Definition) =>
  one.metadata?.deletionTimestamp === other.metadata?.deletionTimestamp &&
  sameJson(one.status?.acceptedNames, other.status?.acceptedNames);
