// Keeps the status of definitions true, and removes the objects of those that are being deleted.
// Guarantees: level-triggered: every step is found again from the store, also after kill -9; the definitions of a group are
// judged one after the other, so no name is given twice; a definition goes only when none of its objects is left.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KindDefinition } from '../../api/kind.js';
import {
  CLEANUP_FINALIZER,
  isTrue,
  type Judged,
  structureCondition,
  wantedStatus,
  withCondition,
} from '../../api/kinds/customResource/conditions.js';
import { customResourceDefinitionKind } from '../../api/kinds/customResource/definition.js';
import type { KubeObject } from '../../api/object.js';
import { sameJson } from '../../api/ownKeys.js';
import { apiVersionOf } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import { TooMuchWork, withinLimit } from '../../api/workLimit.js';
import { pause } from '../../base/deadline.js';
import { COSTLY_BYTES } from '../load/costlySteps.js';
import type { WriteContext } from '../registry/admit.js';
import { deleteObject } from '../registry/delete.js';
import { KeyedLock } from '../registry/keyedLock.js';
import { resourcePrefix } from '../registry/keys.js';
import type { DraftObject } from '../registry/metadata.js';
import { updateObject } from '../registry/update.js';
import { CHECK_LIMIT } from '../registry/validateInTime.js';
import { type ServerContext, timestamp } from '../serverContext.js';
import type { Definition, Definitions } from './definitions.js';

const USER = { name: 'system:apiserver', groups: ['system:masters'] };
const RETRY_MS = 1000;
const LOOK_AGAIN_MS = 200;
const DELETIONS_AT_ONCE = 64;

export class DefinitionLoop {
  readonly #server: ServerContext;
  readonly #definitions: Definitions;

  /** One definition of a group at a time. */
  readonly #turns = new KeyedLock();
  readonly #waiting = new Set<string>();
  readonly #cleaning = new Set<string>();
  readonly #structures = new Map<string, { readonly state: string } & Pick<Judged, 'structure'>>();
  readonly #ended = new AbortController();

  constructor(server: ServerContext, definitions: Definitions) {
    this.#server = server;
    this.#definitions = definitions;
  }

