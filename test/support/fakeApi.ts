// An apiserver in memory behind the Client interface: revisions, preconditions, finalizers, late watches.
// Guarantees: a write is checked as the real server checks it; a watcher sees every change in order, as late as asked.
import { setMaxListeners } from 'node:events';
import type { V1DeleteOptions, V1OwnerReference } from '../../src/api/gen/types.js';
import { type KubeObject, keyOf, type ObjectName, type Stored } from '../../src/api/object.js';
import { copyJson, sameJson } from '../../src/api/ownKeys.js';
import * as resources from '../../src/api/resources.js';
import { apiVersionOf, type ResourceType } from '../../src/api/resources.js';
import { alreadyExists, conflict, notFound, statusError } from '../../src/api/status.js';
import type { Client, ResourceClient, WatchEvent, WriteOptions } from '../../src/client/client.js';

type Meta = Record<string, unknown> & {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  generation?: number;
  labels?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: V1OwnerReference[];
  deletionTimestamp?: string;
};
type Draft = Record<string, unknown> & { metadata: Meta };

interface FakeApiOptions {
  now?(): number;
  /** How long a watcher waits before its next event. */
  lag?(): Promise<void>;
  /** Called before each request, `post/binding` for subresources; may throw to refuse it, or wait. */
  before?(verb: string, type: ResourceType, name?: string): void | Promise<void>;
  /** Called before discovery is answered; may throw to refuse it. */
  asked?(path: string): void;
  /** Whether discovery tells of the kind. */
  serves?(type: ResourceType): boolean;
  /** Called after each change. */
  changed?(): void;
}

interface Kind {
  readonly objects: Map<string, Draft>;
  readonly log: { revision: number; type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: Draft }[];
}

interface Write {
  /** `create`, `patch/status`, `post/binding`. */
  readonly verb: string;
  readonly resource: string;
  /** `namespace/name`, or the name alone. */
  readonly name: string;
  readonly body?: unknown;
}

export class FakeApi implements Client {
  readonly requests: string[] = [];
  /** What was asked to be written and not refused by `before`. */
  readonly writes: Write[] = [];
  /** May be set later than the other options. */
  before: NonNullable<FakeApiOptions['before']>;
  /** Answers requests to subresources and, when it is set, to all other paths. */
  answer: ((path: string, body: unknown) => unknown) | undefined;
  readonly posted: { readonly path: string; readonly body: unknown }[] = [];
  readonly #kinds = new Map<string, Kind>();
  readonly #waiting = new Set<() => void>();
  readonly #options: FakeApiOptions;
  #revision = 0;
  #uids = 0;

  constructor(options: FakeApiOptions = {}) {
    this.#options = options;
    this.before = options.before ?? (() => {});
  }

  /** Puts an object there as somebody else would, status and all. */
  put(type: ResourceType, object: object): void {
    const draft = copyJson(object) as unknown as Draft;
    const kind = this.#kind(type);
    const known = kind.objects.get(keyOf(draft.metadata));
    draft.metadata.uid ??= known?.metadata.uid ?? `uid-${++this.#uids}`;
    draft.metadata.creationTimestamp ??= known?.metadata.creationTimestamp ?? this.#stamp();
    kind.objects.set(keyOf(draft.metadata), draft);
    this.#tell(kind, known === undefined ? 'ADDED' : 'MODIFIED', draft);
  }

