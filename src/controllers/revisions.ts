// The history of a pod template as ControllerRevisions, shared by DaemonSet and StatefulSet. Planning is pure.
// Guarantees: equal templates have one revision; going back gives the old one the newest number, never a copy.
import type { V1ControllerRevision, V1PodTemplateSpec } from '../api/gen/types.js';
import { goForm, goText } from '../api/goForm.js';
import { sameMeaning } from '../api/meaning.js';
import { controllerOf, type KubeObject, keyOf, type Stored } from '../api/object.js';
import { CONTROLLER_REVISIONS, type ResourceType } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import type { Informer } from '../client/informer.js';
import type { WorkQueue } from '../client/workQueue.js';
import { controllerReference, heldBy, ignoring } from './claim.js';
import type { ControllerContext } from './controller.js';
import { ALPHABET } from './deployment/hash.js';
import type { Expectations } from './expectations.js';
import type { Writes } from './writes.js';

export type Revision = Stored<V1ControllerRevision>;

export const REVISION_LABEL = 'controller-revision-hash';

interface RevisionWish {
  readonly type: ResourceType;
  readonly owner: Stored<KubeObject>;
  readonly template: V1PodTemplateSpec;
  readonly collisionCount: number;
  /** Those that the owner holds. */
  readonly revisions: readonly Revision[];
}

type RevisionPlan =
  | { readonly do: 'keep'; readonly revision: Revision }
  | { readonly do: 'renumber'; readonly revision: Revision; readonly number: number }
  | { readonly do: 'create'; readonly revision: V1ControllerRevision };

function planRevision(wish: RevisionWish): RevisionPlan {
  const { template, revisions } = wish;
  const newest = Math.max(0, ...revisions.map(({ revision }) => revision));
  const equal = revisions
    .filter((revision) => sameTemplate(revision, template))
    .sort((a, b) => a.revision - b.revision)
    .at(-1);
  if (equal === undefined) return { do: 'create', revision: revisionOf(wish, newest + 1) };
  if (equal.revision === newest) return { do: 'keep', revision: equal };
  return { do: 'renumber', revision: equal, number: newest + 1 };
}

/**
 * What `kubectl rollout undo` sends as a strategic merge patch. As Go writes it: other controllers of Kubernetes compare it byte by
 * byte with what they would write.
 */
export function dataOf(template: V1PodTemplateSpec): unknown {
  return { spec: { template: { $patch: 'replace', ...(goForm('V1PodTemplateSpec', template) as object) } } };
}