  start(): void {
    this.#definitions.listen((name) => this.#wake(name));
    for (const { metadata } of this.#definitions.all) this.#wake(metadata?.name ?? '');
  }

  stop(): void {
    this.#ended.abort();
  }

  #wake(name: string): void {
    if (this.#waiting.has(name) || this.#ended.signal.aborted) return;
    this.#waiting.add(name);
    const group = name.slice(name.indexOf('.') + 1);
    void this.#turns
      .run(group, async () => {
        // Not while the change is being told.
        await null;
        this.#waiting.delete(name);
        if (!this.#ended.signal.aborted) await this.#visit(name, group);
      })
      .catch(async (error: unknown) => {
        if (this.#ended.signal.aborted || ApiError.is(error, 'NotFound')) return;
        this.#server.log.warn('the status of a definition cannot be written', {
          name,
          error: String(error),
        });
        await pause(RETRY_MS, this.#ended.signal).catch(() => {});
        this.#wake(name);
      });
  }

  async #visit(name: string, group: string): Promise<void> {
    const definition = this.#definitions.get(name);
    if (definition === undefined) {
      this.#structures.delete(name);
      // Its names are free: another may have waited for them.
      for (const other of this.#definitions.all)
        if (other.spec.group === group && !isTrue(other, 'NamesAccepted'))
          this.#wake(other.metadata?.name ?? '');
      return;
    }
    if (definition.metadata?.deletionTimestamp !== undefined) return this.#beginCleanUp(name);
    const others = this.#definitions.all.filter((other) => other.metadata?.name !== name);
    const time = timestamp(this.#server.now());
    const wanted = (one: Definition) =>
      wantedStatus(one, others, { time, structure: this.#structureOf(one) });
    if (sameJson(wanted(definition), definition.status)) return;
    await this.#update(name, (current) => ({ ...current, status: wanted(current) }));
  }

  /** Known of each state of a spec: to find it takes a walk over its schemas. */
  #structureOf(definition: Definition): Judged['structure'] {
    const { name = '', uid, generation } = definition.metadata ?? {};
    const state = `${uid} ${generation}`;
    const known = this.#structures.get(name);
    if (known?.state === state) return known.structure;
    const structure = structureWithin(definition);
    this.#structures.set(name, { state, structure });
    return structure;
  }

  async #update(name: string, change: (current: Definition) => Definition): Promise<void> {
    const context = contextOf(customResourceDefinitionKind, '', name);
    await updateObject(this.#server, context, {
      mode: 'server',
      transform: (current) => change(current as Definition) as DraftObject,
    });
    // The next of the group is judged by what this one got.
    await this.#server.feed.current();
  }

  #beginCleanUp(name: string): void {
    const definition = this.#definitions.get(name);
    if (this.#cleaning.has(name) || definition?.metadata?.finalizers?.includes(CLEANUP_FINALIZER) !== true)
      return;
    this.#cleaning.add(name);
    void this.#cleanUp(name)
      .catch(async (error: unknown) => {
        if (this.#ended.signal.aborted || ApiError.is(error, 'NotFound')) return;
        this.#server.log.warn('the objects of a definition cannot be removed', {
          name,
          error: String(error),
        });
        await pause(RETRY_MS, this.#ended.signal).catch(() => {});
        queueMicrotask(() => this.#wake(name));
      })
      .finally(() => this.#cleaning.delete(name));
  }

  async #cleanUp(name: string): Promise<void> {
    await this.#condition(
      name,
      'True',
      'InstanceDeletionInProgress',
      'CustomResource deletion is in progress',
    );
    const definition = this.#definitions.get(name);
    if (definition === undefined) return;
    if (this.#definitions.isBuiltIn(name)) {
      const message = 'instances overlap with built-in resources in storage';
      return this.#condition(name, 'False', 'OverlappingBuiltInResource', message);
    }
    if (!isTrue(definition, 'Established'))
      return this.#condition(name, 'False', 'NeverEstablished', 'resource was never established');
    await this.#removeInstances(name);
    if (this.#ended.signal.aborted) return;
    await this.#condition(name, 'False', 'InstanceDeletionCompleted', 'removed all instances');
  }

  /** With status False nothing holds the definition any more. */
  async #condition(name: string, status: 'True' | 'False', reason: string, message: string): Promise<void> {
    const time = timestamp(this.#server.now());
    await this.#update(name, (current) => {
      const held = current.status ?? { storedVersions: [] };
      const conditions = withCondition(
        held.conditions ?? [],
        { type: 'Terminating', status, reason, message },
        time,
      );
      const finalizers = current.metadata?.finalizers ?? [];
      const left = status === 'True' ? finalizers : finalizers.filter((one) => one !== CLEANUP_FINALIZER);
      return {
        ...current,
        metadata: { ...current.metadata, finalizers: left.length === 0 ? undefined : left },
        status: { ...held, conditions } as Definition['status'],
      };
    });
  }

  /** Finalizers may hold some of them for as long as they like. */
  async #removeInstances(name: string): Promise<void> {
    while (!this.#ended.signal.aborted) {
      const kind = this.#definitions.storedKind(name);
      if (kind !== undefined) {
        const cache = this.#server.feed.cacheOf(kind);
        await this.#server.feed.current();
        if (cache.size === 0) return;
        const waiting = [...cache.range(resourcePrefix(kind.type))].values();
        const work = async () => {
          for (const { summary } of waiting) await this.#removeOne(kind, summary);
        };
        await Promise.all(Array.from({ length: DELETIONS_AT_ONCE }, work));
        await this.#server.feed.current();
        if (cache.size === 0) return;
      }
      await pause(LOOK_AGAIN_MS, this.#ended.signal);
    }
  }

  async #removeOne(kind: KindDefinition, { metadata }: KubeObject): Promise<void> {
    const context = contextOf(kind, metadata?.namespace ?? '', metadata?.name ?? '');
    try {
      await deleteObject(this.#server, context, {}, { isAdmitted: true });
    } catch (error) {
      if (!ApiError.is(error, 'NotFound')) throw error;
    }
  }
}

/** What takes long to look through was looked through when it was written. */
function structureWithin(definition: Definition): Judged['structure'] {
  try {
    return withinLimit(CHECK_LIMIT, () => structureCondition(definition));
  } catch (error) {
    if (error instanceof TooMuchWork) return undefined;
    throw error;
  }
}

function contextOf(kind: KindDefinition, namespace: string, name: string): WriteContext {
  return {
    kind,
    namespace,
    name,
    subresource: '',
    user: USER,
    dryRun: false,
    step: (bytes) => (bytes < COSTLY_BYTES ? undefined : nextTurn()),
    manager: {
      name: 'kube-apiserver',
      operation: 'Update',
      apiVersion: apiVersionOf(kind.type),
      subresource: '',
    },
  };
}