  all<T extends KubeObject>(type: ResourceType<T>): Stored<T>[] {
    return [...this.#kind(type).objects.values()] as unknown as Stored<T>[];
  }

  get<T extends KubeObject>(type: ResourceType<T>, key: string): Stored<T> | undefined {
    return this.#kind(type).objects.get(key) as unknown as Stored<T> | undefined;
  }

  close(): void {}

  async raw<Answer>(_method: string, path: string, body?: unknown): Promise<Answer> {
    if (this.answer !== undefined) return this.#answer(path, body);
    this.#options.asked?.(path);
    const types = Object.values(resources).filter(
      (value): value is ResourceType =>
        typeof value === 'object' && (this.#options.serves?.(value as ResourceType) ?? true),
    );
    const groups = [...new Set(types.map(({ group }) => group).filter((group) => group !== ''))];
    if (path === '/apis')
      return { groups: groups.map((name) => ({ name, versions: [{ version: 'v1' }] })) } as Answer;
    const served = types.filter((type) => path.endsWith(`/${apiVersionOf(type)}`));
    const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
    return {
      resources: served.map(({ resource, kind, namespaced }) => ({
        name: resource,
        kind,
        namespaced,
        verbs,
      })),
    } as Answer;
  }

  async #answer<Answer>(path: string, body: unknown): Promise<Answer> {
    this.posted.push({ path, body });
    return (await this.answer?.(path, body)) as Answer;
  }

  of<T extends KubeObject>(type: ResourceType<T>): ResourceClient<T> {
    const enter = async (verb: string, name?: string) => {
      this.requests.push(`${verb} ${type.resource}`);
      await this.before(verb, type, name);
      await new Promise(setImmediate);
    };
    const write = async (verb: string, name: ObjectName, body?: unknown, subresource?: string) => {
      await enter(verb, name.name);
      const full = subresource === undefined ? verb : `${verb}/${subresource}`;
      this.writes.push({ verb: full, resource: type.resource, name: keyOf(name), body });
    };
    const out = (draft: Draft) => copyJson(draft) as unknown as Stored<T>;
    return {
      get: async (name) => {
        await enter('get');
        return out(this.#need(type, name));
      },
      list: async ({ namespace, fieldSelector } = {}) => {
        await enter('list');
        const items = this.all(type).filter((object) => selected(object, namespace, fieldSelector));
        return { items: copyJson(items), resourceVersion: String(this.#revision) };
      },
      watch: (query) => this.#watch(type, query),
      create: async (object) => {
        await write('create', nameOf(object), object);
        return out(this.#create(type, object));
      },
      update: async (object, options) => {
        await write('update', nameOf(object), object, options?.subresource);
        return out(this.#update(type, copyJson(object) as unknown as Draft, options));
      },
      patch: async (name, kind, patch, options) => {
        await write('patch', name, patch, options?.subresource);
        const present = this.#need(type, name);
        return out(this.#update(type, patched(type, present, patch, kind === 'strategic'), options));
      },
      delete: async (name, options) => {
        await write('delete', name);
        this.#delete(type, name, options);
      },
      post: async <Answer>(name: ObjectName, subresource: string, body: unknown) => {
        await write(`post/${subresource}`, name, body);
        if (this.answer === undefined) return body as Answer;
        return this.#answer<Answer>(`${type.resource}/${keyOf(name)}/${subresource}`, body);
      },
    };
  }

  /** Removes at once, as a kubelet that has stopped the last container does. */
  remove(type: ResourceType, name: ObjectName): void {
    const kind = this.#kind(type);
    const object = kind.objects.get(keyOf(name));
    if (object === undefined) return;
    kind.objects.delete(keyOf(name));
    this.#tell(kind, 'DELETED', object);
  }

  /** Writes a status as someone else would. */
  setStatus(type: ResourceType, name: ObjectName, status: unknown): void {
    this.#update(type, { ...copyJson(this.#need(type, name)), status }, { subresource: 'status' });
  }

  #kind(type: ResourceType): Kind {
    const key = `${apiVersionOf(type)}/${type.resource}`;
    const kind = this.#kinds.get(key) ?? { objects: new Map(), log: [] };
    this.#kinds.set(key, kind);
    return kind;
  }

  #need(type: ResourceType, name: ObjectName): Draft {
    const object = this.#kind(type).objects.get(keyOf(name));
    if (object === undefined) throw notFound(type, name.name);
    return object;
  }

  #create(type: ResourceType, object: KubeObject): Draft {
    const draft = copyJson(object) as unknown as Draft;
    const generateName = (draft.metadata['generateName'] as string | undefined) ?? '';
    draft.metadata.name ??= `${generateName}${(++this.#uids).toString(36).padStart(5, '0')}`;
    const kind = this.#kind(type);
    const key = keyOf(draft.metadata);
    if (kind.objects.has(key)) throw alreadyExists(type, draft.metadata.name);
    draft.metadata.uid = `uid-${++this.#uids}`;
    draft.metadata.generation = 1;
    draft.metadata.creationTimestamp = this.#stamp();
    draft['spec'] ??= {};
    // Of pods, as the server does; controllers' tests make other objects whole.
    draft['status'] = type.kind === 'Pod' ? {} : (draft['status'] ?? {});
    kind.objects.set(key, draft);
    return this.#tell(kind, 'ADDED', draft);
  }

  #update(type: ResourceType, wanted: Draft, { subresource }: WriteOptions = {}): Draft {
    const present = this.#need(type, wanted.metadata);
    const { uid, resourceVersion } = wanted.metadata;
    if ((uid ?? present.metadata.uid) !== present.metadata.uid)
      throw conflict(type, present.metadata.name, 'the UID in the precondition does not match');
    if ((resourceVersion ?? present.metadata.resourceVersion) !== present.metadata.resourceVersion)
      throw conflict(type, present.metadata.name, 'the object has been modified');
    const draft = copyJson(
      subresource === 'status' ? { ...present, status: wanted['status'] } : wanted,
    ) as Draft;
    if (subresource !== 'status') draft['status'] = present['status'];
    if (sameJson(draft, present)) return present;
    draft.metadata.generation =
      (present.metadata.generation ?? 1) + (sameJson(draft['spec'], present['spec']) ? 0 : 1);
    const kind = this.#kind(type);
    if (draft.metadata.deletionTimestamp !== undefined && isFree(draft)) {
      kind.objects.delete(keyOf(draft.metadata));
      return this.#tell(kind, 'DELETED', draft);
    }
    kind.objects.set(keyOf(draft.metadata), draft);
    return this.#tell(kind, 'MODIFIED', draft);
  }

  #delete(type: ResourceType, name: ObjectName, options: V1DeleteOptions = {}): void {
    const kind = this.#kind(type);
    const present = kind.objects.get(keyOf(name));
    if (present === undefined) return;
    const { uid, resourceVersion } = options.preconditions ?? {};
    const { metadata } = present;
    if (
      (uid ?? metadata.uid) !== metadata.uid ||
      (resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion
    )
      throw conflict(type, name.name, 'the precondition does not match');
    const draft = copyJson(present);
    const policy = { Foreground: 'foregroundDeletion', Orphan: 'orphan' }[options.propagationPolicy ?? ''];
    if (policy !== undefined)
      draft.metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), policy])];
    const spec = present['spec'] as { nodeName?: string; finalizers?: string[] };
    const waits = type.kind === 'Pod' && Boolean(spec.nodeName) && options.gracePeriodSeconds !== 0;
    if (isFree(draft) && !waits) {
      this.remove(type, name);
      return;
    }
    if (metadata.deletionTimestamp !== undefined && policy === undefined) return;
    draft.metadata.deletionTimestamp ??= this.#stamp();
    kind.objects.set(keyOf(name), draft);
    this.#tell(kind, 'MODIFIED', draft);
  }

  #tell(kind: Kind, type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Draft): Draft {
    object.metadata = { ...object.metadata, resourceVersion: String(++this.#revision) };
    kind.log.push({ revision: this.#revision, type, object: copyJson(object) });
    for (const wake of this.#waiting) wake();
    this.#options.changed?.();
    return object;
  }

  async *#watch<T extends KubeObject>(
    type: ResourceType<T>,
    query: Parameters<ResourceClient<T>['watch']>[0],
  ): AsyncIterable<WatchEvent<T>> {
    const { signal, namespace, fieldSelector } = query;
    // Every watcher of the tests' informers listens to one signal.
    if (signal !== undefined) setMaxListeners(0, signal);
    let seen = Number(query.resourceVersion);
    const kind = this.#kind(type);
    const ended = () => signal?.aborted === true;
    while (!ended()) {
      const next = kind.log.find(({ revision }) => revision > seen);
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          const wake = () => {
            this.#waiting.delete(wake);
            signal?.removeEventListener('abort', wake);
            resolve();
          };
          this.#waiting.add(wake);
          signal?.addEventListener('abort', wake);
        });
        continue;
      }
      seen = next.revision;
      await this.#options.lag?.();
      if (!ended() && selected(next.object, namespace, fieldSelector))
        yield { type: next.type, object: copyJson(next.object) as unknown as Stored<T> };
    }
  }

  #stamp(): string {
    return `${new Date(this.#options.now?.() ?? Date.now()).toISOString().slice(0, 19)}Z`;
  }
}