/** The name by which pods know their revision. As StatefulSets of Kubernetes have it: 32-bit FNV-1 of data and collisions. */
export function revisionHash(data: unknown, collisionCount: number): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${goText(data)}${collisionCount}`))
    hash = (Math.imul(hash, 0x01000193) ^ byte) >>> 0;
  return [...String(hash)].map((digit) => ALPHABET[digit.charCodeAt(0) % ALPHABET.length]).join('');
}

/** The template that a revision holds; undefined when it is no revision of ours. */
export function templateOf({ data }: V1ControllerRevision): V1PodTemplateSpec | undefined {
  const template = (data as { spec?: { template?: V1PodTemplateSpec & { $patch?: string } } } | undefined)
    ?.spec?.template;
  if (template === undefined) return undefined;
  const { $patch: _, ...rest } = template;
  return rest;
}

const sameTemplate = (revision: V1ControllerRevision, template: V1PodTemplateSpec): boolean =>
  sameMeaning('V1PodTemplateSpec', templateOf(revision), template);

export function hashOf({ metadata }: V1ControllerRevision): string {
  return metadata?.labels?.[REVISION_LABEL] ?? '';
}

function revisionOf(
  { type, owner, template, collisionCount }: RevisionWish,
  number: number,
): V1ControllerRevision {
  const data = dataOf(template);
  const hash = revisionHash(data, collisionCount);
  const { name, namespace, annotations } = owner.metadata;
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      // Names end at 253 characters; the hash must not be what is cut.
      name: `${name.slice(0, 223)}-${hash}`,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...template.metadata?.labels, [REVISION_LABEL]: hash },
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [controllerReference(type, owner)],
    },
    data,
    revision: number,
  };
}

/** The oldest that nobody uses, beyond the number to keep. */
export function surplusRevisions(
  revisions: readonly Revision[],
  { isLive, limit }: { isLive(revision: Revision): boolean; limit: number },
): readonly Revision[] {
  const idle = revisions
    .filter((revision) => !isLive(revision))
    .sort((a, b) => a.revision - b.revision || (a.metadata.name < b.metadata.name ? -1 : 1));
  return idle.slice(0, Math.max(0, idle.length - limit));
}

/** A revision wakes its owner: what was written is then in the cache. */
export function watchRevisions(
  type: ResourceType,
  revisions: Informer<V1ControllerRevision>,
  { queue, writes }: { queue: WorkQueue; writes: Writes },
): void {
  const wake = (revision: Revision) => {
    const owner = controllerOf(revision);
    if (owner?.kind !== type.kind) return undefined;
    const key = keyOf({ name: owner.name, namespace: revision.metadata.namespace });
    queue.add(key);
    return key;
  };
  revisions.on({
    added: wake,
    updated: wake,
    deleted: (revision) => {
      const key = wake(revision);
      if (key !== undefined) writes.gone(key, revision.metadata.uid);
    },
  });
}

interface Owned<T extends KubeObject> {
  readonly owners: Informer<T>;
  readonly expectations: Expectations;
  readonly writes: Writes;
  readonly revisions: Informer<V1ControllerRevision>;
}

/** An owner and its revisions, once both are seen as they were last written; nothing for one that is gone or ends. */
export function withRevisions<T extends KubeObject>(
  { owners, expectations, writes, revisions }: Owned<T>,
  key: string,
): { readonly owner: Stored<T>; readonly held: readonly Revision[] } | undefined {
  const owner = owners.get(key);
  if (owner === undefined) {
    expectations.forget(key);
    writes.forget(key);
    return undefined;
  }
  const held = heldBy(revisions, owner.metadata.uid);
  if (!writes.seen(key, [owner, ...held])) return undefined;
  return owner.metadata.deletionTimestamp === undefined ? { owner, held } : undefined;
}

interface RevisionPorts {
  readonly context: ControllerContext;
  readonly writes: Writes;
}

/** Carries the plan out. Undefined when the name is taken by another template: the owner must count a collision. */
export async function ensureRevision(
  { context, writes }: RevisionPorts,
  wish: RevisionWish,
): Promise<Revision | undefined> {
  const plan = planRevision(wish);
  const revisions = context.client.of(CONTROLLER_REVISIONS);
  const key = keyOf(wish.owner.metadata);
  if (plan.do === 'keep') return plan.revision;
  if (plan.do === 'renumber') {
    const written = await revisions.update({ ...plan.revision, revision: plan.number });
    writes.wrote(key, written);
    return written;
  }
  try {
    const made = await revisions.create(plan.revision);
    writes.wrote(key, made);
    return made;
  } catch (error) {
    if (!ApiError.is(error, 'AlreadyExists')) throw error;
    const { name = '' } = plan.revision.metadata ?? {};
    const present = await revisions.get({ name, namespace: wish.owner.metadata.namespace });
    const isOurs = controllerOf(present)?.uid === wish.owner.metadata.uid;
    return isOurs && sameTemplate(present, wish.template) ? present : undefined;
  }
}

export async function deleteRevisions(
  { context }: Pick<RevisionPorts, 'context'>,
  revisions: readonly Revision[],
): Promise<void> {
  const client = context.client.of(CONTROLLER_REVISIONS);
  for (const { metadata } of revisions)
    await ignoring(['Conflict'], client.delete(metadata, { preconditions: { uid: metadata.uid } }));
}