const nameOf = ({ metadata }: KubeObject): ObjectName => ({
  name: metadata?.name ?? '',
  namespace: metadata?.namespace,
});

function selected(
  object: KubeObject,
  namespace: string | undefined,
  fieldSelector: string | undefined,
): boolean {
  if (namespace !== undefined && namespace !== '' && object.metadata?.namespace !== namespace) return false;
  return !fieldSelector || fieldSelector === `metadata.name=${object.metadata?.name ?? ''}`;
}

function isFree({ metadata, spec }: Draft): boolean {
  const inSpec = (spec as { finalizers?: string[] } | undefined)?.finalizers ?? [];
  return (metadata.finalizers ?? []).length + inSpec.length === 0;
}

function patched(type: ResourceType, present: Draft, patch: unknown, strategic: boolean): Draft {
  const draft = merge(copyJson(present), patch) as Draft;
  const given = (patch as { metadata?: { ownerReferences?: (V1OwnerReference & { $patch?: string })[] } })
    .metadata;
  if (!strategic || given?.ownerReferences === undefined) return draft;
  const uids = new Set(given.ownerReferences.map(({ uid }) => uid));
  const owners = [
    ...(present.metadata.ownerReferences ?? []).filter(({ uid }) => !uids.has(uid)),
    ...given.ownerReferences.filter(({ $patch }) => $patch !== 'delete'),
  ];
  if (owners.filter(({ controller }) => controller === true).length > 1)
    throw statusError('Invalid', `${type.kind} has two controllers`);
  draft.metadata.ownerReferences = owners;
  return draft;
}

function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> = { ...(target as Record<string, unknown> | undefined) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}
